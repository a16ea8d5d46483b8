package main

import (
	"math/rand/v2"
)

// A result is what came of a scenario under a policy.
type result struct {
	scenario  *scenario
	policy    *policy
	classes   [nClass]tally
	all       tally
	distant   tally
	overshoot float64 // tokens beyond the limit, of the key and window with the most
	bound     float64 // of that key; of several with none, the greatest
	beyond    float64 // tokens beyond what is promised, of the key and window with the most
	reserved  float64 // reservations that owners made
	busiest   float64 // messages a second to the owner of the key with the most
	keys      int     // that were simulated
	checked   int     // events that were checks, or batches of them
	seconds   float64 // that count, of all hours
}

// run runs a scenario under a policy. The same settings give the same result.
func run(s settings, sc *scenario, by *policy) *result {
	r := &result{scenario: sc, policy: by}
	s.scale *= sc.part
	for _, hour := range sc.hours {
		random := rand.New(rand.NewPCG(s.seed, uint64(hour)))
		p := planOf(&s, sc, hour, random)
		r.seconds += p.counting()
		for _, key := range sc.subjects(&s, hour, random) {
			w := newWorld(p, key, by)
			w.run(w.end)
			r.add(w)
		}
	}
	return r
}

// planOf is the plan of an hour of a scenario.
func planOf(s *settings, sc *scenario, hour float64, random *rand.Rand) *plan {
	seconds := sc.seconds
	if s.seconds > 0 {
		seconds = s.seconds
	}
	p := &plan{seed: s.seed, hour: hour, length: int64(seconds * 1e9), clocks: 2e6}
	p.warm = min(10*second, p.length/4)
	if sc.change != nil {
		sc.change(p, random)
	}
	return p
}

// add takes in what a world has counted, as often as its key stands for others.
func (r *result) add(w *world) {
	messages := 0.0
	for i := range w.tallies {
		messages += w.tallies[i].messages
		r.classes[i].add(&w.tallies[i], w.subject.weight)
		r.all.add(&w.tallies[i], w.subject.weight)
	}
	r.distant.add(&w.distant, w.subject.weight)
	over := w.judge.overshoot()
	r.beyond = max(r.beyond, w.beyond(over))
	if bound := w.bound(); over > r.overshoot || over == r.overshoot && bound > r.bound {
		r.overshoot, r.bound = over, bound
	}
	r.reserved += w.home.reserved * w.subject.weight
	r.busiest = max(r.busiest, messages/w.plan.counting())
	r.keys++
	r.checked += w.checked
}

// busy is what edges have counted that a key comes to more than 20 times a second.
func (r *result) busy() *tally {
	t := r.classes[many]
	t.add(&r.classes[most], 1)
	return &t
}
