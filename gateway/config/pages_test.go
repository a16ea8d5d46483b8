package config

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// block is a piece of YAML on a page of the documentation.
var block = regexp.MustCompile("(?s)\n```yaml\n(.*?\n)```\n")

// TestPages reads every gateway.yaml and every limits.yaml that the documentation shows whole. The files that they name are not
// there; everything else must be right.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("pages: %q, %v", pages, err)
	}
	gateways, limits := 0, 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllSubmatch(text, -1) {
			switch {
			case bytes.HasPrefix(found[1], []byte("# gateway.yaml\n")):
				gateways++
				if _, err := Parse(found[1], t.TempDir()); err != nil {
					for _, problem := range problemsIn(t, err) {
						if !strings.Contains(problem.Problem, "no such file") {
							t.Errorf("%s: %v in\n%s", page, problem, found[1])
						}
					}
				}
			case bytes.HasPrefix(found[1], []byte("# limits.yaml\n")):
				limits++
				if _, err := limit.ParseDocument(found[1]); err != nil {
					t.Errorf("%s: %v in\n%s", page, err, found[1])
				}
			}
		}
	}
	if gateways < 11 || limits < 8 {
		t.Errorf("only %d gateway.yaml and %d limits.yaml were found", gateways, limits)
	}
}
