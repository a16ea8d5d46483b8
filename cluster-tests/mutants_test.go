package clustertests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/mutants"
)

// Every mutant of jeton must be caught, by the tests that are said to catch it and by what they say.
//
//	JETON_MUTANTS=all         all hunts of each mutant, not only the fastest one that is not slow
//	JETON_MUTANTS_TABLE=file  the table of what was caught goes there, as Markdown
//
// At most two mutants are hunted at a time, so that how long it takes says something, and before any test that runs beside
// others.
func TestMutants(t *testing.T) {
	list := mutants.All()
	if err := mutants.Check(list); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	lab, table := &mutants.Lab{Root: root}, &mutants.Table{}
	t.Cleanup(func() {
		t.Logf("mutant, after how long a test noticed it, and which:\n%s", table)
		if file := os.Getenv("JETON_MUTANTS_TABLE"); file != "" {
			if err := os.WriteFile(file, []byte(table.Markdown(list)), 0o644); err != nil { //nolint:gosec // it is to be read
				t.Error(err)
			}
		}
	})
	all := os.Getenv("JETON_MUTANTS") == "all"
	seats := make(chan struct{}, 2)
	for _, m := range list {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			seats <- struct{}{}
			defer func() { <-seats }()
			dir := t.TempDir()
			overlay, err := lab.Overlay(m, dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range m.Hunts(all) {
				c, err := lab.Hunt(t.Context(), overlay, dir, h)
				table.Note(m, h, c, err)
				if err != nil {
					t.Errorf("%s\n%v", m.Why, err)
					continue
				}
				t.Logf("%s fails after %v, the whole hunt took %v: %s", c.Test, c.After, c.Took, c.Says)
			}
		})
	}
}
