package limitfile

import (
	"errors"
	"fmt"
)

// A Match is limits that a request has, with the key of their buckets. They are charged and held together.
type Match struct {
	Key    string
	Limits []*Limit
}

// maxSpent is what all evaluations of one request may cost.
const maxSpent = 500_000

// errCostly refuses a request.
var errCostly = errors.New("the conditions and variables cost too much to evaluate for a request with so many descriptors: send fewer, or write simpler ones")

// Match finds the limits of a request by its descriptors. A limit applies where all of its conditions hold and all of its variables have a value. The error says which expression
// has no value; then it is not known which limits apply.
func (s *Set) Match(namespace string, descriptors []map[string]string) (all []Match, err error) {
	v := values{descriptors: descriptors}
	for _, g := range s.namespaces[namespace] {
		if v.spent > maxSpent {
			return nil, errCostly
		}
		v.limit = g.limits[0].activation
		key, applies, err := g.apply(&v)
		switch {
		case err != nil:
			return nil, fmt.Errorf("limit %s: %w", g.limits[0].Label, err)
		case applies:
			all = append(all, Match{key, g.limits})
		}
	}
	return all, nil
}

// apply says whether the limits of g apply, and to which buckets.
func (g *group) apply(v *values) (key string, applies bool, err error) {
	for _, t := range g.tests {
		if holds, err := t.test(v); err != nil || !holds {
			return "", false, err
		}
	}
	b := []byte(g.key)
	for _, e := range g.values {
		text, err := e.text(v)
		switch {
		case errors.Is(err, errAbsent):
			return "", false, nil
		case err != nil:
			return "", false, err
		}
		b = appendEscaped(append(b, '|'), text)
	}
	return fit(b), true, nil
}
