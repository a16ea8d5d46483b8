package mutants_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/cluster-tests/mutants"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The module of these tests: it promises that more is more, and looks at one case of it.
var files = map[string]string{
	"go.mod":     "module example.test/more\n\ngo 1.26\n",
	"more.go":    "package more\n\n// More is one more than n.\nfunc More(n int) int { return n + 1 }\n\n// Twice is n and n.\nfunc Twice(n int) int { return n + n }\n",
	"all/all.go": "package all\n",
	"more_test.go": `package more

import (
	"errors"
	"os"
	"testing"
)

func TestMore(t *testing.T) {
	if got := More(3); got != 4 {
		t.Errorf("one more than 3 is %d", got)
	}
}

func TestOther(t *testing.T) { t.Log("one more than 3 is 4") }

func TestCases(t *testing.T) {
	for _, n := range []int{1, 2} {
		t.Run("case", func(t *testing.T) {
			if got := More(n); got != n+1 {
				t.Errorf("one more than %d is %d", n, got)
			}
		})
	}
}

// TestDraws passes in its first run, fails otherwise in the second, and as it should in the third.
func TestDraws(t *testing.T) {
	for _, says := range []string{"", "something else", "one more than 3 is 3"} {
		if err := os.Mkdir(os.TempDir()+"/draws: "+says, 0o700); errors.Is(err, os.ErrExist) {
			continue
		}
		if says != "" && More(3) != 4 {
			t.Error(says)
		}
		return
	}
}
`,
}

func newLab(t *testing.T) *mutants.Lab {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &mutants.Lab{Root: root}
}

// The laboratory must fail wherever a mutant is not what it should be, or is not caught as it should be.
func TestHunt(t *testing.T) {
	const more = "func More(n int) int { return n + 1 }"
	notices := mutants.Hunt{Package: ".", Run: "^TestMore$", Says: `one more than 3 is \d`}
	for _, tt := range []struct {
		name string
		edit mutants.Edit
		hunt mutants.Hunt
		want error
	}{
		{"caught", mutants.Edit{"more.go", more, "func More(n int) int { return n }"}, notices, nil},
		{"nobody notices", mutants.Edit{"more.go", "n + n", "n - n"}, notices, mutants.ErrSurvived},
		{"it passes, and says so", mutants.Edit{"more.go", "n + n", "n - n"}, mutants.Hunt{Package: ".", Run: "^TestOther$", Says: `one more than 3`}, mutants.ErrSurvived},
		{"another failure", mutants.Edit{"more.go", more, `func More(n int) int { panic("a bug") }`}, notices, mutants.ErrElse},
		{"it does not build", mutants.Edit{"more.go", more, "func More(n int) int { return one more than 3 is 5 }"}, notices, mutants.ErrBuild},
		{"it is no Go", mutants.Edit{"more.go", more, "one more than 3 is 5"}, notices, mutants.ErrBuild},
		{"no such test", mutants.Edit{"more.go", more, "func More(n int) int { return n }"}, mutants.Hunt{Package: ".", Run: "^TestNothing$", Says: `.`}, mutants.ErrNoTest},
		{"no test at all", mutants.Edit{"more.go", more, "func More(n int) int { return n }"}, mutants.Hunt{Package: "./all", Run: ".", Says: `.`}, mutants.ErrNoTest},
		{"the code has changed", mutants.Edit{"more.go", "return n + 2", "return n"}, notices, mutants.ErrChanged},
		{"it stands there twice", mutants.Edit{"more.go", "(n int)", "(m int)"}, notices, mutants.ErrChanged},
		{"the file is gone", mutants.Edit{"less.go", more, more + "//"}, notices, mutants.ErrChanged},
		{"nothing is changed", mutants.Edit{"more.go", more, more}, notices, mutants.ErrChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lab, dir := newLab(t), t.TempDir()
			var caught mutants.Catch
			overlay, err := lab.Overlay(mutants.Mutant{Name: tt.name, Edits: []mutants.Edit{tt.edit}}, dir)
			if err == nil {
				caught, err = lab.Hunt(t.Context(), overlay, dir, tt.hunt)
			}
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err == nil && (caught.Test != "TestMore" || !strings.Contains(caught.Says, "one more than 3 is 3") || caught.Took < caught.After || caught.Runs != 1) {
				t.Errorf("caught as %+v", caught)
			}
			for name, want := range files {
				if text, err := os.ReadFile(filepath.Join(lab.Root, name)); err != nil || string(text) != want {
					t.Errorf("%s has changed: %v", name, err)
				}
			}
		})
	}
}

// A mutant may fail several cases of a test, whose order is left to chance. One that fails otherwise must not hide the one that
// fails as it should.
func TestHuntGoesOnAfterAnotherFailure(t *testing.T) {
	lab, dir := newLab(t), t.TempDir()
	overlay, err := lab.Overlay(mutants.Mutant{Edits: []mutants.Edit{{"more.go", "n + 1", "n"}}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := lab.Hunt(t.Context(), overlay, dir, mutants.Hunt{Package: ".", Run: "^TestCases$", Says: `one more than 2 is \d`})
	if err != nil || c.Test != "TestCases/case#01" {
		t.Errorf("caught as %+v: %v", c, err)
	}
}

// A test that draws what it tries may pass, or fail otherwise, before it fails as it should.
func TestHuntRunsAgain(t *testing.T) {
	lab, dir := newLab(t), t.TempDir()
	overlay, err := lab.Overlay(mutants.Mutant{Edits: []mutants.Edit{{"more.go", "n + 1", "n"}}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	h := mutants.Hunt{Package: ".", Run: "^TestDraws$", Says: `is \d`}
	c, err := lab.Hunt(t.Context(), overlay, dir, h)
	if err != nil || c.Runs != 3 {
		t.Errorf("caught as %+v: %v", c, err)
	}
	var table mutants.Table
	table.Note(mutants.Mutant{Name: "less"}, h, c, err)
	if text := table.String(); !strings.Contains(text, "s, run 3 ") {
		t.Errorf("the table:\n%s", text)
	}
}

// Edits of one file add up, whatever their order.
func TestEditsOfOneFile(t *testing.T) {
	lab, dir := newLab(t), t.TempDir()
	m := mutants.Mutant{Edits: []mutants.Edit{{"more.go", "n + 1", "Twice(n)"}, {"more.go", "n + n", "3 * n"}}}
	overlay, err := lab.Overlay(m, dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := lab.Hunt(t.Context(), overlay, dir, mutants.Hunt{Package: ".", Run: ".", Says: `is 9$`})
	if err != nil {
		t.Fatal(err)
	}
	var table mutants.Table
	m.Name, m.Why = "thrice", "more is one more"
	table.Note(m, mutants.Hunt{Package: "./", Run: "."}, c, nil)
	table.Note(m, mutants.Hunt{Package: "./all", Run: "."}, mutants.Catch{}, mutants.ErrNoTest)
	if text := table.String(); !strings.Contains(text, "thrice") || !strings.Contains(text, "TestMore") || !strings.Contains(text, "NOT caught by ./all -run .") {
		t.Errorf("the table:\n%s", text)
	}
	markdown := table.Markdown([]mutants.Mutant{{Name: "another", Why: "nobody was asked"}, m})
	if lines := strings.Split(markdown, "\n"); len(lines) != 5 || !strings.HasPrefix(lines[2], "| **thrice** | more is one more | ") || !strings.HasPrefix(lines[3], "|  |  | NOT caught") {
		t.Errorf("as Markdown:\n%s", markdown)
	}
}

func TestCheck(t *testing.T) {
	good := func() mutants.Mutant {
		return mutants.Mutant{
			Name: "good", Why: "it breaks a rule", Edits: []mutants.Edit{{"a.go", "a", "b"}},
			Caught: []mutants.Hunt{{Package: ".", Run: ".", Says: "overlap"}},
		}
	}
	if err := mutants.Check([]mutants.Mutant{good()}); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*mutants.Mutant){
		"no name":      func(m *mutants.Mutant) { m.Name = "" },
		"no reason":    func(m *mutants.Mutant) { m.Why = "" },
		"no edit":      func(m *mutants.Mutant) { m.Edits = nil },
		"no hunt":      func(m *mutants.Mutant) { m.Caught = nil },
		"says nothing": func(m *mutants.Mutant) { m.Caught[0].Says = "" },
		"no pattern":   func(m *mutants.Mutant) { m.Caught[0].Says = "(" },
		"says all":     func(m *mutants.Mutant) { m.Caught[0].Says = "." },
	} {
		m := good()
		if spoil(&m); mutants.Check([]mutants.Mutant{m}) == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	if mutants.Check([]mutants.Mutant{good(), good()}) == nil {
		t.Error("one name for two mutants: nothing is wrong")
	}
}

// The page of the mutants has each of them, in the order of the list, with as many catches as it has hunts, and none that failed.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "|---|---|---|---|\n")
	rows := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	for _, m := range mutants.All() {
		if len(rows) < len(m.Caught) || !strings.HasPrefix(rows[0], "| **"+m.Name+"** | "+m.Why+" | ") {
			t.Fatalf("docs/mutants.md does not have the mutant %q where it stands in the list: run make mutants, or write its row", m.Name)
		}
		for i, h := range m.Caught {
			if pkg := strings.TrimPrefix(h.Package, "./"); !strings.Contains(rows[i], " | `"+pkg+"` `") || i > 0 && !strings.HasPrefix(rows[i], "|  |  | ") {
				t.Errorf("%s: the hunt %s is not the one in docs/mutants.md: %s", m.Name, h, rows[i])
			}
		}
		rows = rows[len(m.Caught):]
	}
	if len(rows) > 0 {
		t.Errorf("docs/mutants.md has rows of mutants that there are none of: %q", rows)
	}
}

// Every entry of the list is whole, every edit applies to the code as it is, and every hunt names a test that exists.
func TestAll(t *testing.T) {
	list := mutants.All()
	if err := mutants.Check(list); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	lab := &mutants.Lab{Root: root}
	for _, m := range list {
		if _, err := lab.Overlay(m, t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		for _, h := range m.Caught {
			name, _, _ := strings.Cut(h.Run, "/")
			if !slices.ContainsFunc(testsOf(t, filepath.Join(root, h.Package)), regexp.MustCompile(name).MatchString) {
				t.Errorf("%s: %s has no test %s", m.Name, h.Package, name)
			}
		}
	}
	t.Logf("%d mutants", len(list))
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testsOf are the names of the tests of a package.
func testsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunction.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names
}
