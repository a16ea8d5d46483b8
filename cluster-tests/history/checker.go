package history

import (
	"errors"
	"fmt"
	"slices"
)

// A Checker looks for one kind of violation.
type Checker struct {
	Name string // a word
	Doc  string // a line
	// Safety says that it looks for a limit that did not hold. What the others find is service that was not given.
	Safety bool
	run    func(*view, *Result)
}

// Checkers are all there are, in the order in which they run.
func Checkers() []Checker {
	return []Checker{
		{"disjoint", "no line is spent twice", true, disjoint},
		{"lengths", "a receipt is as long as its cost", true, lengths},
		{"reuses", "line is reused only if it was given back", true, reuses},
		{"placed", "a span was spendable at some time of its call", true, placed},
		{"windows", "no window of time admits more than the capacity and the refill", true, windows},
		{"counts", "no window of a limit with windows admits more than the limit", true, counts},
		{"inside", "no more permits are held at once than the limit has", true, inside},
		{"settled", "a hold is charged what a settlement says, once and for all", true, settled},
		{"linear", "one bucket that decides call after call could have decided the same", false, linear},
		{"enough", "enough of what was due was admitted", false, enough},
		{"alive", "no key is stuck once everything is healed", false, alive},
	}
}

// Run runs the checkers with these names, or all if there are none, in the order of [Checkers]. epsilon is how far, in
// nanoseconds, a clock of the limiter may be from the callers'. An error means that a name or the history makes no sense.
func Run(h *History, epsilon int64, names ...string) ([]Result, error) {
	return RunKey(h, epsilon, "", names...)
}

// RunKey is [Run] for one key, or for all if it is empty. What other keys' calls tell of trouble is taken into account.
func RunKey(h *History, epsilon int64, key string, names ...string) ([]Result, error) {
	all := Checkers()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c Checker) bool { return c.Name == name }) {
			return nil, fmt.Errorf("%q is not a checker", name)
		}
	}
	if epsilon < 0 || epsilon > maxEpsilon {
		return nil, fmt.Errorf("epsilon: %d is not from 0 to 2⁵⁰ ns", epsilon)
	}
	if err := h.Validate(); err != nil {
		return nil, err
	}
	v := newView(h, epsilon, key)
	if len(v.buckets) == 0 {
		return nil, errors.New("the history has no calls to check")
	}
	var results []Result
	for _, c := range all {
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		r := Result{Checker: c.Name}
		c.run(v, &r)
		results = append(results, r)
	}
	return results, nil
}

// Check runs all checkers. It needs to know of every fault, since without one a limiter has to decide exactly. epsilon is
// how far, in nanoseconds, a clock of the limiter may be from the callers'. The error tells all violations.
func Check(h *History, epsilon int64) error { return check(h, epsilon, nil) }

// Safe runs the checkers that look for a limit that did not hold, and only these. A failure excuses nothing that they
// find, so faults need not be in h.
func Safe(h *History, epsilon int64) error {
	var names []string
	for _, c := range Checkers() {
		if c.Safety {
			names = append(names, c.Name)
		}
	}
	return check(h, epsilon, names)
}

func check(h *History, epsilon int64, names []string) error {
	results, err := Run(h, epsilon, names...)
	if err != nil {
		return err
	}
	var errs []error
	for i := range results {
		errs = append(errs, results[i].Err())
	}
	return errors.Join(errs...)
}
