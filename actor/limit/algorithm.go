package limit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TokenBucket is the default algorithm.
const TokenBucket = "token-bucket"

// algorithms lists every algorithm by the name it bears in a limits document. Each stands in a file of its own.
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
			Problem: fmt.Sprintf("%s is not known: use %s", Quote(l.Algorithm), strings.Join(Algorithms(), " or ")),
		}
	}
	switch {
	case l.Capacity == 0:
		return nil, &FieldError{Field: "capacity", Problem: "is missing or 0: at least 1 token"}
	case l.Capacity < 0:
		return nil, &FieldError{Field: "capacity", Problem: fmt.Sprintf("%d is too small: at least 1 token", l.Capacity)}
	}
	if l.Refill == (Refill{}) {
		return nil, &FieldError{Field: "refill", Problem: "is missing: write n/duration, such as 5/s"}
	}
	if err := l.Refill.validate(); err != nil {
		return nil, err
	}
	switch l.OnUnavailable {
	case Allow, Deny, Local:
	default:
		return nil, &FieldError{
			Field:   "on_unavailable",
			Problem: fmt.Sprintf("%s is not known: use allow, deny or local", Quote(string(l.OnUnavailable))),
		}
	}
	return compile(l)
}
