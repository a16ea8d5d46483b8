package limit

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/memo"
)

// inlineRule is the rule of the limit that the request defines. Nobody changes it: others may have the same.
func (r Ref) inlineRule() (*Rule, error) {
	if r.Inline.Name != r.Name {
		return nil, &FieldError{Field: "name", Problem: fmt.Sprintf("%s defines the limit %s: use one name", Quote(r.Name), Quote(r.Inline.Name))}
	}
	return definedRule(r.Inline)
}

// defined are rules of limits that requests have defined: compiling one costs more than a decision does, and most requests of a program define
// the same one.
var (
	defined memo.Memo[Limit, *Rule]
	seed    = maphash.MakeSeed()
)

// LongestDefinedHold is how long a hold may last of a limit that a request defines.
const LongestDefinedHold = 10 * time.Minute

// definedRule is the rule of a limit that a request defines.
func definedRule(l *Limit) (*Rule, error) {
	hash := l.hash()
	if rule, ok := defined.Get(hash, l); ok {
		return rule, nil
	}
	own := *l
	own.ownTexts()
	rule, err := own.inline()
	if err == nil && defined.Free(hash) {
		rule.shared = true
		defined.Put(hash, own, rule)
	}
	return rule, err
}

// hash is one of what limits mostly differ in.
func (l *Limit) hash() uint64 {
	h := maphash.String(seed, l.Name)
	for _, n := range [...]int64{l.Capacity, l.Refill.Tokens, int64(l.Refill.Per), int64(l.Window)} {
		h = bits.RotateLeft64(h^uint64(n), 29) * 0x9e3779b97f4a7c15 // 2⁶⁴ ÷ the golden ratio, as in Fibonacci hashing
	}
	return h >> 32
}

// ownTexts copies the texts of l, each of which may be a piece of the message that a request came in, and would keep it.
func (l *Limit) ownTexts() {
	for _, text := range []*string{
		&l.Name, &l.Algorithm, &l.Per, &l.Timezone, &l.Anchor, (*string)(&l.OnUnavailable), (*string)(&l.Holds.OnExpiry), (*string)(&l.Share),
	} {
		*text = strings.Clone(*text)
	}
}

// inline makes the rule of a limit that a request defines.
func (l *Limit) inline() (*Rule, error) {
	if l.Penalty != (Penalty{}) {
		return nil, &FieldError{Field: penaltyFields[0], Problem: "is for stored limits: callers invent limits, and each penalty is remembered for days"}
	}
	if l.Holds.Longest > LongestDefinedHold {
		return nil, &FieldError{Field: holdFields[0], Problem: fmt.Sprintf("%s is more than %s: a longer hold is for stored limits, for callers invent limits, and what is held is kept",
			durationText(l.Holds.Longest), durationText(LongestDefinedHold))}
	}
	if l.Holds.Longest > 0 && l.Holds.MaxDebt != NoDebt {
		return nil, &FieldError{Field: "max_debt", Problem: "is not 0, or is left out: write 0; debt is for stored limits, for callers invent limits, and owe what they say"}
	}
	if l.Consistency != "" {
		return nil, &FieldError{Field: "consistency", Problem: "is for stored limits, which edges know beforehand"}
	}
	if l.Hot != "" {
		return nil, &FieldError{Field: "hot", Problem: "is for stored limits, which edges know beforehand"}
	}
	if l.Gauges != 0 {
		return nil, &FieldError{Field: "gauges", Problem: "is for stored limits: callers invent limits, and each would have series of its own"}
	}
	rule, err := l.Rule()
	if err != nil {
		return nil, err
	}
	rule.Inline = true
	return rule, nil
}
