package clustertests

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/mutants"
)

// drawnMutants is how many mutants a run hunts if nothing else is said.
const drawnMutants = 16

// Every mutant of jeton must be caught, by the tests that are said to catch it and by what they say. A run draws some of them,
// and hunts each in the fastest way.
//
//	JETON_MUTANTS=all         all mutants, and all hunts of each
//	                          (of one: go test -run 'TestMutants/its name')
//	JETON_MUTANTS_TABLE=file  the table of what was caught goes there, as Markdown
//
// At most two mutants are hunted at a time, so that how long it takes says something, and before any test that runs beside
// others.
func TestMutants(t *testing.T) {
	list, all := mutants.All(), os.Getenv("JETON_MUTANTS") == "all"
	if err := mutants.Check(list); err != nil {
		t.Fatal(err)
	}
	if !all {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:drawnMutants]
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
