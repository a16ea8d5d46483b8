package history

import (
	"fmt"
	"strings"
)

// A Result is what one checker has found.
type Result struct {
	Checker string `json:"checker"`
	// Checked is how many Things were checked.
	Checked int    `json:"checked"`
	Things  string `json:"things"`
	// Unknown is how many more could not be: there was too little to judge them by, or they would have taken too long.
	Unknown int `json:"unknown"`
	// Note is for people to read, such as a share.
	Note string `json:"note,omitempty"`
	// Found is how many violations there are. The first [MaxViolations] are reported.
	Found      int         `json:"found"`
	Violations []Violation `json:"violations,omitempty"`
}

// MaxViolations is how many violations a Result tells.
const MaxViolations = 20

// A Violation is something that must not be.
type Violation struct {
	Limit string `json:"limit,omitempty"`
	Key   string `json:"key,omitempty"`
	What  string `json:"what"`
	// Shown are the calls that show it, for people to read; times count from the beginning of the history.
	Shown []string `json:"shown,omitempty"`
	// Calls are the same calls.
	Calls []Call `json:"-"`
}

// String is the violation and its calls, with times relative to the beginning of the history.
func (v Violation) String() string {
	var b strings.Builder
	if v.Limit != "" {
		fmt.Fprintf(&b, "limit %s, key %s: ", v.Limit, v.Key)
	}
	b.WriteString(v.What)
	for _, call := range v.Shown {
		b.WriteString("\n    " + call)
	}
	return b.String()
}

// describe is a call for people to read.
func describe(c *Call, since int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s: ", relative(c.Start, since), relative(c.End, since))
	if c.Kind.costs() {
		fmt.Fprintf(&b, "%s of cost %d", c.Kind, c.Cost)
	} else {
		b.WriteString(c.Kind.String())
	}
	fmt.Fprintf(&b, ", %s", c.Outcome)
	if c.Wait > 0 {
		fmt.Fprintf(&b, ", to begin %s later", seconds(c.Wait))
	}
	if c.Via != "" {
		fmt.Fprintf(&b, ", via %s", c.Via)
	}
	if r := c.Receipt; r != nil {
		fmt.Fprintf(&b, ", span %s of generation %d by %.8s, serial %d", r.Span.since(since), r.Generation, r.Owner, r.Serial)
		for _, again := range r.Reuses {
			fmt.Fprintf(&b, ", reuse %s", again.since(since))
		}
	}
	if h := c.Hold; h != nil {
		fmt.Fprintf(&b, ", %s", describeHold(h))
	}
	if c.Error != "" {
		fmt.Fprintf(&b, ": %s", c.Error)
	}
	return b.String()
}

// seconds is a length of time, to the nanosecond.
func seconds(d int64) string {
	sign := ""
	if d < 0 {
		d, sign = -d, "-"
	}
	return fmt.Sprintf("%s%d.%09d s", sign, d/1e9, d%1e9)
}

// relative is a time in seconds since the beginning, to the nanosecond.
func relative(t, since int64) string {
	d, sign := t-since, "+"
	if d < 0 {
		d, sign = -d, "-"
	}
	return fmt.Sprintf("%s%d.%09d s", sign, d/1e9, d%1e9)
}

func (s Span) since(since int64) string {
	return fmt.Sprintf("(%s, %s]", relative(s.Start, since), relative(s.End, since))
}

// Err is nil if there is no violation.
func (r *Result) Err() error {
	if r.Found == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d violations in %d %s", r.Checker, r.Found, r.Checked, r.Things)
	for _, v := range r.Violations {
		b.WriteString("\n  " + v.String())
	}
	if more := r.Found - len(r.Violations); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return fmt.Errorf("%s", b.String())
}

// describeHold is what a call says of a hold, for people to read.
func describeHold(h *Hold) string {
	text := "hold " + h.ID
	if h.For > 0 {
		text += " for " + seconds(h.For)
	}
	if h.Open {
		text += ", left open"
	}
	if h.State != "" {
		text += fmt.Sprintf(": %s, %d charged", h.State, h.Charged)
	}
	return text
}
