// Package mutants holds jeton made wrong on purpose, in one place after another, and finds out whether the tests notice. A
// checker that never caught anything is decoration.
//
// A mutant is a small change of a production file: text that stands in it exactly once is replaced. The changed file is
// laid over the real one with go's -overlay, so production code knows nothing of its mutants, and none can get into a
// release. If a mutant no longer applies because the code has changed, a test fails: the author of the change says anew what
// would be wrong there.
//
// [All] is the list; each entry says which rule it breaks and which tests must notice, and by what they say. A [Lab] builds
// a mutant and runs a hunt for it. To read on, start with [Mutant].
package mutants

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A Mutant is the code made wrong in one way.
type Mutant struct {
	// Name is short, and one mutant's only.
	Name string
	// Why is the rule that the mutant breaks, and what comes of it: a sentence for readers.
	Why string
	// Edits make the mutant, at least one.
	Edits []Edit
	// Caught are hunts that each catch the mutant, the fastest one first. At least one.
	Caught []Hunt
}

// An Edit replaces text of a production file.
type Edit struct {
	File string // from the root of the module, with slashes
	Old  string // stands in File exactly once, other edits of the same mutant left aside
	New  string
}

// A Hunt is a run of tests that must fail because of a mutant.
type Hunt struct {
	// Package is that of the tests, from the root of the module: "./actor/owner".
	Package string
	// Run says which tests, as go test -run.
	Run string
	// Flags are further ones of go test.
	Flags []string
	// Says is a regular expression that a line of a failing test's output must match. A mutant that does not build, or a test
	// that fails for another reason, is not caught.
	Says string
}

// String is the hunt as the arguments of go test.
func (h Hunt) String() string {
	return strings.Join(append([]string{h.Package, "-run", h.Run}, h.Flags...), " ")
}

// Check says what is wrong with the entries of a list, whatever the code is.
func Check(list []Mutant) error {
	var problems []error
	wrong := func(m Mutant, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %w", m.Name, fmt.Errorf(format, args...)))
	}
	names := map[string]bool{}
	for _, m := range list {
		if m.Name == "" || names[m.Name] {
			wrong(m, "the name is empty or another mutant's")
		}
		names[m.Name] = true
		if m.Why == "" {
			wrong(m, "nothing says what is wrong about it")
		}
		if len(m.Edits) == 0 || len(m.Caught) == 0 {
			wrong(m, "a mutant has edits, and hunts that catch it")
		}
		for _, h := range m.Caught {
			if _, err := regexp.Compile(h.Says); err != nil || h.Says == "" || h.Says == "." {
				wrong(m, "the hunt %s must say, as a regular expression, what its failure says: %q", h, h.Says)
			}
		}
	}
	return errors.Join(problems...)
}

// Hunts are those that are to be run: all, or the fastest one.
func (m Mutant) Hunts(all bool) []Hunt {
	if all {
		return m.Caught
	}
	return m.Caught[:1]
}

// rapid are flags for property tests: what they find is neither kept nor made as small as can be.
func rapid() []string { return []string{"-rapid.nofailfile", "-rapid.shrinktime=1s"} }

// modelSays is what the model check says of line that is spent twice, or by too many.
const modelSays = `is spent twice in one generation|is spent in two generations|is spent in a generation that was over|more is admitted than comes back`
