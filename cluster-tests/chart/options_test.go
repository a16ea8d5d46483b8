package chart

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// flagOf finds the options of jeton serve in what a shell is told of them.
	flagOf = regexp.MustCompile(`(?m)^--([a-z-]+)\t`)
	// optionsOf finds nodes.options in values.schema.json: what leads to the names, the names, and the end.
	optionsOf = regexp.MustCompile(`(?s)("options": \{\n +"type": "object",\n +"additionalProperties": false,\n +"properties": \{\n)(.*?)(\n          \})`)
)

// The schema has all options of jeton serve, and refuses other names: a node would not start with them.
func TestOptionsAreThoseOfServe(t *testing.T) {
	binary, err := jeton()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), binary, "__complete", "serve", "--").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, found := range flagOf.FindAllStringSubmatch(string(out), -1) {
		name, meant := found[1], "option"
		if name == "listen-redis" {
			meant = "option-listen-redis"
		}
		names = append(names, fmt.Sprintf(`            %q: {"$ref": "#/definitions/%s"}`, name, meant))
	}
	slices.Sort(names)
	if len(names) < 30 {
		t.Fatalf("jeton serve has %d options: %s", len(names), out)
	}
	path, want := chartDir+"/values.schema.json", strings.Join(names, ",\n")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	has := optionsOf.FindSubmatchIndex(text)
	if has == nil {
		t.Fatalf("%s has no nodes.options", path)
	}
	if *update {
		write(t, path, slices.Concat(text[:has[4]], []byte(want), text[has[5]:]))
	} else if got := string(text[has[4]:has[5]]); got != want {
		t.Errorf("%s has other options than jeton serve; go test . -args -update writes it anew:\n%s", path, difference(want, got))
	}
}
