// Package leveltest holds what nodes write against a list of what each level has brought.
package leveltest

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/level"
)

// A Written is a type that nodes write, and what it is called in a list.
type Written struct {
	Name string
	Type reflect.Type
}

// Hold holds every field of some types against a file that lists them with the level that brought each. A new field needs a tag with a
// level that no release knows yet (see CONTRIBUTING.md): then update writes it into the file.
func Hold(t *testing.T, path string, update bool, all ...Written) {
	t.Helper()
	var lines []string
	for _, w := range all {
		list(w.Type, w.Name, level.First, map[reflect.Type]bool{}, &lines)
	}
	if update {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines {
		if !slices.Contains(was, line) {
			t.Errorf("%s: is new, or has changed: give it the tag of a level that no release knows yet, and run this test with -args -update", line)
		}
	}
	for _, line := range was {
		if !slices.Contains(lines, line) {
			t.Errorf("%s: is gone, or has changed: what was written before may have it", line)
		}
	}
}

// list lists the fields of a struct of this module by the names that JSON has, with their types and levels. What is in a field is as new as the field
// at least.
func list(of reflect.Type, path string, brought int, seen map[reflect.Type]bool, lines *[]string) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || seen[of] || !strings.HasPrefix(of.PkgPath(), "github.com/jeton-dev/jeton/") {
		return
	}
	seen[of] = true
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case f.Anonymous:
			list(f.Type, path, brought, seen, lines)
			continue
		case name == "":
			name = f.Name
		}
		since := max(brought, level.Of(f))
		*lines = append(*lines, fmt.Sprintf("%s.%s %s: level %d", path, name, f.Type, since))
		list(f.Type, path+"."+name, since, seen, lines)
	}
}
