package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// refuse sets the outcome of a request that does not pass.
func (v *visit) refuse(o outcome, detail string) {
	v.outcome = o
	v.refusal = answer.Refusal{
		Kind: o.kind(), Detail: detail, Route: v.request.Route,
		Head:    v.request.Method == http.MethodHead && !v.request.FromProxy, // a forward-auth proxy gets the answer with its body
		Details: answer.AsksForDetails(v.request.Header),
	}
	if v.call {
		v.refusal.Call = o.code()
	}
	switch o {
	case unidentified:
		v.refusal.Challenge = v.rules.challenges.String()
	case badCredentials:
		v.refusal.Challenge = v.rules.challenges.after(v.facts.Flaw())
	default:
	}
}

// refuseDenied refuses the request if its key is on the deny list, and reports whether it is.
func (v *visit) refuseDenied(key identity.Key) bool {
	if !v.rules.denied.keys[key.Text] {
		return false
	}
	v.key = key
	v.refuse(forbidden, "requests of this client are denied")
	return true
}

// ErrStopping is the cause with which a server that stops ends the contexts of its requests, once its time to stop is over. Those that
// still wait for a decision, or for their time to begin, are then answered.
var ErrStopping = errors.New("the gateway is stopping")

// cutOff refuses a request whose context has ended before it may begin: its client has gone, or the server stops.
func (v *visit) cutOff(ctx context.Context) {
	if errors.Is(context.Cause(ctx), ErrStopping) {
		v.refuse(stopping, "the gateway is stopping; retry later")
		return
	}
	v.refuse(canceled, "the client has gone")
}
