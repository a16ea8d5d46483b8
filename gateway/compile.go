package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// compile makes the rules of a document. What has not changed since old, which may be nil, is taken over from it.
func (g *Gateway) compile(d *config.Document, old *rules) (r *rules, err error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	r = &rules{
		document: d, maxInFlight: int64(d.Cluster.MaxConcurrent()), maxInFlightPerClient: d.Cluster.MaxConcurrentPerClient(),
		other: g.metrics.route("(none)"), failures: g.metrics.failed(),
		denied:  denials{networks: identity.NewNetworks(d.Deny.Networks)},
		proxies: identity.NewNetworks(d.Identity.TrustedProxies), maxBody: -1,
	}
	if p := d.Proxy; p != nil {
		r.maxBody, r.writeTimeout = p.MaxBodyBytes(), p.UnreadTimeout()
		r.maxRead, r.bodyBounds = p.MaxReadBytes(), bodyBounds{p.BodyMemory(), p.BodyMemoryPerClient()}
		r.bodyPace = bodyPace{pause: p.MaxPause(), rate: p.MinBodyRate()}
	}
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
		r.authProxies = identity.NewNetworks(d.ForwardAuth.Networks())
	}
	if err := g.open(r, old); err != nil {
		r.retire(old) // closes what was opened for these rules
		return nil, err
	}
	return r, nil
}

func (e *exemptions) compile(c *config.Exempt) (err error) {
	e.networks = identity.NewNetworks(c.Networks)
	if e.paths, err = route.NewPaths(c.Paths); err != nil {
		return err
	}
	if c.TokenFile.Given() {
		e.header = c.Header()
		tokens, err := bearer.Parse(c.TokenFile.Bytes())
		if err != nil {
			return err
		}
		e.tokens = bearer.NewSet(tokens...)
	}
	return nil
}

// proxyVariables are the headers that the document reads from trusted proxies only.
func proxyVariables(d *config.Document) []string {
	var names []string
	note := func(v config.Variable) {
		if v.Kind == config.KindProxyHeader {
			names = append(names, http.CanonicalHeaderKey(v.Name))
		}
	}
	noteAll := func(templates []string) {
		for _, text := range templates {
			if parts, err := config.ParseTemplate(text); err == nil { // validated already
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

// open adds to the rules what has to be closed, or needs something that has.
func (g *Gateway) open(r, old *rules) (err error) {
	d := r.document
	if r.upstreams, err = g.openUpstreams(d.Proxy, old); err != nil {
		return err
	}
	if err := g.openGuards(r, old); err != nil {
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

// openUpstreams opens the upstreams. One that has not changed keeps its connections.
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
		u, err := openUpstream(name, c, g.log, g.metrics.downs)
		if err != nil {
			return nil, err
		}
		all[name] = u
	}
	return all, nil
}

func (g *Gateway) compileRoutes(r *rules) (out []routeRules, err error) {
	d := r.document
	out = make([]routeRules, len(d.Routes))
	for i := range d.Routes {
		from := &d.Routes[i]
		to := &out[i]
		*to = routeRules{name: from.Name, answer: r.answer, series: g.metrics.route(from.Name)}
		if from.Answer != nil || from.CORS != nil || from.LLM != nil {
			w, err := answer.New(d.AnswerOf(from), answer.Clock(g.now), answer.Sharing(cmp.Or(from.CORS, d.CORS)))
			if err != nil {
				return nil, fmt.Errorf("routes[%d].%w", i, err)
			}
			to.answer = w
		}
		to.upstream = r.upstreams[d.UpstreamOf(from)]
		to.charging = charging{
			from.Refund, from.ChargeWhen,
			g.metrics.refunds.WithLabelValues(from.Name, "unsent"), g.metrics.refunds.WithLabelValues(from.Name, "answer"),
		}
		if to.llm, err = compileLLM(from, g.meter); err != nil {
			return nil, fmt.Errorf("routes[%d].llm.%w", i, err)
		}
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
	asked := g.cluster(from.Cluster)
	if asked == nil {
		return c, g.noCluster(from.Cluster)
	}
	limitsOf := func(names []string) limits { return g.limitsOf(asked, of.Name, names, from.Shadow) }
	c.limits, c.cost, c.policy = limitsOf(from.Limits), from.Cost, from.OnUnavailable
	c.wait = time.Duration(from.Wait)
	if c.counts, err = compileUnit(of.LLM, from.Unit()); err != nil {
		return c, err
	}
	c.skipUnidentified = from.Unidentified == config.Skip
	c.unknownBodyCost = from.Cost.OfBody(r.maxBody)
	if from.Plan != "" {
		if c.plan, err = r.finder.Compile([]string{from.Plan}); err != nil {
			return c, err
		}
	}
	if from.Choose == nil {
		return c, nil
	}
	if c.by, err = r.finder.Variable(from.Choose.By); err != nil {
		return c, err
	}
	for _, w := range from.Choose.When {
		c.cases = append(c.cases, choiceCase{is: w.Is, below: w.Below, from: w.From, limits: limitsOf(w.Limits)})
	}
	return c, nil
}

// compileUnit makes ready what a check counts; l is nil for a route that leads to no language models.
func compileUnit(l *config.LLM, name string) (u unit, err error) {
	u = unit{name: name, ofModels: name != config.CountsRequests, permits: name == config.CountsStreams}
	if l == nil {
		return u, nil
	}
	if u.weights, err = l.Weighed(name); err != nil || name != config.CountsMoney {
		return u, err
	}
	if l.BudgetStatus() == http.StatusForbidden {
		u.denial = answer.OverBudget
	}
	u.prices, err = l.PriceList()
	return u, err
}

func (g *Gateway) limitsOf(asked *cluster, route string, names []string, shadow bool) limits {
	l := limits{cluster: asked}
	for _, name := range names {
		shown := config.ShownLimit(asked.name, name)
		l.refs, l.shown = append(l.refs, limit.Named(name)), append(l.shown, shown)
		l.series = append(l.series, g.metrics.limit(route, shown, shadow))
	}
	return l
}
