package main

import (
	"math/rand/v2"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// tidyEvery is how often an edge looks for surplus and for reports of a key, as package edge does.
const tidyEvery = second

// A world is one key: its owner, the replicas of its bucket, and the edges that it comes to. Keys have nothing in common that decides, so each is simulated by itself.
type world struct {
	timeline
	end     int64
	plan    *plan
	subject *subject
	rule    *limit.Rule
	policy  *policy
	// edgeRule is the rule by which edges decide: the limit's, or their part of it.
	edgeRule *limit.Rule
	random   *rand.Rand // of what is not traffic
	sizes    sizes
	home     *home
	sites    []*site
	judge    judge         // of what was admitted
	arrived  arrivals      // at all edges
	slowest  int64         // message so far
	ideal    judge         // of what a central bucket at no distance would have admitted
	tallies  [nClass]tally // by class of the edge
	distant  tally         // of edges at about 100 ms from the owner that a key comes to more than 20 times a second
	checked  int           // events that were checks, or batches
}

// A site is an edge as far as it concerns the key.
type site struct {
	place
	*tally
	distant bool
	id      int   // of the edge
	region  int   // which is nearest
	way     int64 // to the owner, without jitter
	off     int64 // of its clock
	life    int   // it was replaced so often
	random  *rand.Rand
	share   lease.Holding // what it keeps of the bucket; nil for nothing
	waiting []check       // for the answer to its ask
	own     judge         // of what it admitted, against the limit by which it decides
	lost    int64         // tokens that died with it
	failed  int64         // the most that was in a report without an answer
	again   func()        // traffic
	single  func()        // a check comes, and then traffic
}

// tag tells the edge, in this life, from all others.
func (s *site) tag() uint64 { return uint64(s.life*edges + s.id + 1) }

// A check is one, or a batch of them, that is decided as one of that cost.
type check struct {
	at, cost int64
	life     int // of the edge that it came to
}

// A policy is what decides checks: a consistency of limits.
type policy struct {
	name        string
	consistency limit.Consistency
	share       limit.Share // of a limit that is local
	// bounded says that no window may have more than the limit.
	bounded bool
	// decide decides a check that comes to an edge: it ends with spent, decided or failed of the world, now or later.
	decide func(*world, *site, check)
}

// newWorld is the world of a key.
func newWorld(p *plan, s *subject, by *policy) *world {
	w := &world{
		timeline: timeline{now: epoch}, end: epoch + p.length, plan: p, subject: s, policy: by, random: rand.New(rand.NewPCG(p.seed, uint64(s.rank))),
	}
	w.rule = s.rule(by.consistency, by.share)
	w.edgeRule = w.rule
	if by.share == limit.Divided {
		w.edgeRule = w.rule.Part(edges)
	}
	w.sizes = sizesOf(s.rank, w.rule, epoch)
	e := w.rule.Envelope()
	w.judge = judge{capacity: w.rule.Capacity, refill: e.Refill.Tokens, per: int64(e.Refill.Per), off: p.clocks}
	w.ideal = w.judge
	w.ideal.forgets = true
	region := 0
	if !p.leader {
		region = nearest(&cities[s.places[0].city])
	}
	w.home = newHome(&w.timeline, p, region, w.rule, &w.judge, w.random)
	for i := range s.places {
		w.sites = append(w.sites, w.newSite(&s.places[i]))
	}
	for _, d := range p.deaths {
		for _, s := range w.sites {
			if s.id == d.edge {
				w.push(d.at, func() { w.kill(s) })
			}
		}
	}
	return w
}

func (w *world) newSite(at *place) *site {
	c := &cities[at.city]
	s := &site{place: *at, id: at.city*edgesInCity + at.edge, region: nearest(c), way: oneWay(c, &regions[w.home.region])}
	s.random = rand.New(rand.NewPCG(w.plan.seed+uint64(w.subject.rank), uint64(s.id)))
	s.off = w.plan.clockOf(uint64(s.id))
	e := w.edgeRule.Envelope()
	s.own = judge{capacity: e.Burst, refill: e.Refill.Tokens, per: int64(e.Refill.Per), off: w.plan.clocks, forgets: true}
	rate := at.rate + at.surge
	s.tally = &w.tallies[classOf(rate)]
	s.distant = rate >= 20 && s.way >= 40e6 && s.way <= 60e6
	s.again = func() { w.traffic(s) }
	s.single = func() {
		w.arrive(s, 1)
		w.traffic(s)
	}
	w.push(w.now+s.random.Int64N(step), s.again)
	return s
}

// clock is what an edge's clock shows.
func (w *world) clock(s *site) int64 { return w.now + s.off }

// traffic lets checks come to an edge, and comes again.
func (w *world) traffic(s *site) {
	rate := s.rate + s.surge*w.plan.surge(w.now)
	if rate*float64(step) > 1e9 {
		if n := poisson(rate*float64(step)/1e9, s.random); n > 0 {
			w.arrive(s, n)
		}
		w.push(w.now+step, s.again)
		return
	}
	const most = second / 10 // the rate may change: draw again
	next := most
	if rate > 0 {
		next = int64(min(s.random.ExpFloat64()*1e9/rate, 2*float64(most)))
	}
	if next >= most {
		w.push(w.now+most, s.again)
		return
	}
	w.push(w.now+next, s.single)
}

func (w *world) arrive(s *site, cost int64) {
	w.checked++
	w.arrived.add(w.now, cost)
	if due := w.ideal.fit(w.now, cost); due > 0 {
		w.ideal.admit(w.now, due)
		if w.counted(w.now) {
			w.each(s, func(t *tally) { t.due += float64(due) })
		}
	}
	w.policy.decide(w, s, check{w.now, cost, s.life})
}

// each calls f for the tallies in which what concerns an edge counts.
func (w *world) each(s *site, f func(t *tally)) {
	f(s.tally)
	if s.distant {
		f(&w.distant)
	}
}

// counted says whether what happens at a time counts in figures.
func (w *world) counted(at int64) bool { return w.plan.counted(at) }

// decided counts what the owner has decided of a check, or a batch.
func (w *world) decided(s *site, c check, admitted int64, wrongly bool) {
	denied := float64(c.cost - admitted)
	w.count(s, c, func(t *tally) {
		t.admitted += float64(admitted)
		t.denied += denied
		if wrongly {
			t.wrongly += denied
		}
		t.took(w.now-c.at, float64(c.cost))
	})
}

// spent counts a check that was admitted at an edge.
func (w *world) spent(s *site, c check) {
	w.judge.admit(w.now, c.cost)
	s.own.admit(w.now, c.cost)
	w.count(s, c, func(t *tally) {
		t.here += float64(c.cost)
		t.admitted += float64(c.cost)
		t.took(w.now-c.at, float64(c.cost))
	})
}

// denied counts a check that was denied at an edge.
func (w *world) denied(s *site, c check) {
	wrongly := w.judge.wouldAdmit(w.now, 1)
	w.decided(s, c, 0, wrongly)
	w.count(s, c, func(t *tally) {
		t.checks -= float64(c.cost) // decided has counted it
		t.here += float64(c.cost)
	})
}

// failed counts a check without a decision.
func (w *world) failed(s *site, c check) {
	w.count(s, c, func(t *tally) { t.failed += float64(c.cost) })
}

// count calls f for the tallies in which a check counts.
func (w *world) count(s *site, c check, f func(t *tally)) {
	if w.counted(c.at) {
		w.each(s, func(t *tally) {
			t.checks += float64(c.cost)
			f(t)
		})
	}
}

// sent counts messages from an edge, with their answers.
func (w *world) sent(s *site, n, bytes float64) {
	if w.counted(w.now) {
		w.each(s, func(t *tally) { t.messages, t.bytes = t.messages+n, t.bytes+n*bytes })
	}
}

// kill ends an edge, and another one takes its place. What it held, and who waited there, has bad luck.
func (w *world) kill(s *site) {
	for _, c := range s.waiting {
		w.failed(s, c)
	}
	s.loses()
	s.life++
	s.share, s.waiting = nil, nil
}

// loses notes what dies with an edge.
func (s *site) loses() {
	if of, ok := s.share.(*lease.Counted); ok {
		for _, ask := range of.Flush(0) {
			s.lost += ask.Tokens
		}
	}
	s.own.level = 0 // the next one begins with a full bucket
}

// travel brings a message over the way between an edge and the owner. If there is none now, lost happens when whoever waits for it gives up.
func (w *world) travel(s *site, gives int64, arrives, lost func()) {
	if w.plan.cutAt(w.now) && (s.region == w.plan.cutRegion) != (w.home.region == w.plan.cutRegion) {
		w.push(max(gives, w.now), lost)
		return
	}
	way := int64(float64(s.way) * (1 + jitter*w.random.ExpFloat64()))
	w.slowest = max(w.slowest, way)
	w.push(w.now+way, arrives)
}
