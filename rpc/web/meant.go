package web

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/spelling"
)

// unknownLimit is the problem of a request that names a limit which is not stored, with the name that is nearest and where to see
// them all; nil for another error. Only who is told so looks for the nearest: on the way of a check it would cost.
func (a *api) unknownLimit(err error) *problem {
	if !errors.Is(err, limit.ErrUnknownLimit) {
		return nil
	}
	p := problemOf(err)
	doc := a.Limits()
	if doc == nil || len(doc.Rules()) == 0 {
		p.Detail += ": there are no limits yet: add some with jeton limits apply or PUT /v1/limits"
		return p
	}
	names := make([]string, 0, len(doc.Rules()))
	for _, rule := range doc.Rules() {
		names = append(names, rule.Name)
	}
	if name, is := quotedIn(p.Detail); is {
		p.Detail += fmt.Sprintf(": did you mean %s? GET /v1/limits shows all limits", limit.Quote(spelling.Nearest(name, names)))
	} else {
		p.Detail += "; GET /v1/limits shows all limits"
	}
	return p
}

// quotedIn is the name that stands behind the words of [limit.ErrUnknownLimit].
func quotedIn(said string) (name string, is bool) {
	_, after, _ := strings.Cut(said, limit.ErrUnknownLimit.Error()+" ")
	quoted, err := strconv.QuotedPrefix(after)
	if err != nil {
		return "", false
	}
	name, err = strconv.Unquote(quoted)
	return name, err == nil
}

// checkFields are the fields of a check.
var checkFields = []string{"key", "limits", "cost", "look", "request_id", "receipt"}

// notAField is what is wrong with a field that is not known, as [limit.DecodeJSON] words it.
const notAField = "is not a known field"

// wrongField is err, what reading a check met, with the fields that there are and the nearest of them, where the check has another.
func wrongField(err error) error {
	fe, is := errors.AsType[*limit.FieldError](err)
	if !is || fe.Problem != notAField || strings.ContainsAny(fe.Field, ".[") {
		return err
	}
	return &limit.FieldError{Field: fe.Field, Problem: fmt.Sprintf("%s: a check has %s: did you mean %q?",
		notAField, strings.Join(checkFields, ", "), spelling.Nearest(fe.Field, checkFields))}
}
