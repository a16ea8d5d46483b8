package web

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/spelling"
)

// unknownLimit adds to an ErrUnknownLimit the stored limit whose name is nearest to the unknown one among those that the request
// names, and where to see all. Another error stays as it is.
func (a *api) unknownLimit(err error, asked ...limit.Ref) error {
	if !errors.Is(err, limit.ErrUnknownLimit) {
		return err
	}
	p := problemOf(err)
	var stored []string
	if doc := a.Limits(); doc != nil {
		for _, rule := range doc.Rules() {
			stored = append(stored, rule.Name)
		}
	}
	unknown := slices.IndexFunc(asked, func(ref limit.Ref) bool { return ref.Inline == nil && !slices.Contains(stored, ref.Name) })
	switch {
	case len(stored) == 0:
		p.Detail += ": there are no limits yet: add some with jeton limits apply or PUT /v1/limits"
	case unknown < 0:
		p.Detail += "; GET /v1/limits shows all limits"
	default:
		nearest := spelling.Nearest(asked[unknown].Name, stored)
		p.Detail += fmt.Sprintf(": did you mean %s? GET /v1/limits shows all limits", limit.Quote(nearest))
	}
	return p
}

// checkFields are the fields of a check.
var checkFields = []string{"key", "limits", "cost", "look", "request_id", "receipt"}

// wrongField is err, what reading a check met, with the fields that there are and the nearest of them, where the check has another.
func wrongField(err error) error {
	fe, is := errors.AsType[*limit.FieldError](err)
	if !is || fe.Problem != limit.UnknownField || strings.ContainsAny(fe.Field, ".[") {
		return err
	}
	return &limit.FieldError{Field: fe.Field, Problem: fmt.Sprintf("%s: a check has %s: did you mean %q?",
		limit.UnknownField, strings.Join(checkFields, ", "), spelling.Nearest(fe.Field, checkFields))}
}
