package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Verdict is what an override says of every check, whatever the bucket holds.
type Verdict uint8

// The verdicts.
const (
	Decides Verdict = iota // none: the bucket decides, by the override's numbers
	Denies                 // every check is denied, and takes nothing
	Passes                 // every check passes, and is not counted
)

// verdicts are the verdicts in the words of overrides.
var verdicts = [...]string{Decides: "", Denies: "deny", Passes: "allow"}

// String is the verdict as overrides say it; empty for none.
func (v Verdict) String() string { return verdicts[v] }

// VerdictOf is the verdict that an override says: Decides for other texts.
func VerdictOf(says string) Verdict { return Verdict(slices.Index(verdicts[1:], says) + 1) }

// RetryOfBlock is the wait that a denial tells whose override has no end: an operator may lift it at any time.
const RetryOfBlock = time.Minute

// An Override gives one key, or all keys that begin alike, something else than a limit says.
type Override struct {
	// Limit is the name of a stored limit.
	Limit string
	// Key is a key, or, where it ends in *, the beginning of keys: org:acme:*.
	Key string
	// Says is "deny", "allow", or fields of the limit with other values, as in "capacity: 10, refill: 5/s".
	Says string
	// Until is when it ends, in nanoseconds since the Unix epoch; 0 is never.
	Until int64
}

// String is the override as pages and messages show it.
func (o *Override) String() string {
	said := fmt.Sprintf("%s for %s", o.Says, Quote(o.Key))
	if o.Until != 0 {
		said += " until " + time.Unix(0, o.Until).UTC().Format("2006-01-02 15:04:05Z")
	}
	return said
}

// ended says whether the override counts no more at t.
func (o *Override) ended(t int64) bool { return o.Until != 0 && o.Until <= t }

// prefix is the beginning of keys that a pattern stands for; ok is false for a key, which it is then.
func prefix(pattern string) (begin string, ok bool) { return strings.CutSuffix(pattern, "*") }

// An Overriding is an override made ready to decide.
type Overriding struct {
	Override

	Verdict Verdict
	Rule    *Rule       // that decides instead of the limit's; the limit's own where there is a verdict
	Text    string      // String
	Written bool        // it stands in the limits document
	under   *Overriding // the document's for the same keys, which counts where this one has ended; nil for none
}

// Compile checks the override against the limit's rule and makes it ready. Its errors are *FieldError.
func (o Override) Compile(base *Rule) (*Overriding, error) {
	if err := o.checkKey(); err != nil {
		return nil, err
	}
	out := &Overriding{Override: o, Rule: base, Text: o.String()}
	out.Verdict = VerdictOf(o.Says)
	switch {
	case out.Verdict != Decides:
		return out, nil
	case o.Says == "":
		return nil, errSaysNothing
	}
	n := base.numbers("an override", ", or deny or allow")
	for said := range strings.SplitSeq(o.Says, ",") {
		name, value, ok := strings.Cut(said, ":")
		if err := n.set(strings.TrimSpace(name), strings.TrimSpace(value), ok); err != nil {
			return nil, err
		}
	}
	var err error
	out.Rule, err = n.rule(base)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// errSaysNothing refuses an override without numbers and verdict.
var errSaysNothing = &FieldError{Field: "override", Problem: "says nothing: set " + strings.Join(maySay, ", ") + ", or deny or allow"}

// CheckPlace refuses an override of what cannot be a limit's name, or for what stands for no key, whatever it says. Its errors are
// *FieldError.
func (o *Override) CheckPlace() error {
	if err := validateName(o.Limit); err != nil {
		return InField("limit", err)
	}
	return o.checkKey()
}

// checkKey refuses what stands for no key, and a * that would stand for itself: it is meant as a pattern.
func (o *Override) checkKey() error {
	begin, is := prefix(o.Key)
	star := strings.IndexByte(begin, '*')
	switch {
	case is && begin == "":
		return &FieldError{Field: "key", Problem: "* stands for every key: change the limit itself"}
	case star == 0:
		return &FieldError{Field: "key", Problem: "a * stands for the rest of a key, so only at the end: write a key, or the beginning of keys"}
	case star > 0:
		return &FieldError{Field: "key", Problem: fmt.Sprintf("a * stands for the rest of a key, so only at the end: write %s, or single keys", Quote(begin[:star+1]))}
	}
	return ValidateKey(begin)
}
