package limit

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"
	"sync/atomic"
)

// inlineRule is the rule of the limit that the request defines. Nobody changes it: others may have the same.
func (r Ref) inlineRule() (*Rule, error) {
	if r.Inline.Name != r.Name {
		return nil, &FieldError{Field: "name", Problem: fmt.Sprintf("%s defines the limit %s: use one name", Quote(r.Name), Quote(r.Inline.Name))}
	}
	return defined.rule(r.Inline)
}

// defined are rules of limits that requests have defined. Most requests of a program define the same one.
var defined = memo{seed: maphash.MakeSeed()}

// A memo remembers a limit for each hash, and its rule: compiling one costs more than a decision does. What it remembers it gives up only
// when it is not asked for, so that callers who invent limits neither drive others out nor make rules that nobody counts.
type memo struct {
	seed  maphash.Seed
	slots [1024]slot
}

type slot struct {
	held   atomic.Pointer[compiled]
	others atomic.Int32 // limits asked for since held was
}

// givenUpAfter is how many other limits with its hash are asked for before one is given up.
const givenUpAfter = 1000

// compiled is a limit as requests define it, and its rule.
type compiled struct {
	limit Limit
	rule  *Rule
}

// rule is the rule of l.
func (m *memo) rule(l *Limit) (*Rule, error) {
	s := &m.slots[m.hash(l)%uint64(len(m.slots))]
	held := s.held.Load()
	if held != nil && held.limit == *l {
		if s.others.Load() != 0 {
			s.others.Store(0)
		}
		return held.rule, nil
	}
	c := &compiled{limit: *l}
	c.limit.ownTexts()
	var err error
	if c.rule, err = c.limit.inline(); err != nil {
		return nil, err
	}
	if held == nil || s.others.Add(1) > givenUpAfter {
		c.rule.shared = true
		s.held.Store(c)
		s.others.Store(0)
	}
	return c.rule, nil
}

// hash is one of what limits mostly differ in.
func (m *memo) hash(l *Limit) uint64 {
	h := maphash.String(m.seed, l.Name)
	for _, n := range [...]int64{l.Capacity, l.Refill.Tokens, int64(l.Refill.Per), int64(l.Window)} {
		h = bits.RotateLeft64(h^uint64(n), 29) * 0x9e3779b97f4a7c15 // 2⁶⁴ ÷ the golden ratio, as in Fibonacci hashing
	}
	return h >> 32
}

// ownTexts copies the texts of l, each of which may be a piece of the message that a request came in, and would keep it.
func (l *Limit) ownTexts() {
	for _, text := range []*string{
		&l.Name, &l.Algorithm, &l.Per, &l.Timezone, &l.Anchor, (*string)(&l.OnUnavailable), (*string)(&l.Share),
	} {
		*text = strings.Clone(*text)
	}
}

// inline makes the rule of a limit that a request defines.
func (l *Limit) inline() (*Rule, error) {
	if l.Penalty != (Penalty{}) {
		return nil, &FieldError{Field: penaltyFields[0], Problem: "is for stored limits: callers invent limits, and each penalty is remembered for days"}
	}
	if l.Holds != (Holds{}) {
		return nil, &FieldError{Field: holdFields[0], Problem: "is for stored limits, by which holds are settled"}
	}
	if l.Consistency != "" {
		return nil, &FieldError{Field: "consistency", Problem: "is for stored limits, which edges know beforehand"}
	}
	if l.Hot != "" {
		return nil, &FieldError{Field: "hot", Problem: "is for stored limits, which edges know beforehand"}
	}
	rule, err := l.Rule()
	if err != nil {
		return nil, err
	}
	rule.Inline = true
	return rule, nil
}
