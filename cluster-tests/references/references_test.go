package references

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// upward is how many references of a package run against the order of its files, for the packages in which any do. A change may
// only lower a number; a package that is not listed has none.
var upward = map[string]int{
	"cluster-tests/simulation": 21,
}

// TestReferencesRunDownwards prints each package's files in the order in which they are best read (go test -v), with what runs
// against it.
func TestReferencesRunDownwards(t *testing.T) {
	read, err := Load("../..", "./...")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, p := range read {
		listed[p.Path] = true
		n, most := len(p.Upward()), upward[p.Path]
		switch {
		case n > most:
			t.Errorf("%d references run upwards, %d may. Move what both files need below both, or what runs things above:\n%s", n, most, p)
		case n < most:
			t.Errorf("%s: %d references run upwards, and %d may: lower the number in this test", p.Path, n, most)
		default:
			t.Log(p)
		}
	}
	for path := range upward {
		if !listed[path] {
			t.Errorf("%s is listed, and there is no such package", path)
		}
	}
}

// TestLoad reads a package of which everything is known.
func TestLoad(t *testing.T) {
	read, err := Load(".", "./testdata/tangle")
	if err != nil {
		t.Fatal(err)
	}
	want := `cluster-tests/references/testdata/tangle: 4 files, 6 references, 1 of them upwards
  top.go › middle.go › low.go › bottom.go
  bottom.go ↑ middle.go: helper
`
	if len(read) != 1 || read[0].String() != want {
		t.Errorf("read\n%v\nwant\n%s", read, want)
	}
}

// TestOrder draws graphs without a cycle and expects an order without upward references; with some edges turned round, it
// expects no more upward references than were turned.
func TestOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		files := make([]string, 2+rng.IntN(12))
		for i := range files {
			files[i] = fmt.Sprintf("%c.go", 'a'+i)
		}
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		edges := map[[2]string]bool{}
		for i := range files {
			for j := i + 1; j < len(files); j++ {
				if rng.IntN(3) == 0 {
					edges[[2]string{files[i], files[j]}] = true
				}
			}
		}
		refers := func(from, to string) bool { return edges[[2]string{from, to}] }
		sorted := slices.Sorted(slices.Values(files))
		if against := count(order(sorted, refers), edges); against != 0 {
			t.Fatalf("%d references run upwards in a graph without a cycle: %v", against, edges)
		}
	}
}

func count(ordered []string, edges map[[2]string]bool) (against int) {
	for e := range edges {
		if slices.Index(ordered, e[0]) > slices.Index(ordered, e[1]) {
			against++
		}
	}
	return against
}

// TestString shows a package that has no tangle.
func TestString(t *testing.T) {
	p := Package{Path: "ring", Files: []string{"a.go", "b.go"}, Uses: map[[2]string][]string{{"a.go", "b.go"}: {"x"}}}
	if got := p.String(); !strings.HasSuffix(got, "0 of them upwards\n  a.go › b.go\n") {
		t.Error(got)
	}
}
