package limit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maySay are the fields of a limit that a plan or an override may set. The shape of a limit, its algorithm and windows, stays.
var maySay = []string{"capacity", "limit", "refill"}

// numbers are those of a limit, some of which a plan or an override replaces.
type numbers struct {
	limit Limit
	has   given  // those that are replaced
	what  string // sets them: "a plan" or "an override"
	or    string // what else may be said in place of numbers
}

// numbers are those of r, to be replaced. What and or are for messages.
func (r *Rule) numbers(what, or string) *numbers { return &numbers{limit: r.Limit, what: what, or: or} }

// set replaces a number by its value as a document has it; known is false for a text that is no name with a value. Its errors are
// *FieldErrors.
func (n *numbers) set(name, value string, known bool) error {
	at := fieldCalled(name)
	if !known || at < 0 || !slices.Contains(maySay, name) {
		_, noun, _ := strings.Cut(n.what, " ")
		return &FieldError{Field: noun, Problem: fmt.Sprintf("%s is nothing that %s sets: set %s%s", Quote(name), n.what, strings.Join(maySay, ", "), n.or)}
	}
	if n.has[at] {
		return &FieldError{Field: name, Problem: "is set twice"}
	}
	n.has[at] = true
	return fields[at].read(&n.limit, value)
}

// rule is that of the limit with its numbers replaced; base itself if they are base's.
func (n *numbers) rule(base *Rule) (*Rule, error) {
	if err := n.limit.fitsGiven(n.has); err != nil {
		return nil, err
	}
	rule, err := n.limit.Rule()
	if fe, ok := errors.AsType[*FieldError](err); ok && fe.Field == "reserve" { // it fits the limit, so the numbers are what is wrong: by them a bucket is of a kind without a reserve
		other := n.limit
		other.Reserve = 0
		rule, err = other.Rule()
	}
	if err != nil {
		return nil, err
	}
	if rule.Register() != base.Register() {
		return nil, n.otherKind(rule, base)
	}
	if rule = rule.leading(base.Lasting()); rule.Equal(base) {
		return base, nil
	}
	return rule, nil
}

// otherKind refuses numbers by which a bucket would be kept in another register than by the limit's own: a key would have one of each,
// and spend both.
func (n *numbers) otherKind(rule, base *Rule) error {
	field := slices.Index(n.has[:], true)
	return &FieldError{Field: fields[field].name, Problem: fmt.Sprintf(
		"an empty bucket takes %v to fill by that, and %v by the limit's own numbers: where a limit has holds, both take at most %s or both longer, since a key has one bucket",
		readable(rule.Fill()), readable(base.Fill()), durationText(time.Duration(soon)))}
}

// String is what is replaced, as in "capacity: 10, refill: 5/s".
func (n *numbers) String() string {
	var said []string
	for i := range fields {
		if n.has[i] {
			said = append(said, fields[i].name+": "+fields[i].text(&n.limit))
		}
	}
	return strings.Join(said, ", ")
}
