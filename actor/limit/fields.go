package limit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A field is one of the fields of a limit besides its name, in the form in which documents and differences write it.
type field struct {
	name string
	// text is the value, as read reads it; empty if the limit does not have the field.
	text func(l *Limit) string
	// read sets the field. Its error is a *FieldError with the field's name.
	read func(l *Limit, text string) error
}

// fields are those of all limits, in the order of a document. Which of them a limit has depends on its algorithm: see algorithms.
var fields = [...]field{
	textField("algorithm", func(l *Limit) *string { return &l.Algorithm }),
	countField("capacity"),
	countField("limit"),
	{"refill", (*Limit).refillText, readRefill},
	{"window", (*Limit).windowText, readWindow},
	textField("per", func(l *Limit) *string { return &l.Per }),
	textField("timezone", func(l *Limit) *string { return &l.Timezone }),
	textField("anchor", func(l *Limit) *string { return &l.Anchor }),
	{"weighted", (*Limit).weightedText, readWeighted},
	{"lease", (*Limit).leaseText, readLease},
	{"wait", (*Limit).maxWaitText, readMaxWait},
	{"hold", (*Limit).holdText, readHold},
	textField("on_expiry", func(l *Limit) *string { return (*string)(&l.Holds.OnExpiry) }),
	{"max_debt", (*Limit).maxDebtText, readMaxDebt},
	{"reserve", func(l *Limit) string { return l.Reserve.String() }, readReserve},
	{"penalty_after", (*Limit).penaltyAfterText, readPenaltyAfter},
	penaltyField("penalty_for", func(p *Penalty) *time.Duration { return &p.For }),
	penaltyField("penalty_max", func(p *Penalty) *time.Duration { return &p.Max }),
	textField("consistency", func(l *Limit) *string { return (*string)(&l.Consistency) }),
	{"sync", (*Limit).syncText, readSync},
	textField("share", func(l *Limit) *string { return (*string)(&l.Share) }),
	textField("hot", func(l *Limit) *string { return (*string)(&l.Hot) }),
	{"gauges", (*Limit).gaugesText, readGauges},
	textField("on_unavailable", func(l *Limit) *string { return (*string)(&l.OnUnavailable) }),
}

// A FieldChange is a field of a limit, as a document writes it, or a plan or an override, with its old value (empty for a new limit) and its new value (empty
// for a removed limit). Where the algorithm changes, one of them is empty for a field that only the other one has.
type FieldChange struct{ Limit, Field, Before, After string }

// everyLimit are the fields that limits of all algorithms have.
var everyLimit = append([]string{"algorithm", "consistency", "sync", "share", "hot", "gauges", "on_unavailable"}, penaltyFields...)

// A given says which of the fields a text has given.
type given [len(fields)]bool

// fieldNames are the names of fields.
func fieldNames() []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	return names
}

// fieldCalled is the index of a field, or -1.
func fieldCalled(name string) int {
	for i := range fields {
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

// textField is a field that is a text.
func textField(name string, of func(*Limit) *string) field {
	return field{
		name: name,
		text: func(l *Limit) string { return *of(l) },
		read: func(l *Limit, text string) error {
			*of(l) = strings.Clone(text) // of what may be a large document
			return nil
		},
	}
}

// countField is the field that holds a limit's Capacity. Each algorithm has one.
func countField(name string) field {
	return field{
		name: name,
		text: func(l *Limit) string {
			if l.Capacity == 0 || l.countName() != name {
				return ""
			}
			return strconv.FormatInt(l.Capacity, 10)
		},
		read: func(l *Limit, text string) (err error) {
			if l.Capacity, err = strconv.ParseInt(text, 10, 64); err != nil {
				return &FieldError{Field: name, Problem: fmt.Sprintf("%s is not a whole number of tokens, at most %d", Quote(text), int64(math.MaxInt64))}
			}
			return nil
		},
	}
}

func (l *Limit) refillText() string {
	if l.Refill == (Refill{}) {
		return ""
	}
	return l.Refill.String()
}

func readRefill(l *Limit, text string) (err error) {
	l.Refill, err = ParseRefill(text)
	return err
}

func (l *Limit) windowText() string {
	if l.Window == 0 {
		return ""
	}
	return durationText(l.Window)
}

func readWindow(l *Limit, text string) (err error) {
	l.Window, err = parseWindow(text)
	return err
}

// countName is the name of the field that holds the Capacity.
func (l *Limit) countName() string {
	if names := Fields(l.Algorithm); len(names) > 0 {
		return names[0]
	}
	return "capacity"
}

// noTerms are the fields that say nothing of what is admitted.
var noTerms = []string{"algorithm", "gauges", "on_unavailable"}

// Terms are the numbers of a limit as people read them: its fields without the algorithm, the gauges and the policy, such as "capacity 10" and
// "refill 1/s".
func (l *Limit) Terms() []string {
	var terms []string
	for i := range fields {
		if text := fields[i].text(l); text != "" && !slices.Contains(noTerms, fields[i].name) {
			terms = append(terms, fields[i].name+" "+text)
		}
	}
	return terms
}

// fits refuses a field that the limit has, and limits of its algorithm do not have.
func (l *Limit) fits() error {
	for i := range fields {
		if name := fields[i].name; fields[i].text(l) != "" && !slices.Contains(everyLimit, name) && !slices.Contains(Fields(l.Algorithm), name) {
			return l.misfit(name)
		}
	}
	return nil
}

// fitsGiven is fits for a limit that a text has given by these fields. The limit alone does not tell which of its fields has given the
// Capacity.
func (l *Limit) fitsGiven(g given) error {
	names := Fields(l.Algorithm)
	if names == nil {
		return nil // Rule refuses the algorithm
	}
	for i := range fields {
		if name := fields[i].name; g[i] && !slices.Contains(everyLimit, name) && !slices.Contains(names, name) {
			return l.misfit(name)
		}
	}
	return nil
}

// hasCount refuses a limit whose Capacity was not given.
func (l *Limit) hasCount(g given) error {
	if name := l.countName(); !g[fieldCalled(name)] {
		return &FieldError{Field: name, Problem: "is missing: say how many tokens " + holds[name] + ", at least 1"}
	}
	return nil
}

// holds is what the fields that hold a Capacity count.
var holds = map[string]string{"capacity": "a full bucket holds", "limit": "a window admits"}

// misfit is the error of a field that limits of this algorithm do not have.
func (l *Limit) misfit(name string) error {
	algorithm := cmp.Or(l.Algorithm, TokenBucket)
	names := Fields(algorithm)
	if l.Algorithm == "" {
		algorithm += ", the default"
	}
	problem := fmt.Sprintf("does not fit the algorithm %s, which has %s: ", algorithm, listed(names))
	var others []string
	for _, other := range Algorithms() {
		if slices.Contains(Fields(other), name) {
			others = append(others, other)
		}
	}
	instead := "algorithm: " + strings.Join(others, " or ")
	switch {
	case holds[name] != "" && l.Capacity > 0:
		problem += fmt.Sprintf("write %s: %d, or %s", names[0], l.Capacity, instead)
	case holds[name] != "":
		problem += fmt.Sprintf("write %s, or %s", names[0], instead)
	default:
		problem += fmt.Sprintf("leave it out, or write %s", instead)
	}
	return &FieldError{Field: name, Problem: problem}
}

// listed is "a", "a and b", "a, b and c".
func listed(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

func (l *Limit) weightedText() string {
	if !l.Weighted {
		return ""
	}
	return "true"
}

func readWeighted(l *Limit, text string) error {
	switch text {
	case "true":
		l.Weighted = true
	case "false":
		l.Weighted = false
	default:
		return &FieldError{Field: "weighted", Problem: fmt.Sprintf("%s is neither true nor false", Quote(text))}
	}
	return nil
}

func (l *Limit) leaseText() string {
	if l.Lease == 0 {
		return ""
	}
	return durationText(l.Lease)
}

func readLease(l *Limit, text string) (err error) {
	if l.Lease, err = time.ParseDuration(text); err != nil {
		return &FieldError{Field: "lease", Problem: fmt.Sprintf("%s is not a duration, such as 30s or 5m", Quote(text))}
	}
	return nil
}

// penaltyFields are those of a [Penalty].
var penaltyFields = []string{"penalty_after", "penalty_for", "penalty_max"}

func (l *Limit) penaltyAfterText() string {
	if l.Penalty.After == 0 {
		return ""
	}
	return strconv.FormatInt(l.Penalty.After, 10)
}

func readPenaltyAfter(l *Limit, text string) (err error) {
	if l.Penalty.After, err = strconv.ParseInt(text, 10, 64); err != nil {
		return &FieldError{Field: "penalty_after", Problem: fmt.Sprintf("%s is not a whole number of denials, at most %d", Quote(text), maxPenaltyAfter)}
	}
	return nil
}

// penaltyField is a field of a [Penalty] that is a time.
func penaltyField(name string, of func(*Penalty) *time.Duration) field {
	return field{
		name: name,
		text: func(l *Limit) string {
			if d := *of(&l.Penalty); d != 0 {
				return durationText(d)
			}
			return ""
		},
		read: func(l *Limit, text string) (err error) {
			if *of(&l.Penalty), err = time.ParseDuration(text); err != nil {
				return &FieldError{Field: name, Problem: fmt.Sprintf("%s is not a duration, such as 1m or 30s", Quote(text))}
			}
			return nil
		},
	}
}

func (l *Limit) holdText() string {
	if l.Holds.Longest == 0 {
		return ""
	}
	return durationText(l.Holds.Longest)
}

func readHold(l *Limit, text string) (err error) {
	if l.Holds.Longest, err = time.ParseDuration(text); err != nil {
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is not a duration, such as 10m or 90s", Quote(text))}
	}
	return nil
}

func (l *Limit) maxDebtText() string {
	switch l.Holds.MaxDebt {
	case 0:
		return ""
	case NoDebt:
		return "0"
	}
	return strconv.FormatInt(l.Holds.MaxDebt, 10)
}

func readMaxDebt(l *Limit, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return &FieldError{Field: "max_debt", Problem: fmt.Sprintf("%s is not a whole number of tokens from 0 to %d", Quote(text), MaxCount)}
	}
	l.Holds.MaxDebt = n
	if n == 0 {
		l.Holds.MaxDebt = NoDebt
	}
	return nil
}

func readReserve(l *Limit, text string) (err error) {
	l.Reserve, err = ParseReserve(text)
	return err
}
