package mutants_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/mutants"
)

// A few mutants are drawn in each run, so one that does not build any more is noticed late. The types of all are checked here, which
// takes no building: each in the packages that it changes.
func TestAllHaveRightTypes(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	lab, m := &mutants.Lab{Root: root}, newModule(t, root)
	for _, mutant := range mutants.All() {
		overlay, err := lab.Overlay(mutant, t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", mutant.Name, err)
			continue
		}
		if err := m.check(overlay); err != nil {
			t.Errorf("%s: %v", mutant.Name, err)
		}
	}
}

// The check finds what a compiler would: here an import that a mutant has left without use.
func TestWrongTypesAreFound(t *testing.T) {
	lab := newLab(t)
	if err := os.WriteFile(filepath.Join(lab.Root, "less.go"), []byte("package more\n\nimport \"math\"\n\nvar Least = math.Inf(-1)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newModule(t, lab.Root)
	for old, wrong := range map[string]string{"math.Inf(-1)": "-1.0", "= math": "= less", "Inf(-1)": "Inf(\"-1\")"} {
		overlay, err := lab.Overlay(mutants.Mutant{Name: wrong, Edits: []mutants.Edit{{File: "less.go", Old: old, New: wrong}}}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := m.check(overlay); err == nil {
			t.Errorf("%q in place of %q has right types", wrong, old)
		}
	}
}

// A module is the packages of one, and what theirs import, by their compiled exports.
type module struct {
	packages map[string]listed // by directory
	files    *token.FileSet
	importer types.Importer
}

// listed is a package as go list tells of it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func newModule(t *testing.T, root string) *module {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	m := &module{packages: map[string]listed{}, files: token.NewFileSet()}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		m.packages[p.Dir], exports[p.ImportPath] = p, p.Export
	}
	m.importer = importer.ForCompiler(m.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return m
}

// check checks the types of the packages that an overlay changes.
func (m *module) check(overlay string) error {
	text, err := os.ReadFile(overlay)
	if err != nil {
		return err
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	dirs := map[string]bool{}
	for path := range list.Replace {
		dirs[filepath.Dir(path)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		p, known := m.packages[dir]
		if !known {
			return fmt.Errorf("go list does not know %s", dir)
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			path := filepath.Join(dir, name)
			if changed, is := list.Replace[path]; is {
				path = changed
			}
			file, err := parser.ParseFile(m.files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			parsed = append(parsed, file)
		}
		config := types.Config{Importer: m.importer}
		if _, err := config.Check(p.ImportPath, m.files, parsed, nil); err != nil {
			return err
		}
	}
	return nil
}
