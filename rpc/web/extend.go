package web

import (
	"encoding/json"
	"net/http"

	"github.com/jeton-dev/jeton/actor/limit"
)

// extend answers POST /v1/extend: of a permit, or of a hold.
func (a *api) extend(r *http.Request) (reply, error) {
	body, err := readBody(r)
	if err != nil {
		return reply{}, err
	}
	var has struct{ Hold json.RawMessage }
	if json.Unmarshal(body, &has) == nil && has.Hold != nil {
		return a.extendHold(r, body)
	}
	return a.extendPermit(r, body)
}

func (a *api) extendHold(r *http.Request, body []byte) (reply, error) {
	var in limit.HoldExtension
	if err := limit.DecodeJSON(body, &in); err != nil {
		return reply{}, wrongFieldOf("the extension of a hold", extensionOfHold, err)
	}
	return a.settled(r, in.Settlement)
}

func (a *api) extendPermit(r *http.Request, body []byte) (reply, error) {
	var in limit.Extension
	if err := limit.DecodeJSON(body, &in); err != nil {
		return reply{}, wrongFieldOf("the extension of a permit", extensionOfPermit, err)
	}
	request := in.Request()
	request.Limits[0] = a.limitOf(in.Receipt)
	d, err := a.Limiter.Check(r.Context(), request)
	if err != nil {
		return reply{}, a.unknownLimit(asWrittenOfExtension(err), request.Limits...)
	}
	return decided(d, d.Allowed, d.RetryAfterSeconds), nil
}

// limitOf is the limit of a permit. Where none of that name is stored, a request has defined it: the receipt tells its lease, by which its
// bucket is found, and not how many may be inside.
func (a *api) limitOf(permit limit.Receipt) limit.Ref {
	stored := limit.Named(permit.Limit)
	doc := a.Limits()
	if doc == nil || !permit.Permit {
		return stored
	}
	if _, is := doc.Rule(permit.Limit); is {
		return stored
	}
	rule, err := limit.PermitRule(permit)
	if err != nil {
		return stored
	}
	return limit.Inline(rule.Limit)
}
