package gateway

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
)

// A visit is one request while it is being decided, and what became of it.
type visit struct {
	gateway *Gateway
	rules   *rules
	request identity.Request
	target  route.Target
	call    bool   // of gRPC, which is refused by a status of gRPC
	unread  string // why the target cannot be read; empty if it can
	facts   identity.Facts
	sight   sight // of the face that the request came to

	route   *routeRules // nil for none
	outcome outcome
	refusal answer.Refusal // when the request does not pass
	quotas  []answer.Quota // what the limits said, of all checks
	source  fallback.Source
	failure error // why the cluster did not decide
	asked   []limit.Ref
	node    string // that decided
	key     identity.Key
	cost    int64
	taken   []taken // what checks of the request have taken, as far as it may have to be given back

	deadline time.Time // of all checks together; set by the first one

	roomForQuotas [4]answer.Quota
	roomForTaken  [2]taken
}

// taken is what one check has taken, to be given back when a later one denies, or when the answer costs nothing.
type taken struct {
	key      string
	receipts []limit.Receipt
}

// visits are kept for use again: at some thousand requests a second, making them would be a part of the cost.
type visits struct{ pool sync.Pool }

func (p *visits) take(g *Gateway, r *rules) *visit {
	v, ok := p.pool.Get().(*visit)
	if !ok {
		v = new(visit)
	}
	*v = visit{gateway: g, rules: r}
	v.quotas, v.taken = v.roomForQuotas[:0], v.roomForTaken[:0]
	return v
}

func (p *visits) put(v *visit) { p.pool.Put(v) }

// passes says whether the request goes on.
func (v *visit) passes() bool { return v.outcome.passes() }

// writer is who tells the client.
func (v *visit) writer() *answer.Writer {
	if v.route != nil {
		return v.route.answer
	}
	return v.rules.answer
}

// decide finds out what becomes of the request. What it spends time on is bounded.
func (v *visit) decide(ctx context.Context) {
	r := &v.request
	v.facts = v.rules.finder.Facts(r)
	if why := v.unclear(); why != "" {
		v.refuse(badRequest, why)
		return
	}
	at, params := v.rules.table.Find(r.Host, r.Method, r.Path)
	if at >= 0 {
		v.route = &v.rules.routes[at]
		r.Route, r.Params = v.route.name, params
	}
	if why := v.facts.Contradiction(); why != "" {
		v.refuse(badRequest, why)
		return
	}
	if v.isPreflight() {
		v.outcome = preflight
		return
	}
	if v.listed() {
		return
	}
	if v.rules.refusesFlaws {
		if flaw := v.facts.Examine(); flaw != (identity.Flaw{}) {
			v.refuse(unproved, flaw.String()+": send one that counts, or none")
			return
		}
	}
	if v.route == nil {
		v.outcome = unlimited
		return
	}
	if len(v.route.shadows) > 0 {
		v.askShadows(ctx)
	}
	v.outcome = unlimited
	for i := range v.route.checks {
		if v.ask(ctx, &v.route.checks[i], i < len(v.route.checks)-1); !v.passes() {
			v.giveBack(ctx)
			return
		}
	}
}

// listed settles what lists do, and says whether they have.
func (v *visit) listed() bool {
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
			v.refuse(forbidden, "requests from this network are not let through")
			return true
		case exempt.networks.Contains(client):
			v.outcome = exempted
			return true
		}
	}
	if v.rules.keys != nil {
		if key, ok := v.rules.keys.Key(&v.facts); ok && denied.keys[key.Text] {
			v.key = key
			v.refuse(forbidden, "this client is not let through")
			return true
		}
	}
	if exempt.paths.Covers(v.request.Path) {
		v.outcome = exempted
		return true
	}
	return false
}

// ask asks what one check asks; more says that others follow.
func (v *visit) ask(ctx context.Context, c *check, more bool) {
	w := c.want(&v.request, &v.facts)
	if w.found && v.rules.denied.keys[w.key.Text] {
		v.key = w.key
		v.refuse(forbidden, "this client is not let through")
		return
	}
	switch {
	case len(w.limits.refs) == 0:
		return
	case !w.found && c.skips:
		return
	case !w.found:
		v.refuse(nobody, "it is not known who is asking: send what this service knows its clients by")
		return
	}
	v.key, v.cost = w.key, w.cost
	request := w.request()
	request.Receipt = more || v.returnable()
	if v.deadline.IsZero() {
		v.deadline = v.rules.guard.Deadline()
	}
	verdict := v.rules.guard.CheckBy(ctx, request, c.policy, v.deadline)
	v.hear(&verdict, request.Key, w.limits)
}

// A want is what one check of a request asks for.
type want struct {
	limits *limits // none: nothing is asked
	key    identity.Key
	found  bool // somebody to be counted
	cost   int64
}

func (c *check) want(r *identity.Request, facts *identity.Facts) want {
	w := want{limits: c.choose(facts), cost: c.costOf(r)}
	w.key, w.found = c.keys.Key(facts)
	return w
}

func (w *want) request() limit.Request {
	return limit.Request{Key: w.key.Text, Limits: w.limits.refs, Cost: w.cost}
}

// choose finds the limits that count.
func (c *check) choose(facts *identity.Facts) *limits {
	if len(c.cases) == 0 {
		return &c.limits
	}
	value, ok := c.by.Value(facts)
	if !ok {
		return &c.limits
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		number = math.NaN()
	}
	for i := range c.cases {
		if c.cases[i].fits(value, number) {
			return &c.cases[i].limits
		}
	}
	return &c.limits
}

// fits says whether the case is that of a value, which is that number, or NaN, which is less than nothing and from nothing
// on.
func (c *choice) fits(value string, number float64) bool {
	switch {
	case c.below != nil:
		return number < *c.below
	case c.from != nil:
		return number >= *c.from
	}
	return value == c.is
}

// costOf is how many tokens a request takes.
func (c *check) costOf(r *identity.Request) int64 {
	switch {
	case c.cost.Header != "":
		if n, ok := dearest(r.Header.Values(c.cost.Header)); ok {
			return c.cost.Bound(n)
		}
	case c.cost.BytesPerToken > 0 && r.Length < 0:
		return c.most
	case c.cost.BytesPerToken > 0:
		return c.cost.OfBody(r.Length)
	}
	return c.cost.Fixed()
}

// dearest is the greatest number among values; ok is false when there is none. One that is too great or too small for 64 bits
// is the greatest or the least that there is.
func dearest(values []string) (most int64, ok bool) {
	for _, value := range values {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			continue
		}
		if !ok || n > most {
			most, ok = n, true
		}
	}
	return most, ok
}

// hear takes in what became of one check.
func (v *visit) hear(d *fallback.Verdict, key string, l *limits) {
	v.source, v.failure, v.node = d.Source, d.Err, d.Node
	v.asked = l.refs
	doc := v.gateway.limits()
	for _, o := range d.Limits {
		q := answer.Quota{Outcome: o}
		if doc != nil && d.Source == fallback.ByCluster { // what a local bucket holds is a part of the rule's
			q.Rule, _ = doc.Rule(o.Name)
		}
		v.quotas = append(v.quotas, q)
	}
	l.count(d.Decision)
	switch {
	case d.Source == fallback.ByAllow:
		v.outcome = unasked
	case d.Source == fallback.ByDeny && errors.Is(d.Err, context.Canceled):
		v.refuse(canceled, "the client has gone")
	case d.Source == fallback.ByDeny:
		v.refuse(unavailable, "it cannot be found out at present whether this request is within its limits: try again in a moment")
	case !d.Allowed:
		v.refuse(denied, exceeded(d.Decision))
	default:
		if v.outcome != unasked {
			v.outcome = admitted
		}
		if len(d.Receipts) > 0 {
			v.taken = append(v.taken, taken{key, d.Receipts})
		}
	}
}

// exceeded is what a denial says for people.
func exceeded(d limit.Decision) string {
	for _, o := range d.Limits {
		switch {
		case o.Never:
			return "this request costs more than the limit " + o.Name + " can ever hold"
		case !o.Allowed:
			return "too many requests: the limit " + o.Name + " is used up"
		}
	}
	return "too many requests"
}

// refuse ends the visit: the request does not pass.
func (v *visit) refuse(o outcome, detail string) {
	v.outcome = o
	v.refusal = answer.Refusal{
		Kind: o.kind(), Detail: detail, Route: v.request.Route,
		Head: v.request.Method == http.MethodHead && !v.request.FromProxy, // a proxy that asks wants the answer whole
	}
	if v.call {
		v.refusal.Call = o.code()
	}
	switch o {
	case nobody:
		v.refusal.Challenge = v.rules.challenges.String()
	case unproved:
		v.refusal.Challenge = v.rules.challenges.after(v.facts.Flaw())
	default:
	}
}

// giveBack returns what earlier checks of a request that is refused have taken.
func (v *visit) giveBack(ctx context.Context) {
	for _, t := range v.taken {
		v.rules.guard.Return(background(ctx), t.key, t.receipts)
	}
	if v.outcome == denied {
		v.refusal.Quotas = v.quotas
	}
}
