package limit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TokenBucket is the default algorithm.
const TokenBucket = "token-bucket"

// algorithms lists every algorithm by its name in a limits document. Each has a file of its own, whose constructor checks the
// fields of a Limit that the algorithm uses.
var algorithms = map[string]func(Limit) (*Rule, error){
	TokenBucket: newTokenBucket,
}

// Algorithms are the names that a Limit's Algorithm may have, sorted.
func Algorithms() []string { return slices.Sorted(maps.Keys(algorithms)) }

// Rule checks l and makes it ready to decide. Its errors are *FieldError.
func (l Limit) Rule() (*Rule, error) {
	if err := validateName(l.Name); err != nil {
		return nil, err
	}
	if l.Algorithm == "" {
		l.Algorithm = TokenBucket
	}
	if l.OnUnavailable == "" {
		l.OnUnavailable = Allow
	}
	compile, ok := algorithms[l.Algorithm]
	if !ok {
		return nil, &FieldError{
			Field:   "algorithm",
			Problem: fmt.Sprintf("unknown algorithm %s: use %s", Quote(l.Algorithm), strings.Join(Algorithms(), " or ")),
		}
	}
	rule, err := compile(l)
	if err != nil {
		return nil, err
	}
	if rule.reach > int64(MaxFill) {
		return nil, errTooLong
	}
	switch l.OnUnavailable {
	case Allow, Deny, Local:
		return rule, nil
	default:
		return nil, &FieldError{
			Field:   "on_unavailable",
			Problem: fmt.Sprintf("unknown policy %s: use allow, deny or local", Quote(string(l.OnUnavailable))),
		}
	}
}

// Part is the n-th part of the limit, for one of n gateways that decide without the cluster, or nil if there is none.
func (r *Rule) Part(n int) *Rule {
	l, ok := r.algorithm.Part(r.Limit, n)
	if !ok {
		return nil
	}
	part, err := l.Rule()
	if err != nil { // the part takes too long to fill
		return nil
	}
	return part
}
