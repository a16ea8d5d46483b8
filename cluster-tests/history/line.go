package history

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// A line is one line of a file, of any kind:
//
//	{"kind":"limit","limit":"api","capacity":3,"tokens":1,"per_ns":1000000000}
//	{"kind":"limit","limit":"streams","algorithm":"concurrency","capacity":3,"length_ns":1000000000}
//	{"kind":"check","limit":"api","key":"k","cost":1,"start":…,"end":…,"outcome":"admitted","wait_ns":0,"receipt":{…},"via":"client"}
//	{"kind":"return","limit":"api","key":"k","start":…,"end":…,"outcome":"taken","receipt":{…}}
//	{"kind":"reset","limit":"api","key":"k","start":…,"end":…,"outcome":"done"}
//	{"kind":"extend","limit":"streams","key":"k","start":…,"end":…,"outcome":"admitted","receipt":{…}}
//	{"kind":"hold","limit":"tokens","key":"k","cost":9,"start":…,"end":…,"outcome":"admitted","hold":{"id":"h","for_ns":60000000000}}
//	{"kind":"settle","limit":"tokens","key":"k","cost":7,"start":…,"end":…,"outcome":"done","hold":{"id":"h","state":"settled","charged":7}}
//	{"kind":"fault","start":…,"end":…,"what":"node-2 is killed"}
//	{"kind":"fault","start":…,"end":…,"what":"the clock of node-2 stands still","held_ns":2000000000}
//
// A limit that takes holds has "holds":"charge" or "holds":"free", and "debt"; one of which line is leased has "leased":true. A receipt is {"generation":"0","start":…,"end":…,"owner":"…","serial":0,"reuses":[{"start":…,"end":…}]}. Times are
// nanoseconds since the Unix epoch.
type line struct {
	Kind      string   `json:"kind"`
	Limit     string   `json:"limit,omitempty"`
	Key       string   `json:"key,omitempty"`
	Cost      *int64   `json:"cost,omitempty"`
	Start     *int64   `json:"start,omitempty"`
	End       *int64   `json:"end,omitempty"`
	Outcome   string   `json:"outcome,omitempty"`
	Wait      int64    `json:"wait_ns,omitempty"`
	Receipt   *Receipt `json:"receipt,omitempty"`
	Hold      *Hold    `json:"hold,omitempty"`
	Via       string   `json:"via,omitempty"`
	Error     string   `json:"error,omitempty"`
	What      string   `json:"what,omitempty"`
	Algorithm string   `json:"algorithm,omitempty"`
	Capacity  int64    `json:"capacity,omitempty"`
	Tokens    int64    `json:"tokens,omitempty"`
	PerNS     int64    `json:"per_ns,omitempty"`
	Length    int64    `json:"length_ns,omitempty"`
	Holds     string   `json:"holds,omitempty"`
	Debt      int64    `json:"debt,omitempty"`
	Leased    bool     `json:"leased,omitempty"`
	At        int64    `json:"at,omitempty"`
	By        int64    `json:"by,omitempty"`
	Held      int64    `json:"held_ns,omitempty"`
}

// lineOf is how a call stands in a file.
func lineOf(c *Call) line {
	l := line{
		Kind: c.Kind.String(), Limit: c.Limit, Key: c.Key, Start: &c.Start, End: &c.End, Outcome: c.Outcome.String(), Wait: c.Wait,
		Receipt: c.Receipt, Hold: c.Hold, Via: c.Via, Error: c.Error,
	}
	if c.Kind.costs() {
		l.Cost = &c.Cost
	}
	return l
}

// Validate says what is wrong with c, naming the field.
func (c *Call) Validate() error {
	switch {
	case c.Kind < KindCheck || c.Kind > KindSettle:
		return fmt.Errorf("kind: %d is not a kind: use check, return, reset, extend, hold or settle", c.Kind)
	case !c.Outcome.fits(c.Kind):
		return fmt.Errorf("outcome: a call of the kind %s cannot be %s", c.Kind, c.Outcome)
	case c.Limit == "":
		return errors.New("limit: the name of the limit is missing")
	case c.Key == "":
		return errors.New("key: missing")
	case c.Cost < 0:
		return fmt.Errorf("cost: %d is negative", c.Cost)
	case c.Cost > maxTokens:
		return fmt.Errorf("cost: %d is more than 2⁵⁰", c.Cost)
	case c.Start < 0 || c.Start > maxTime:
		return fmt.Errorf("start: %d is not a time in nanoseconds since 1970", c.Start)
	case c.End > maxTime:
		return fmt.Errorf("end: %d is not a time in nanoseconds since 1970", c.End)
	case c.End < c.Start:
		return fmt.Errorf("end: %d lies before the start, %d", c.End, c.Start)
	case c.Wait < 0 || c.Wait > MaxWait:
		return fmt.Errorf("wait_ns: %d is not from 0 to %d", c.Wait, MaxWait)
	case c.Wait > 0 && (c.Kind != KindCheck || c.Outcome != Admitted):
		return fmt.Errorf("wait_ns: a %s that is %s has none", c.Kind, c.Outcome)
	case c.Receipt == nil && c.Kind == KindReturn:
		return errors.New("receipt: a return needs one")
	case c.Receipt == nil && c.Kind == KindExtend:
		return errors.New("receipt: an extension needs one")
	case c.Receipt != nil && c.Kind != KindReturn && c.Kind != KindExtend && c.Outcome != Admitted:
		return fmt.Errorf("receipt: a %s that is %s has none", c.Kind, c.Outcome)
	case c.Receipt == nil:
		return c.validateHold()
	}
	return errors.Join(c.Receipt.validate(), c.validateHold())
}

// validateHold says what is wrong with what c says of a hold, naming the field.
func (c *Call) validateHold() error {
	h := c.Hold
	switch wanted := c.Kind == KindSettle || c.Kind == KindHold && c.Outcome == Admitted; {
	case h == nil && wanted:
		return fmt.Errorf("hold: a %s that is %s needs one", c.Kind, c.Outcome)
	case h == nil:
		return nil
	case !wanted:
		return fmt.Errorf("hold: a %s that is %s has none", c.Kind, c.Outcome)
	case h.ID == "":
		return errors.New("hold.id: missing")
	case h.For < 0 || h.For > maxLength || h.For == 0 && c.Kind == KindHold:
		return fmt.Errorf("hold.for_ns: %d is not from 1 to 2⁵⁶, or 0 of a settlement", h.For)
	case h.Charged < 0 || h.Charged > maxTokens:
		return fmt.Errorf("hold.charged: %d is not from 0 to 2⁵⁰", h.Charged)
	case c.Kind == KindHold && (h.Open || h.State != "" || h.Charged != 0):
		return errors.New("hold: only a settlement has open, state and charged")
	case c.Outcome != Done && (h.State != "" || h.Charged != 0):
		return fmt.Errorf("hold: a settlement that is %s has no state and no charge", c.Outcome)
	}
	return validateState(c)
}

// validateState says what is wrong with the state that the answer to a settlement tells.
func validateState(c *Call) error {
	switch c.Hold.State {
	case Settled, Open, Expired, Lost, Unknown:
		return nil
	case "":
		if c.Outcome != Done {
			return nil
		}
	}
	return fmt.Errorf("hold.state: %q is none of %s, %s, %s, %s and %s", c.Hold.State, Settled, Open, Expired, Lost, Unknown)
}

const (
	// maxTime leaves room for the longest limit, and for sums of a few times.
	maxTime = 1 << 61
	// maxTokens and maxPer leave room for sums of products in 128 bits.
	maxTokens = Boundless
	maxPer    = 1 << 60
	// maxLength leaves room for sums of a few lengths.
	maxLength = 1 << 56
	// maxEpsilon is about 13 days.
	maxEpsilon = 1 << 50
)

func (r *Receipt) validate() error {
	if r.Generation < 0 {
		return fmt.Errorf("receipt.generation: %d is negative", r.Generation)
	}
	sum := int64(0)
	for i, s := range append([]Span{r.Span}, r.Reuses...) {
		field := "receipt"
		if i > 0 {
			field = fmt.Sprintf("receipt.reuses[%d]", i-1)
		}
		switch {
		case s.Start < 0 || s.Start > 2*maxTime:
			return fmt.Errorf("%s.start: %d is not a time in nanoseconds since 1970", field, s.Start)
		case s.End < s.Start || s.End > 2*maxTime:
			return fmt.Errorf("%s.end: %d is before the start, %d", field, s.End, s.Start)
		}
		if sum += s.End - s.Start; sum > maxTime {
			return fmt.Errorf("%s: longer than any bucket", field)
		}
	}
	return nil
}

// Validate says what is wrong with l, naming the field.
func (l *Limit) Validate() error {
	switch {
	case l.Name == "":
		return errors.New("limit: the name of the limit is missing")
	case l.Capacity < 1:
		return fmt.Errorf("capacity: %d is less than 1", l.Capacity)
	case l.At < 0 || l.At > maxTime:
		return fmt.Errorf("at: %d is not a time in nanoseconds since 1970", l.At)
	case l.By != 0 && l.By < l.At || l.By > maxTime:
		return fmt.Errorf("by: %d is before at, %d", l.By, l.At)
	case l.Holds != "" && l.Holds != Charge && l.Holds != Free:
		return fmt.Errorf("holds: %q is neither charge nor free", l.Holds)
	case l.Debt < 0 || l.Debt > maxTokens || l.Debt > 0 && l.Holds == "":
		return fmt.Errorf("debt: %d is not from 0 to 2⁵⁰ of a limit that takes holds", l.Debt)
	case l.Algorithm != TokenBucket:
		return l.validateLength()
	case l.Length != 0:
		return errors.New("length_ns: a token bucket has none: give its algorithm")
	case l.Tokens < 1 || l.Tokens > maxTokens:
		return fmt.Errorf("tokens: %d is not from 1 to 2⁵⁰", l.Tokens)
	case l.PerNS < 1 || l.PerNS > maxPer:
		return fmt.Errorf("per_ns: %d is not from 1 to 2⁶⁰", l.PerNS)
	}
	fill := new(big.Int).Mul(big.NewInt(l.Capacity), big.NewInt(l.PerNS))
	if fill.Div(fill, big.NewInt(l.Tokens)).BitLen() > 61 {
		return errors.New("capacity: an empty bucket takes more than 73 years to fill")
	}
	return nil
}

// validateLength says what is wrong with a limit that is no token bucket.
func (l *Limit) validateLength() error {
	switch {
	case !slices.Contains(Algorithms(), l.Algorithm):
		return fmt.Errorf("algorithm: %q is none of %s; leave it out for a token bucket", l.Algorithm, strings.Join(Algorithms(), ", "))
	case l.Capacity > maxTokens:
		return fmt.Errorf("capacity: %d is more than 2⁵⁰", l.Capacity)
	case l.Length < 1 || l.Length > maxLength:
		return fmt.Errorf("length_ns: %d is not from 1 to 2⁵⁶", l.Length)
	case l.Algorithm == FixedWindow && l.Capacity > l.Length:
		return fmt.Errorf("capacity: %d is more than a token a nanosecond", l.Capacity)
	case l.Tokens != 0 || l.PerNS != 0:
		return fmt.Errorf("tokens and per_ns: a limit of the algorithm %s has none", l.Algorithm)
	}
	return nil
}

// Validate says what is wrong with f, naming the field.
func (f *Fault) Validate() error {
	switch {
	case f.Start < 0 || f.Start > maxTime:
		return fmt.Errorf("start: %d is not a time in nanoseconds since 1970", f.Start)
	case f.End < f.Start || f.End > maxTime:
		return fmt.Errorf("end: %d is before the start, %d", f.End, f.Start)
	case f.What == "":
		return errors.New("what: missing")
	case f.Held < 0 || f.Held > maxEpsilon:
		return fmt.Errorf("held_ns: %d is not from 0 to 2⁵⁰ ns", f.Held)
	}
	return nil
}

// Validate says what is wrong with h: the first entry that cannot be, or a call of a limit that is not in it.
func (h *History) Validate() error {
	for i := range h.Limits {
		if err := h.Limits[i].Validate(); err != nil {
			return fmt.Errorf("limit %d: %w", i+1, err)
		}
	}
	names := map[string]bool{}
	for i := range h.Limits {
		names[h.Limits[i].Name] = true
	}
	for i := range h.Calls {
		if err := h.Calls[i].Validate(); err != nil {
			return fmt.Errorf("call %d: %w", i+1, err)
		}
		if !names[h.Calls[i].Limit] {
			return fmt.Errorf("call %d: limit: %q is not among the limits", i+1, h.Calls[i].Limit)
		}
	}
	for i := range h.Faults {
		if err := h.Faults[i].Validate(); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return h.ordered()
}

// ordered says whether the versions of each limit follow one another.
func (h *History) ordered() error {
	last := map[string]*Limit{}
	for i := range h.Limits {
		l := &h.Limits[i]
		if before := last[l.Name]; before != nil && l.At < max(before.At, before.By, 1) {
			return fmt.Errorf("limit %s: at: a change at %d does not come after the one before", l.Name, l.At)
		} else if before != nil && (l.Algorithm != before.Algorithm || l.Length != before.Length) {
			return fmt.Errorf("limit %s: algorithm: a limit with another algorithm or length begins fresh buckets: give it another name", l.Name)
		} else if before != nil && l.Holds != before.Holds {
			return fmt.Errorf("limit %s: holds: those of one limit are judged by what becomes of all that expire: give it another name", l.Name)
		}
		last[l.Name] = l
	}
	return nil
}

// parse is the value that stands for a name.
func parse[N ~uint8](names []string, text string) (N, bool) {
	i := slices.Index(names, text)
	return N(i + 1), i >= 0
}
