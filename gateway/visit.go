package gateway

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
)

// A visit is one request while the gateway decides about it, and the result. The steps of the decision are in this file in the order in which
// they run, and those of its checks in visitchecks.go:
//
//	run ─┬─ decide ─┬─ ambiguity      might a service read it as another request?   400
//	     │          ├─ findRoute
//	     │          ├─ oversized      is its body longer than the proxy forwards?   413
//	     │          ├─ Contradiction  might it be from another client?              400
//	     │          ├─ preflight      is it one that the gateway answers?           204
//	     │          ├─ lists          exempt, or denied by a list?                  403
//	     │          ├─ credentials    does the document refuse invalid ones?        401
//	     │          ├─ readModelRequest   one to a language model: what it asks for    400, 413, 429, 503
//	     │          ├─ askShadows     checks that deny nothing, in the background
//	     │          └─ check          the checks of the route, in their order:
//	     │             ├─ ask ─ want: key, limits, cost ─ guard ─ apply       429, 503
//	     │             └─ hold           until its tokens are there, where the document says wait
//	     ├─ finish                    metrics, log, trace, memory: result.go
//	     └─ writeAccess               the access log: access.go
//
// The handler then answers the client from the result. A visit belongs to the goroutine of its request.
type visit struct {
	gateway    *Gateway
	rules      *rules
	request    identity.Request
	target     route.Target
	call       bool   // of gRPC, which is refused by a gRPC status
	unreadable string // why the target cannot be read; empty if it can
	facts      identity.Facts
	feedback   feedback                              // that the handler will have
	asking     [config.MaxClusters + 1]time.Duration // how long checks have waited for each cluster

	// The result.
	route   *routeRules // nil for none
	outcome outcome
	refusal answer.Refusal // when the request does not pass
	quotas  []answer.Quota // of the limits of all checks
	earlier int            // of these, how many are of checks before the last one
	source  fallback.Source
	since   time.Time // when the denial came that is known; zero for others
	repeats int64     // how many times the denial before was repeated
	failure error     // why the cluster did not decide
	asked   []string  // limits, as people see them
	open    undecided // of checks that passed without a decision
	access  *access   // its line of the access log; nil for none
	node    string    // that decided
	key     identity.Key
	cost    int64
	mayWait time.Duration       // the last check asked for as much
	taking  limit.Taking[taken] // what the checks took, if it may have to be returned
	begin   time.Time           // when the request may begin, by its checks that wait; zero for at once
	held    time.Duration
	waits   bool // it is counted among the requests that may be held

	body io.ReadCloser // of an HTTP request
	llm  *llmVisit     // what is read of a request to a language model; nil for other requests

	quotaKeys  []identity.Key // of quotas
	quotaSpace [4]answer.Quota
	keySpace   [4]identity.Key
	takenSpace [2]taken
}

// startVisit reuses a visit: allocating one for each request would be a measurable part of its cost. The caller puts it back
// with endVisit.
func (g *Gateway) startVisit(r *rules) *visit {
	v, ok := g.visits.Get().(*visit)
	if !ok {
		v = new(visit)
	}
	*v = visit{gateway: g, rules: r}
	v.quotas, v.quotaKeys, v.taking.Taken = v.quotaSpace[:0], v.keySpace[:0], v.takenSpace[:0]
	return v
}

func (g *Gateway) endVisit(v *visit) { g.visits.Put(v) }

// run decides about the request and publishes the result. The request goes on in the context that is returned, which has the
// span of the decision.
func (v *visit) run(ctx context.Context) context.Context {
	start := v.gateway.now()
	ctx, span := startSpan(ctx, v.gateway.tracer, v.request.Header)
	v.decide(ctx)
	v.finish(ctx, span, start)
	v.writeAccess(ctx, start)
	return ctx
}

// decide finds the outcome. Only the checks wait for anything: for decisions, those of each cluster together for its decide_within at most, and then for
// tokens, as long as the checks say.
func (v *visit) decide(ctx context.Context) {
	v.facts = v.rules.finder.Facts(&v.request)
	if why := v.ambiguity(); why != "" {
		v.refuse(badRequest, why)
		return
	}
	v.findRoute()
	if v.oversized() {
		v.refuse(tooLarge, bodyTooLarge(v.rules.maxBody))
		return
	}
	if why := v.facts.Contradiction(); why != "" {
		v.refuse(badRequest, why)
		return
	}
	if v.preflight() || v.lists() || v.credentials() || !v.readModelRequest(ctx) {
		return
	}
	v.outcome = unlimited
	if v.route != nil {
		v.askShadows(ctx)
		v.check(ctx)
	}
}

// oversized says whether the body is known to be longer than the proxy forwards.
func (v *visit) oversized() bool {
	return v.feedback == deliveryFeedback && v.rules.maxBody >= 0 && v.request.Length > v.rules.maxBody
}

// findRoute finds the route that fits the request best, if any does.
func (v *visit) findRoute() {
	r := &v.request
	at, params := v.rules.table.Find(r.Host, r.Method, r.Path)
	if at >= 0 {
		v.route = &v.rules.routes[at]
		r.Route, r.Params = v.route.name, params
	}
}

// preflight reports whether the gateway itself answers the request as a CORS preflight: a browser asks whether a page of another
// origin may send a request, and the document says which origins may. The route is then that of the announced request. Behind a
// forward-auth proxy the gateway cannot answer with success: there, a preflight is a request like any other.
func (v *visit) preflight() bool {
	r := &v.request
	if r.FromProxy || !answer.IsPreflight(r.Method, r.Header) {
		return false
	}
	var announced *routeRules
	writer := v.rules.answer
	if at, _ := v.rules.table.Find(r.Host, answer.Preflighted(r.Header), r.Path); at >= 0 {
		announced = &v.rules.routes[at]
		writer = announced.answer
	}
	if !writer.Shares() {
		return false
	}
	if v.route = announced; announced != nil {
		r.Route = announced.name
	}
	v.outcome = preflight
	return true
}

// lists applies the lists of exemptions and denials, and reports whether one of them decided.
func (v *visit) lists() bool {
	exempt, denied := &v.rules.exempt, &v.rules.denied
	if exempt.tokens != nil {
		if tokens := v.request.Header[exempt.header]; len(tokens) > 0 && exempt.tokens.Has(tokens[0]) {
			v.outcome = exempted
			return true
		}
	}
	if len(v.rules.document.Deny.Networks)+len(v.rules.document.Exempt.Networks) > 0 {
		client := v.facts.Client()
		switch {
		case denied.networks.Contains(client):
			v.refuse(forbidden, "requests from this network are denied")
			return true
		case exempt.networks.Contains(client):
			v.outcome = exempted
			return true
		}
	}
	if v.rules.keys != nil {
		if key, ok := v.rules.keys.Key(&v.facts); ok && v.refuseDenied(key) {
			return true
		}
	}
	if exempt.paths.Covers(v.request.Path) {
		v.outcome = exempted
		return true
	}
	return false
}

// credentials refuses a request with an invalid token or API key, if the document says so, and reports whether it did.
func (v *visit) credentials() bool {
	if !v.rules.refusesFlaws {
		return false
	}
	flaw := v.facts.Examine()
	if flaw == (identity.Flaw{}) {
		return false
	}
	v.refuse(badCredentials, flaw.String()+": send valid credentials, or none")
	return true
}

// readModelRequest reads the body of a request to a language model. It returns false if the request is refused. A request without a body, by
// a method that needs none, such as a GET of an earlier answer, is no request to the model.
func (v *visit) readModelRequest(ctx context.Context) bool {
	if v.route == nil || v.route.llm == nil || bodiless(v.request.Method) && v.request.Length == 0 {
		return true
	}
	if v.feedback != deliveryFeedback {
		v.refuse(unavailable, "this route leads to a language model: only the proxy of the gateway can count its tokens")
		return false
	}
	room := v.gateway.bodies.room(v.rules.bodyBounds, v.rules.finder.Origin(v.request.Peer, v.request.Header))
	if b, paced := v.body.(*requestBody); paced {
		b.room = room
		if v.route.upstream != nil {
			b.rate = v.route.upstream.config.MinBodyRate(b.rate)
		}
	}
	bound := v.rules.maxRead
	if v.request.Length > 0 {
		bound = min(bound, v.request.Length)
	}
	l, wrong := v.route.llm.read(ctx, v.request.Path, v.request.Header, v.body, bound, room)
	switch {
	case wrong == nil:
		v.llm = l
		return true
	case wrong.outcome == canceled:
		v.cutOff(ctx)
	default:
		v.refuse(wrong.outcome, wrong.detail)
		v.refusal.Param = wrong.param
	}
	return false
}

// lower lowers the maximum of output to what the checks have granted. It returns false if the request is refused: its body has no place
// for the maximum.
func (v *visit) lower() bool {
	l := v.llm
	if l == nil || l.lowered == 0 {
		return true
	}
	if err := l.request.LowerOutput(l.lowered); err != nil {
		v.refuse(badRequest, err.Error())
		return false
	}
	return true
}

// askShadows starts the shadow checks of the route in the background. Their keys are found now: the request may end before they
// run.
func (v *visit) askShadows(ctx context.Context) {
	for i := range v.route.shadows {
		w := v.route.shadows[i].want(&v.request, &v.facts)
		if !w.found || len(w.limits.refs) == 0 {
			continue
		}
		v.gateway.shadows.ask(background(ctx), v.rules, v.route.name, w)
	}
}

// check makes the checks of the route until one refuses the request. Then it returns what the earlier ones took. The order is the
// document's: a check behind the one that refuses takes nothing, so what all clients share stands best behind what each has alone.
func (v *visit) check(ctx context.Context) {
	defer v.taking.End(func(all []taken) { v.gateway.giveBack(ctx, all) })
	defer v.llm.releaseUnless(ctx, v.passes)
	defer v.endWait()
	checks := v.route.checks
	for i := range checks {
		if !v.llm.asks(&checks[i]) {
			continue
		}
		last := i == len(checks)-1
		if v.ask(ctx, &checks[i], last); !v.outcome.passes() {
			return
		}
	}
	if !v.lower() {
		return
	}
	if !v.hold(ctx) {
		v.cutOff(ctx)
		return
	}
	v.taking.Keep()
}

// ask makes one check. Receipts are asked for if what it takes may have to be returned: when a later check denies, or, after the
// last one, by the answer.
func (v *visit) ask(ctx context.Context, c *check, last bool) {
	w := c.want(&v.request, &v.facts)
	if w.found && v.refuseDenied(w.key) {
		return
	}
	switch {
	case len(w.limits.refs) == 0:
		return
	case !w.found && c.skipUnidentified:
		return
	case !w.found:
		v.refuse(unidentified, "no credentials identify this client")
		return
	}
	request := w.request()
	if c.counts.ofModels {
		v.llm.ask(c, &request)
	} else {
		request.Wait = v.askWait(c)
		request.Receipt = !last || request.Wait > 0 || v.returnable()
	}
	v.key, v.cost = w.key, request.Cost
	at, since := w.limits.cluster.at, time.Now()
	guard := v.rules.guards[at]
	verdict := guard.CheckBy(ctx, request, c.policy, since.Add(guard.Within()-v.asking[at]))
	v.asking[at] += time.Since(since)
	v.apply(ctx, &verdict, c, &request, w.limits)
}

// charge is what the request, which has passed, may have to give back.
func (v *visit) charge() charge {
	if len(v.taking.Taken) == 0 || v.feedback != deliveryFeedback && !v.route.charging.byAnswer() {
		return charge{}
	}
	return charge{v.gateway, v.route, slices.Clone(v.taking.Taken)} // another request reuses the visit soon
}

// background is ctx without its end, for work that outlives the request.
func background(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
