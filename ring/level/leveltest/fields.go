// Package leveltest holds what nodes write against a list of what each level has brought.
package leveltest

import (
	"fmt"
	"maps"
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
	// Values are what a field of it may say, by the field's name, where that is a text out of a list.
	Values map[string][]string
}

// Hold holds every field of some types, and the values in Written, against a file that lists them with the level that brought each. What is
// new needs a tag with the newest level (see CONTRIBUTING.md): then update adds it to the file. Update adds nothing else, and takes
// nothing out.
func Hold(t *testing.T, path string, update bool, all ...Written) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, w := range all {
		lines = append(lines, w.lines()...)
	}
	held, problems := hold(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), lines, level.Known().Newest, update)
	for _, p := range problems {
		t.Error(p)
	}
	if update {
		if err := os.WriteFile(path, []byte(strings.Join(held, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// hold says what is wrong with the lines of types, which a file had so far, and, with update, which lines it is to have.
func hold(was, lines []string, newest int, update bool) (held, problems []string) {
	brought := fmt.Sprintf(": level %d", newest)
	for _, line := range lines {
		switch {
		case slices.Contains(was, line):
		case !strings.HasSuffix(line, brought):
			problems = append(problems, fmt.Sprintf("%s: is new, or has changed, and nodes of the release before do not know it: add a level, if none is new since the last release, "+
				"give this the tag of level %d, and run this test with -args -update", line, newest))
			continue
		case !update:
			problems = append(problems, line+": is new: run this test with -args -update")
			continue
		}
		held = append(held, line)
	}
	for i, line := range was {
		if slices.Contains(lines, line) {
			continue
		}
		problems = append(problems, line+": is gone, or has changed: what was written before may have it")
		held = slices.Insert(held, min(i, len(held)), line)
	}
	return held, problems
}

// lines are the fields of a type and their values, with their levels.
func (w *Written) lines() (lines []string) {
	list(w.Type, w.Name, level.First, map[reflect.Type]bool{}, &lines)
	for _, name := range slices.Sorted(maps.Keys(w.Values)) {
		field, ok := w.Type.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("%s has no field %s", w.Type, name))
		}
		for _, value := range w.Values[name] {
			lines = append(lines, fmt.Sprintf("%s.%s=%s: level %d", w.Name, name, value, max(level.Of(field), level.OfValue(field, value))))
		}
	}
	return lines
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
			list(f.Type, path, max(brought, level.Of(f)), seen, lines)
			continue
		case name == "":
			name = f.Name
		}
		since := max(brought, level.Of(f))
		*lines = append(*lines, fmt.Sprintf("%s.%s %s: level %d", path, name, f.Type, since))
		list(f.Type, path+"."+name, since, seen, lines)
	}
}
