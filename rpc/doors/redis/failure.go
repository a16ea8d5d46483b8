package redis

import (
	"context"
	"errors"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// failure is the answer to a command whose check was not decided.
//
// TRYAGAIN is what clients of Redis know as temporary; some try again by themselves, and may be charged twice then: stricter, never looser.
func (s *shared) failure(err error, of *check) error {
	ref := of.request.Limits[0]
	switch field, bad := errors.AsType[*limit.FieldError](err); {
	case bad && ref.Inline != nil && field.Field == "limits."+ref.Name:
		return refuse("%s is the name of a stored limit, and this command has its buckets under that name: have an operator rename the limit", ref.Name)
	case bad:
		name := field.Field[strings.LastIndexByte(field.Field, '.')+1:]
		if renamed, ok := of.names[name]; ok {
			name = renamed
		}
		return refuse("%s: %s", name, field.Problem)
	case errors.Is(err, limit.ErrUnknownLimit):
		return s.unknown(ref.Name)
	}
	return unavailable(err)
}

// unavailable is the answer to a command for which nothing was decided or found out, for the time being.
func unavailable(err error) error {
	switch {
	case errors.Is(err, limit.ErrOverloaded), errors.Is(err, limit.ErrUnauthenticated):
		return refuse("nothing was decided: %s", err)
	case errors.Is(err, context.DeadlineExceeded):
		return refusal("TRYAGAIN nothing was decided: no node has answered within " + decideWithin.String())
	case errors.Is(err, context.Canceled):
		return refusal("TRYAGAIN nothing was decided: jeton is stopping")
	}
	return refusal("TRYAGAIN nothing was decided: " + err.Error())
}

// unknown is the answer to a check of a limit that is not stored.
func (s *shared) unknown(name string) error {
	doc := s.cfg.Limits()
	if doc == nil {
		return refuse("unknown limit %s", limit.Quote(name))
	}
	if near := doc.Near(name); near != "" {
		return refuse("unknown limit %s: perhaps %s is meant", limit.Quote(name), limit.Quote(near))
	}
	return refuse("unknown limit %s: an operator stores limits with jeton limits apply", limit.Quote(name))
}
