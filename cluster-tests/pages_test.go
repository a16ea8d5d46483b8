package clustertests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pageLink  = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unspoken  = regexp.MustCompile(`[^\w\- ]`)
	codeBlock = regexp.MustCompile("(?s)```.*?```")
)

// anchors are those of the headings of a page.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		found[strings.ReplaceAll(unspoken.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}

// TestLinksOfPages follows every link from a page to a file of the repository, and to a heading of another page.
func TestLinksOfPages(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("pages: %q, %v", pages, err)
	}
	followed := 0
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range pageLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			followed++
			file := page
			if link[1] != "" {
				file = filepath.Join(filepath.Dir(page), link[1])
			}
			there, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				err = nil
			}
			switch {
			case err != nil:
				t.Errorf("%s: %s: %v", page, link[0], err)
			case link[2] != "" && filepath.Ext(file) == ".md" && !anchors(string(there))[link[2]]:
				t.Errorf("%s: %s: there is no such heading", page, link[0])
			}
		}
	}
	if followed < 100 {
		t.Errorf("only %d links were found", followed)
	}
}
