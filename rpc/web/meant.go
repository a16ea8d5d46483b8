package web

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/spelling"
)

// unknownLimit adds to an ErrUnknownLimit the stored limit whose name is near to the unknown one among those that the request
// names, and where to see all. Another error stays as it is.
func (a *api) unknownLimit(err error, asked ...limit.Ref) error {
	if !errors.Is(err, limit.ErrUnknownLimit) {
		return err
	}
	p, doc := problemOf(err), a.Limits()
	if doc == nil {
		doc = new(limit.Document)
	}
	unknown := slices.IndexFunc(asked, func(ref limit.Ref) bool {
		_, known := doc.Rule(ref.Name)
		return ref.Inline == nil && !known
	})
	switch {
	case doc.Len() == 0:
		p.Detail += ": there are no limits yet: add some with jeton limits apply or PUT /v1/limits"
	case unknown < 0:
		p.Detail += "; GET /v1/limits shows all limits"
	default:
		p.Detail += ": " + MeantLimit(asked[unknown].Name, doc) + "GET /v1/limits shows all limits"
	}
	return p
}

// MeantLimit asks, and ends with a space, whether the stored limit was meant whose name is near to an unknown one; empty if none is.
func MeantLimit(unknown string, stored *limit.Document) string {
	if meant := stored.Near(unknown); meant != "" {
		return fmt.Sprintf("did you mean %s? ", limit.Quote(meant))
	}
	return ""
}

// checkFields are the fields of a check.
var checkFields = []string{"key", "limits", "cost", "look", "request_id", "receipt", "plan", "wait_ms", "for", "least"}

// The fields of what holds and extensions are asked with.
var (
	holdFields        = []string{"key", "limits", "cost", "for", "least", "request_id", "plan"}
	settlementFields  = []string{"hold", "cost", "open", "for"}
	extensionOfHold   = []string{"hold", "for", "cost"}
	extensionOfPermit = []string{"key", "receipt"}
)

// otherWords are names that callers use for fields that have another one.
var otherWords = map[string]string{"used": "cost", "tokens": "cost", "amount": "cost"}

// meantField is the field that was probably meant by one that is not known; empty if none is near.
func meantField(name string, fields []string) string {
	if field := otherWords[name]; slices.Contains(fields, field) {
		return field
	}
	return spelling.Near(name, fields)
}

// wrongField is err, what reading a check met, with the fields that there are and the one that is probably meant, where the check has another.
func wrongField(err error) error { return wrongFieldOf("a check", checkFields, err) }

// wrongFieldOf is wrongField for something with these fields.
func wrongFieldOf(what string, fields []string, err error) error {
	return wrongFieldAt("", what, fields, err)
}

// wrongFieldOfAll is wrongField for the checks of POST /v1/check-all, whose body has one field of its own.
func wrongFieldOfAll(err error) error {
	fe, is := errors.AsType[*limit.FieldError](err)
	if !is || fe.Problem != limit.UnknownField {
		return err
	}
	if at, _, inside := strings.Cut(fe.Field, "]."); inside {
		return wrongFieldAt(at+"].", "a check", checkFields, err)
	}
	return &limit.FieldError{Field: fe.Field, Problem: limit.UnknownField + `: the body is {"checks":[…]}, a list of what POST /v1/check takes`}
}

// wrongFieldAt is wrongFieldOf for something whose fields begin with path.
func wrongFieldAt(path, what string, fields []string, err error) error {
	fe, is := errors.AsType[*limit.FieldError](err)
	if !is || fe.Problem != limit.UnknownField {
		return err
	}
	name, of := strings.CutPrefix(fe.Field, path)
	if !of || strings.ContainsAny(name, ".[") {
		return err
	}
	problem := fmt.Sprintf("%s: %s has %s", limit.UnknownField, what, strings.Join(fields, ", "))
	if meant := meantField(name, fields); meant != "" {
		problem += fmt.Sprintf(": did you mean %q?", meant)
	}
	return &limit.FieldError{Field: fe.Field, Problem: problem}
}

// asWritten is the error of a check, whose field it names as the caller has written it: the wait as wait_ms, how long to hold as for, and a
// limit that the request defines by its place.
func asWritten(err error, r limit.Request) error { return asWrittenAt("", err, r) }

// asWrittenOfAll is asWritten for the checks of POST /v1/check-all.
func asWrittenOfAll(err error, checks []limit.Request) error {
	for i, r := range checks {
		err = asWrittenAt(fmt.Sprintf("checks[%d].", i), err, r)
	}
	return err
}

// asWrittenAt is asWritten for a check whose fields begin with path.
func asWrittenAt(path string, err error, r limit.Request) error {
	fe, is := errors.AsType[*limit.FieldError](err)
	if !is {
		return err
	}
	name, of := strings.CutPrefix(fe.Field, path)
	if !of {
		return err
	}
	written, longest := name, -1
	switch name {
	case "wait":
		written = "wait_ms"
	case "hold":
		written = "for"
	}
	for i, ref := range r.Limits {
		rest, of := strings.CutPrefix(name+".", "limits."+ref.Name+".")
		if of && len(ref.Name) > longest { // names may have dots
			written, longest = strings.TrimSuffix(fmt.Sprintf("limits[%d].%s", i, rest), "."), len(ref.Name)
		}
	}
	if written == name {
		return err
	}
	return &limit.FieldError{Field: path + written, Problem: fe.Problem}
}

// asWrittenOfSettlement is asWritten for a settlement: what its limits say of the hold is about the time that it is to last.
func asWrittenOfSettlement(err error, s limit.Settlement) error {
	if fe, is := errors.AsType[*limit.FieldError](err); is && fe.Field == "hold" && s.For > 0 {
		return &limit.FieldError{Field: "for", Problem: fe.Problem}
	}
	return err
}

// asWrittenOfExtension is asWritten for POST /v1/extend: all but the key is told by the receipt.
func asWrittenOfExtension(err error) error {
	fe, is := errors.AsType[*limit.FieldError](err)
	if !is || fe.Field == "key" {
		return err
	}
	if strings.HasPrefix(fe.Field, "limits") {
		return &limit.FieldError{Field: "receipt.limit", Problem: fe.Problem}
	}
	return &limit.FieldError{Field: "receipt", Problem: fe.Problem}
}
