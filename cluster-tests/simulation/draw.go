package simulation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// draw makes the scenario of a seed. How much goes wrong is drawn for each kind of failure by itself, from nothing over a
// little to very much: where everything fails all the time, the rare orders of events never come about.
func draw(seed uint64, duration int64) *scenario {
	d := throw(seed, forScenario)
	s := &scenario{seed: seed, duration: duration}
	if duration == 0 {
		s.duration = d.spread(10*minute, 2*hour)
		if d.percent(10) {
			s.duration = d.spread(2*hour, 8*hour)
		}
	}
	s.exact = d.percent(8)
	s.founders = pick(&d, 1, 3, 3, 3, 3, 4, 5)
	s.wanted = pick(&d, 3, 3, 3, 5)
	s.partitions = pick(&d, 1, 2, 3, 4)
	s.grain = pick(&d, int64(1), 1, ms, 40*ms, 100*ms)
	mode := d.below(10) // of keeping registers: on disk, mixed, in memory
	wide := pick(&d, int64(0), ms, 30*ms)
	if s.grain == 100*ms {
		wide = 0 // or some would be taken for wrong
	}
	for range maxSlots {
		s.memory = append(s.memory, mode < 3 && d.percent(50) || mode >= 7)
		s.homes = append(s.homes, d.between(-wide, wide))
	}
	s.epsilon = wide + s.grain
	if !s.exact {
		s.rates = drawRates(&d)
		s.stale = level(&d, 5, 40)
	}
	s.drawTheme(&d)
	if s.theme == nervous {
		s.grain = 100 * ms
		s.founders, s.memory, s.homes = 3, make([]bool, maxSlots), make([]int64, maxSlots)
		s.epsilon = s.grain
	}
	if s.theme == queueing {
		s.grain, s.homes, s.epsilon = 1, make([]int64, maxSlots), 1
	}
	if s.theme == stranding {
		s.stale = 40
	}
	s.drawLimits(&d)
	s.drawKeys(&d)
	s.drawMix()
	s.drawKinds()
	p := &planner{scenario: s, die: &d}
	p.calls()
	if !s.exact {
		p.faults()
	}
	p.kinds()
	slices.SortStableFunc(s.items, func(a, b item) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	return s
}

// drawKinds draws what limits are of each kind, and [planner.kinds] what is asked of them.
func (s *scenario) drawKinds() {
	s.keepWindows()
	s.drawCounting()
	s.drawHolding()
	s.drawWaits()
	s.drawLeasing()
	s.drawPlans()
	s.drawDefined()
}

func (p *planner) kinds() {
	for _, i := range p.items {
		if i.kind == rules {
			p.changes = append(p.changes, i)
		}
	}
	p.counts()
	p.queues()
	p.waits()
	p.holds()
	p.plans()
	p.leases()
	p.definitions()
}

func (s *scenario) drawTheme(d *die) {
	s.theme = min(theme(d.below(10)), plainly)
	if ruin := throw(s.seed, forRuin, 1); s.theme == plainly && ruin.percent(30) {
		s.theme = ruinous
	}
	if queue := throw(s.seed, forWaiting, 2); s.theme == plainly && queue.percent(30) {
		s.theme = queueing
	}
	if s.exact {
		s.theme = plainly
	}
}

// drawMix draws what came into the mix later. It has a die of its own, so that all else is as it was.
func (s *scenario) drawMix() {
	d := throw(s.seed, forMix)
	if s.exact {
		return
	}
	s.rates.late = pick(&d, int64(0), 0, 10_000)
	if d.percent(15) || s.theme == crowded {
		s.drawInvented(&d)
	}
	switch s.theme {
	case contending:
		for l := range s.limits {
			for i, r := range s.limits[l].rules {
				s.limits[l].rules[i] = newRule(r.Name, d.between(100, 1000), d.between(500, 2000), second)
			}
		}
	case tardy:
		s.drawTardy(&d)
	case queueing:
		s.drawQueues(&d)
	case erring:
		s.founders = int(d.between(3, 4))
	default:
	}
}

// keepWindows gives all versions of a limit the windows of its first one, and so one register: others would begin a fresh bucket.
func (s *scenario) keepWindows() {
	for _, l := range s.limits {
		for i, r := range l.rules {
			changed := r.Limit
			changed.Window = l.rules[0].Limit.Window
			l.rules[i] = mustRule(changed)
		}
	}
}

// drawTardy makes everything but late answers, and the floors of one replica, go right.
func (s *scenario) drawTardy(d *die) {
	s.founders, s.wanted, s.stale = 3, 3, 0
	s.memory = make([]bool, maxSlots)
	s.memory[d.below(3)] = true
	s.rates = rates{late: 10_000}
	for l := range s.limits { // slow ones: what is burned does not come back at once
		for i, r := range s.limits[l].rules {
			capacity := max(r.Capacity, 20)
			s.limits[l].rules[i] = newRule(r.Name, capacity, 1, d.between(minute, 15*minute)/capacity)
		}
	}
}

// drawInvented adds keys for which only a flood asks.
func (s *scenario) drawInvented(d *die) {
	s.invented, s.room = int(d.between(20, 120)), int(d.between(3, 20))
	for i := range s.invented {
		k := key{name: fmt.Sprintf("invented-%d", i), bare: d.percent(8)}
		k.partition = ring.PartitionOf(ring.Hash(k.name), s.partitions)
		s.keys = append(s.keys, k)
	}
}

func drawRates(d *die) rates {
	return rates{
		loss: level(d, 500, 50_000), twice: level(d, 500, 50_000), slow: level(d, 1000, 50_000), told: level(d, 500, 30_000),
		agreement: level(d, 10_000, 300_000), fsync: level(d, 500, 20_000),
	}
}

func (s *scenario) drawLimits(d *die) {
	names := []string{"api", "login", "mail"}
	versions := int64(3)
	for i := range 1 + d.below(3) {
		l := limits{name: names[i]}
		capacity := pick(d, int64(1), 2, 3, 5, 10, 20, 100, 500)
		tokens, per := pick(d, int64(1), 1, 2, 3, 7, 10, 100), pick(d, second, second, second, 7*second, 30*second, minute)
		for range versions {
			for (capacity*per)/tokens > 15*minute {
				capacity /= 2
			}
			l.rules = append(l.rules, newRule(l.name, max(capacity, 1), tokens, per))
			if d.percent(60) {
				capacity = max(1, capacity*pick(d, int64(1), 1, 2, 3)/pick(d, int64(1), 2))
				tokens = max(1, tokens*pick(d, int64(1), 2, 3)/pick(d, int64(1), 1, 2))
			}
		}
		s.limits = append(s.limits, l)
	}
}

func (s *scenario) drawKeys(d *die) {
	for i := range 2 + d.below(7) {
		k := key{name: fmt.Sprintf("key-%d", i), bare: d.percent(8)}
		k.partition = ring.PartitionOf(ring.Hash(k.name), s.partitions)
		s.keys = append(s.keys, k)
	}
}

// maxCalls bounds the calls of one scenario.
const maxCalls = 12_000

// calls plans what is asked: each key has its own shape of load.
func (p *planner) calls() {
	share := maxCalls / p.honest()
	mix := throw(p.seed, forMix, 1)
	for k := range p.honest() {
		l := &loader{planner: p, key: k, left: share, shape: p.die.below(5)}
		l.of = pick(p.die, byTable, byTable, byChance, byRival)
		if l.of == byRival && mix.percent(50) {
			l.of = byRivals
		}
		if p.exact {
			l.of = byTable
		}
		if p.theme == nervous {
			l.shape, l.of = hot, byTable
		}
		if p.theme == stranding || p.theme == forgetful {
			l.shape, l.of = steady, byChance
		}
		l.back, l.resets = level(p.die, 3, 30), level(p.die, 2, 20)
		if p.exact {
			l.back, l.resets = 0, 0
		}
		if p.theme == contending {
			l.shape, l.of = hot, byRivals
		}
		if p.theme == reforming {
			l.back, l.later = 50, 2*minute
		}
		l.load()
	}
}
