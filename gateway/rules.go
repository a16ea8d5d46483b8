package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
)

// rules are a document made ready. They never change: another document makes other rules.
type rules struct {
	document     *config.Document
	mostInFlight int64
	mostOfClient int // in flight
	table        *route.Table
	finder       *identity.Finder
	guard        *fallback.Guard
	guardMetrics *prometheus.Registry // its own: another document may make another guard
	routes       []routeRules
	other        *routeSeries // requests that meet no route
	failures     *failureSeries
	secrets      []string            // headers that are for the gateway alone
	ofProxies    []string            // headers that only trusted proxies may set
	keys         *identity.Templates // of the document; nil where no key is denied
	exempt       exemptions
	denied       denials
	answer       *answer.Writer // where no route says otherwise
	upstreams    map[string]*upstream
	longestBody  int64              // that the proxy passes on; -1 for any
	patience     patience           // with clients that send one
	unread       time.Duration      // that an answer may stay so
	askers       *identity.Networks // who may ask the forward-auth face
	proxies      *identity.Networks // whose word on where a request comes from counts
	challenges   challenges         // of a 401
	refusesFlaws bool               // what shows a token or API key that does not count
}

// routeRules are one route made ready.
type routeRules struct {
	name     string
	checks   []check // that count, in their order
	shadows  []check
	answer   *answer.Writer
	upstream *upstream // nil for none
	charging charging
	series   *routeSeries
}

// A check is one key with its limits, made ready.
type check struct {
	keys   *identity.Templates
	limits limits // if no case fits
	by     identity.Variable
	cases  []choice
	cost   config.Cost
	most   int64 // that a body of unknown length costs
	skips  bool  // when nobody is found
	policy limit.Policy
}

// limits are those of one check, with the series that count what they say.
type limits struct {
	refs   []limit.Ref
	series []*limitSeries
}

// A choice is a case made ready.
type choice struct {
	is          string
	below, from *float64
	limits      limits
}

// exemptions are who is never limited.
type exemptions struct {
	header   string // canonical; empty when there are no tokens
	tokens   *identity.Tokens
	paths    *route.Paths
	networks *identity.Networks
}

// denials are who is never let through.
type denials struct {
	networks *identity.Networks
	keys     map[string]bool // nil for none
}

// compile makes a document ready. What it says as before is kept from old, which may be nil.
func (g *Gateway) compile(d *config.Document, old *rules) (r *rules, err error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	r = &rules{
		document: d, mostInFlight: int64(d.Cluster.MostInFlight()), mostOfClient: d.Cluster.MostInFlightPerClient(), other: g.metrics.route("(none)"), failures: g.metrics.failed(),
		denied: denials{networks: identity.NewNetworks(d.Deny.Networks)}, proxies: identity.NewNetworks(d.Identity.TrustedProxies),
	}
	r.longestBody, r.patience, r.unread = bodies(d.Proxy)
	if r.table, err = route.New(d.Routes); err != nil {
		return nil, err
	}
	if r.answer, err = answer.New(d.Answer, answer.Clock(g.now), answer.Sharing(d.CORS)); err != nil {
		return nil, err
	}
	if err := r.exempt.compile(&d.Exempt); err != nil {
		return nil, err
	}
	r.ofProxies = append(proxyVariables(d), http.CanonicalHeaderKey(d.Identity.Header()))
	r.challenges = newChallenges(&d.Identity)
	r.refusesFlaws = d.Identity.OnBadCredentials == config.Refuse
	r.secrets = []string{denialHeader, decisionHeader}
	if r.exempt.tokens != nil {
		r.secrets = append(r.secrets, r.exempt.header)
	}
	for _, key := range d.Deny.Keys {
		if r.denied.keys == nil {
			r.denied.keys = map[string]bool{}
		}
		r.denied.keys[key] = true
	}
	if d.ForwardAuth != nil {
		r.askers = identity.NewNetworks(d.ForwardAuth.Networks())
	}
	if err := g.compileRunning(r, old); err != nil {
		r.retire(old) // what was opened for rules that are not put in force
		return nil, err
	}
	return r, nil
}

// compileRunning makes ready what has something to close.
func (g *Gateway) compileRunning(r, old *rules) (err error) {
	d := r.document
	if r.upstreams, err = g.openUpstreams(d.Proxy, old); err != nil {
		return err
	}
	if r.guard, r.guardMetrics, err = g.newGuard(d.Cluster, old); err != nil {
		return err
	}
	var before *identity.Finder
	if old != nil {
		before = old.finder
	}
	r.finder, err = identity.New(identity.Config{
		Identity: d.Identity, Logger: g.log, Registerer: g.registerer, Now: g.now, Before: before,
	})
	if err != nil {
		return err
	}
	if r.denied.keys != nil {
		if r.keys, err = r.finder.Compile(d.Identity.Templates()); err != nil {
			return err
		}
	}
	r.routes, err = g.compileRoutes(r)
	return err
}

// proxyVariables are the headers that the document takes from trusted proxies only.
func proxyVariables(d *config.Document) []string {
	var names []string
	note := func(v config.Variable) {
		if v.Kind == config.KindProxyHeader {
			names = append(names, http.CanonicalHeaderKey(v.Name))
		}
	}
	noteAll := func(templates []string) {
		for _, text := range templates {
			if parts, err := config.ParseTemplate(text); err == nil { // wrong ones are found elsewhere
				for _, p := range parts {
					note(p.Variable)
				}
			}
		}
	}
	noteAll(d.Identity.Key)
	for _, r := range d.Routes {
		for _, c := range r.Checks {
			noteAll(c.Key)
			if c.Choose != nil {
				if v, err := config.ParseVariable(c.Choose.By); err == nil {
					note(v)
				}
			}
		}
	}
	return names
}

// retire closes what next does not use any more; nil is what does not use anything. Nil rules have nothing.
func (r *rules) retire(next *rules) {
	if r == nil {
		return
	}
	if r.finder != nil {
		r.finder.Close()
	}
	if r.guard != nil && (next == nil || next.guard != r.guard) {
		r.guard.Close()
	}
	for name, u := range r.upstreams {
		if next == nil || next.upstreams[name] != u {
			u.close()
		}
	}
}

func (e *exemptions) compile(c *config.Exempt) (err error) {
	e.networks = identity.NewNetworks(c.Networks)
	if e.paths, err = route.NewPaths(c.Paths); err != nil {
		return err
	}
	if c.TokenFile.Given() {
		e.header = c.Header()
		e.tokens, err = identity.NewTokens(c.TokenFile.Bytes(), config.LeastToken)
	}
	return err
}

func (g *Gateway) compileRoutes(r *rules) ([]routeRules, error) {
	d := r.document
	out := make([]routeRules, len(d.Routes))
	for i := range d.Routes {
		from := &d.Routes[i]
		to := &out[i]
		*to = routeRules{name: from.Name, answer: r.answer, series: g.metrics.route(from.Name)}
		if from.Answer != nil || from.CORS != nil {
			w, err := answer.New(*cmp.Or(from.Answer, &d.Answer), answer.Clock(g.now), answer.Sharing(cmp.Or(from.CORS, d.CORS)))
			if err != nil {
				return nil, fmt.Errorf("routes[%d].%w", i, err)
			}
			to.answer = w
		}
		to.upstream = r.upstreams[d.UpstreamOf(from)]
		to.charging = g.metrics.charging(from)
		for j := range from.Checks {
			c, err := g.compileCheck(r, from, &from.Checks[j])
			switch {
			case err != nil:
				return nil, fmt.Errorf("routes[%d].checks[%d].%w", i, j, err)
			case from.Checks[j].Shadow:
				to.shadows = append(to.shadows, c)
			default:
				to.checks = append(to.checks, c)
			}
		}
	}
	return out, nil
}

func (g *Gateway) compileCheck(r *rules, of *config.Route, from *config.Check) (c check, err error) {
	if c.keys, err = r.finder.Compile(from.Templates(r.document.Identity)); err != nil {
		return c, err
	}
	series := func(names []string) limits { return g.limitsOf(of.Name, names, from.Shadow) }
	c.limits, c.cost, c.policy = series(from.Limits), from.Cost, from.OnUnavailable
	c.skips = from.Nobody == config.Skip
	c.most = from.Cost.OfBody(r.longestBody)
	if from.Choose == nil {
		return c, nil
	}
	if c.by, err = r.finder.Variable(from.Choose.By); err != nil {
		return c, err
	}
	for _, w := range from.Choose.When {
		c.cases = append(c.cases, choice{is: w.Is, below: w.Below, from: w.From, limits: series(w.Limits)})
	}
	return c, nil
}

// bodies are the bounds of what the proxy passes on. Without a proxy nothing is.
func bodies(p *config.Proxy) (longest int64, with patience, unread time.Duration) {
	if p == nil {
		return -1, patience{}, 0
	}
	return p.LongestBody(), patience{pause: p.LongestPause(), rate: p.LeastBodyRate()}, p.UnreadTimeout()
}

func (g *Gateway) limitsOf(route string, names []string, shadow bool) limits {
	var l limits
	for _, name := range names {
		l.refs = append(l.refs, limit.Named(name))
		l.series = append(l.series, g.metrics.limit(route, name, shadow))
	}
	return l
}

// openUpstreams makes the upstreams ready. One that is the same as before keeps its connections.
func (g *Gateway) openUpstreams(p *config.Proxy, old *rules) (map[string]*upstream, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	all := make(map[string]*upstream, len(p.Upstreams))
	for name, c := range p.Upstreams {
		if old != nil && old.upstreams[name] != nil && reflect.DeepEqual(old.upstreams[name].config, c) {
			all[name] = old.upstreams[name]
			continue
		}
		u, err := g.openUpstream(name, c)
		if err != nil {
			return nil, err
		}
		all[name] = u
	}
	return all, nil
}
