package actor

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// heatWindow is for how long checks are counted before it is told which keys had most of them: a key that has been hot for a second
// has had a whole window.
const heatWindow = 500 * time.Millisecond

// A key is hot if it has at least HotShare of all checks of its node, and HotPerSecond checks a second.
const (
	HotShare     = 0.2
	HotPerSecond = 100
)

// leaseFor is for how long edges get leases of a key after it was hot, or after a lease of it: while edges decide, few checks arrive here.
const leaseFor = 5 * time.Second

const (
	// fewChecks is how many checks of a window a key may have before it gets a place of its own among the busy ones.
	fewChecks = 16
	// busyPlaces is how many keys can have one: an actor remembers its place, or the few checks that it has had, in a byte.
	busyPlaces = 256 - fewChecks
	// busiestTold is how many keys a shard tells of at most.
	busiestTold = 10
)

// A heat counts the checks of a shard and of its busy keys, window after window. It needs no sketch of keys that are not awake: a key that
// is checked is awake, for [Config.IdleAfter] at least.
//
// In a window, an actor counts its first checks itself, in actor.heat; then it has a place here. What actor.heat says is of this
// window if actor.last is.
type heat struct {
	start, ends int64 // of the window, on the node clock
	checks      int64 // in the window
	n           int   // of places that are taken
	places      [busyPlaces]busyPlace
	told        atomic.Pointer[heatTold] // what the last window came to, for others to read; nil for no checks

	node   *atomic.Int64    // checks a second of all shards of the node, in their last windows
	rate   int64            // of these, the shard's
	leased map[string]int64 // the keys that were hot, and until when edges get leases of them
}

// A busyPlace counts what a key that has a place is asked.
type busyPlace struct {
	actor  *actor
	checks int64 // since the window began
	denied int64 // since the key has the place
}

// heatTold is what a window came to.
type heatTold struct {
	perSecond float64      // checks
	keys      []CheckedKey // the busiest first
	denied    []CheckedKey // those with most denials, by these
}

// A CheckedKey is a key that is checked often.
type CheckedKey struct {
	Key       string
	Label     string   // by which metrics name it
	Limits    []string // its awake buckets; only an Overview has them
	PerSecond float64  // checks a second, in the last half second
	Share     float64  // of the checks of all keys of this node, 0 to 1
	Denied    float64  // share of its checks that were denied, 0 to 1
	Hot       bool     // it has at least HotShare of the node's checks, and HotPerSecond
}

// count counts a check that has come for an actor, whose heat is of this window.
func (h *heat) count(a *actor) {
	h.checks++
	switch {
	case a.heat >= fewChecks:
		h.places[a.heat-fewChecks].checks++
	case a.heat == fewChecks-1:
		h.enter(a)
	default:
		a.heat++
	}
}

// enter gives an actor a place.
func (h *heat) enter(a *actor) {
	if h.n == busyPlaces {
		h.thin()
	}
	h.places[h.n] = busyPlace{actor: a, checks: fewChecks}
	a.heat = fewChecks + uint8(h.n) //nolint:gosec // there are fewer than 256
	h.n++
}

// thin takes their places from the half of the keys that have had fewer checks. They begin anew: so among hundreds of busy keys those that
// are not the busiest are counted short, and the busiest never are.
func (h *heat) thin() {
	h.sort()
	for i := range h.places {
		p := &h.places[i]
		p.actor.heat = fewChecks + uint8(i) //nolint:gosec // there are fewer than 256
		if i >= busyPlaces/2 {
			p.actor.heat = 0
			*p = busyPlace{}
		}
	}
	h.n = busyPlaces / 2
}

// sort sorts the places, those with the most checks first.
func (h *heat) sort() {
	slices.SortFunc(h.places[:h.n], func(a, b busyPlace) int { return cmp.Compare(b.checks, a.checks) })
}

// deny counts a denial.
func (h *heat) deny(a *actor) {
	if a.heat >= fewChecks && a.last >= h.start {
		h.places[a.heat-fewChecks].denied++
	}
}

// due is when the window is to end, or never if nothing was checked in it and in the last one.
func (h *heat) due(never int64) int64 {
	if h.checks == 0 && h.told.Load() == nil {
		return never
	}
	return h.ends
}

// roll ends the window if it is time, tells what it came to, and begins another.
func (h *heat) roll(now int64) {
	if now < h.ends {
		return
	}
	maps.DeleteFunc(h.leased, func(_ string, until int64) bool { return until <= now })
	switch {
	case h.checks > 0:
		h.told.Store(h.tell(now))
	case h.told.Load() != nil:
		h.told.Store(nil)
		h.setRate(0)
	}
	clear(h.places[:h.n])
	h.start, h.ends, h.checks, h.n = now, now+int64(heatWindow), 0, 0
}

// merge makes one place of those of one key, which has several if its actor was forgotten meanwhile, for want of memory.
func (h *heat) merge() {
	first := make(map[string]*busyPlace, h.n)
	n := 0
	for _, p := range h.places[:h.n] {
		if f := first[p.actor.key]; f != nil {
			f.checks += p.checks
			f.denied += p.denied
			continue
		}
		h.places[n] = p
		first[p.actor.key] = &h.places[n]
		n++
	}
	clear(h.places[n:h.n])
	h.n = n
}

// tell is what the window came to.
func (h *heat) tell(now int64) *heatTold {
	h.merge()
	h.sort()
	seconds := time.Duration(now - h.start).Seconds()
	t := &heatTold{perSecond: float64(h.checks) / seconds}
	h.setRate(int64(t.perSecond))
	places := h.places[:h.n]
	for i := range places[:min(h.n, busiestTold)] {
		k := places[i].tell(seconds)
		if isHot(k.PerSecond, float64(h.node.Load())) {
			h.lease(k.Key, now)
		}
		t.keys = append(t.keys, k)
	}
	slices.SortFunc(places, func(a, b busyPlace) int { return cmp.Compare(b.denied, a.denied) })
	for i := range places {
		if places[i].denied == 0 || i == busiestTold {
			break
		}
		t.denied = append(t.denied, places[i].tell(seconds))
	}
	return t
}

// tell is what a key was asked in a window of so many seconds.
func (p *busyPlace) tell(seconds float64) CheckedKey {
	k := CheckedKey{Key: p.actor.key, PerSecond: float64(p.checks) / seconds}
	if since := p.checks - fewChecks; since > 0 { // since it has the place
		k.Denied = min(1, float64(p.denied)/float64(since))
	}
	return k
}

// setRate tells the node how many checks a second the shard has.
func (h *heat) setRate(rate int64) {
	h.node.Add(rate - h.rate)
	h.rate = rate
}

// isHot says whether a key is hot that has so many of the checks a second of its node.
func isHot(perSecond, ofNode float64) bool {
	return perSecond >= HotPerSecond && perSecond >= HotShare*ofNode
}

// lease has edges get leases of a key for a while from now on.
func (h *heat) lease(key string, now int64) {
	if h.leased == nil {
		h.leased = map[string]int64{}
	}
	h.leased[key] = now + int64(leaseFor)
}

// refuses says that m asks for a lease of a bucket that is leased only while its key is hot, and it is not.
func (h *heat) refuses(a *actor, m *mail, now int64) bool {
	return m.lease != nil && m.rules[0].LeasedWhenHot() && now >= h.leased[a.key]
}
