package owner

import (
	"fmt"
	"testing"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// Edges of the model hold leases by production's own steps, and spend them token by token.

const edgesMost = 2

// edging bounds what edges do. Times are ticks.
type edging struct {
	leases    []wish
	takes     int8             // tokens that edges spend at most
	suspends  int8             // edges that are suspended once they have read their clock for a check
	yields    int8             // edges that give back what they have not spent
	keeps     int64            // how many tokens they keep of it
	regrets   int8             // edges that take back what they have spent last
	edgeClock [edgesMost]int64 // how far the edges' clocks are ahead
	lone      bool             // there is one replica, which answers at once: what else can happen is in the other models
}

// A wish is what an edge asks an owner for.
type wish struct {
	edge, owner int
	cost, life  int64
	after       int64 // if not 0, who asks knows no positions, and spends what it gets until so long after it asked
	number      uint64
	asked       int64 // the true time
}

type edge struct {
	bucket *lease.Bucket
	readAt int64         // when it read its clock for the check in which it is suspended since; 0 if it is not
	last   limit.Receipt // of what it has spent last; none of owner 0 if that has come back
	piece  lease.Piece   // of last
}

// granted is an answer on its way to an edge.
type granted struct {
	wish
	lease *limit.Lease
	heard uint8
	used  int64 // line of it that was spent by who knows no positions
}

// squanderable says whether who knows no positions has some of the lease to spend at now.
func (g *granted) squanderable(now int64) bool {
	return g.after > 0 && g.lease.Start+g.used < g.lease.End && now <= g.asked+g.after*tick
}

// tailed is a tail on its way to the owner.
type tailed struct {
	limit.Receipt
	owner int
	heard uint8
}

// late is by how much clocks differ at most.
func (s *setting) late() int64 {
	least, most := int64(0), int64(0)
	for _, c := range append(s.clock[:], s.edgeClock[:]...) {
		least, most = min(least, c), max(most, c)
	}
	return (most - least) * tick
}

func (w *world) openEdges() {
	if len(w.leases) > 0 {
		for i := range w.edges {
			w.edges[i].bucket = lease.NewBucket(w.rules[0])
		}
	}
}

func (w *world) copyEdgesTo(d *world) {
	d.edges = w.edges
	for i := range w.edges {
		if b := w.edges[i].bucket; b != nil {
			d.edges[i].bucket = b.Clone()
		}
	}
	d.grants = append(d.grants[:0], w.grants...)
	d.tails = append(d.tails[:0], w.tails...)
}

func (w *world) edgeTime(i int) int64 { return w.now + w.edgeClock[i]*tick }

// reads is what the clock of an edge shows to the check that it has in hand.
func (w *world) reads(i int) (shown, at int64) {
	at = w.now
	if w.edges[i].readAt > 0 {
		at = w.edges[i].readAt
	}
	return at + w.edgeClock[i]*tick, at
}

func (w *world) edgeEvents(add func(kind, int, int)) {
	if len(w.leases) == 0 {
		return
	}
	if int(w.left.wanted) < len(w.leases) {
		add(wants, 0, 0)
	}
	for i := range w.grants {
		switch g := &w.grants[i]; {
		case g.squanderable(w.now) && w.left.takes > 0:
			add(squanders, i, 0)
		case g.after == 0 && g.heard < 2:
			add(gets, i, 0)
		}
	}
	for i := range w.tails {
		if w.tails[i].heard < 2 {
			add(regains, i, 0)
		}
	}
	for i := range w.edges {
		held := false
		for range w.edges[i].bucket.Held() {
			held = true
		}
		shown, _ := w.reads(i)
		if _, can := w.edges[i].bucket.Clone().Take(shown, 1); can && w.left.takes > 0 {
			add(spends, i, 0)
		}
		if held && w.left.suspends > 0 && w.edges[i].readAt == 0 {
			add(suspends, i, 0)
		}
		if held && w.left.yields > 0 {
			add(yields, i, 0)
		}
		if w.left.regrets > 0 && w.edges[i].last.Owner != (limit.OwnerID{}) {
			add(regrets, i, 0)
		}
	}
}

func (w *world) applyEdge(e event) {
	switch e.kind {
	case wants:
		wish := w.leases[w.left.wanted]
		w.left.wanted++
		if wish.asked = w.now; wish.after == 0 {
			wish.number = w.edges[wish.edge].bucket.Ask()
		}
		w.say("edge %d asks %s for a lease of %d", wish.edge+1, w.name(wish.owner), wish.cost)
		w.step(wish.owner, func(o *Owner, now int64, out *Out) {
			o.Check(Check{Tag: wish, At: now, Deadline: w.deadline(now), Rules: w.rules, Cost: wish.cost, Lease: wish.life * tick, LeaseAfter: wish.after * tick}, out)
		})
	case gets:
		g := &w.grants[e.a]
		g.heard++
		b := w.edges[g.edge].bucket
		took := b.Answer(g.number, g.lease)
		w.say("edge %d gets %s: it is taken is %v", g.edge+1, span(g.lease.Span), took)
	case suspends:
		w.left.suspends--
		w.edges[e.a].readAt = w.now
		w.say("edge %d reads its clock, and is suspended", e.a+1)
	case spends:
		w.left.takes--
		w.edgeSpends(int(e.a))
	case squanders:
		w.left.takes--
		w.squander(&w.grants[e.a])
	case yields:
		w.left.yields--
		for _, tail := range w.edges[e.a].bucket.GiveBack(w.edgeTime(int(e.a)), w.keeps) {
			w.say("edge %d gives back from %d of %s", e.a+1, tail.From/tick, span(tail.Span))
			w.tails = append(w.tails, tailed{Receipt: tail, owner: int(tail.Owner[0]) - 1})
		}
	case regrets:
		w.left.regrets--
		w.edgeRegrets(int(e.a))
	default: // regains
		w.regain(&w.tails[e.a])
	}
}

func (w *world) edgeSpends(i int) {
	shown, at := w.reads(i)
	w.edges[i].readAt = 0
	piece, ok := w.edges[i].bucket.Take(shown, 1)
	if !ok {
		return
	}
	r := reading{1, at}
	w.say("edge %d admits the %s: it spends %s", i+1, r, span(piece.Span))
	receipt := piece.Receipt
	receipt.Span = piece.Span
	e := w.history.era(receipt.Generation)
	fresh, whole := line(receipt.Start, receipt.End)
	if !whole || fresh&^e.leased != 0 {
		w.broken = fmt.Sprintf("edge %d spends %s, which is not leased, or spent or given back", i+1, span(piece.Span))
		return
	}
	e.leased &^= fresh
	if broken := w.history.spend(receipt, r, w.setting); broken != "" {
		w.broken = broken
	}
	w.edges[i].last, w.edges[i].piece = receipt, piece
}

// squander spends a token of a lease now, whatever its place on the line.
func (w *world) squander(g *granted) {
	r, receipt := reading{1, w.now}, g.lease.Receipt
	receipt.Span = limit.Span{Start: g.lease.Start + g.used, End: g.lease.Start + g.used + tick}
	g.used += tick
	w.say("who knows no positions admits the %s: it spends %s", r, span(receipt.Span))
	piece, _ := line(receipt.Start, receipt.End)
	if receipt.Start < w.now {
		w.broken = fmt.Sprintf("%s is spent by who knows no positions, and has begun", span(receipt.Span))
		return
	}
	w.history.era(receipt.Generation).leased &^= piece
	if broken := w.history.spend(receipt, r, w.setting); broken != "" {
		w.broken = broken
	}
}

// edgeRegrets lets an edge take back what it has spent last.
func (w *world) edgeRegrets(i int) {
	last := w.edges[i].last
	w.edges[i].last = limit.Receipt{}
	took := w.edges[i].bucket.Undo(w.edges[i].piece, w.edgeTime(i))
	w.say("edge %d takes %s back: it takes effect is %v", i+1, span(last.Span), took)
	if !took {
		return
	}
	if broken := w.history.giveBack(last, reading{1, w.now}); broken != "" {
		w.broken = broken
		return
	}
	e := w.history.era(last.Generation)
	line, _ := line(last.Start, last.End)
	e.free, e.leased = e.free&^line, e.leased|line
}

// granted takes up what an owner says to the wish of an edge.
func (w *world) granted(who int, wish wish, r Reply) {
	if r.Err != nil || r.Lease == nil {
		w.say("%s has no lease for edge %d", w.name(who), wish.edge+1)
		return
	}
	w.say("%s leases %s of generation %s to edge %d", w.name(who), span(r.Lease.Span), position(r.Lease.Generation), wish.edge+1)
	e := w.history.era(r.Lease.Generation)
	fresh, whole := line(r.Lease.Start, r.Lease.End)
	if !whole || fresh&(e.spent|e.free|e.leased) != 0 {
		w.broken = fmt.Sprintf("%s is leased, and is not fresh", span(r.Lease.Span))
		return
	}
	e.leased |= fresh
	w.grants = append(w.grants, granted{wish: wish, lease: r.Lease})
}

// regain brings a tail to its owner.
func (w *world) regain(t *tailed) {
	t.heard++
	back := false
	w.step(t.owner, func(o *Owner, now int64, out *Out) { back = o.Return(t.Receipt, now, out) })
	w.say("the tail of %s from %d on comes back to %s: it takes effect is %v", span(t.Span), t.From/tick, w.name(t.owner), back)
	if !back {
		return
	}
	e := w.history.era(t.Generation)
	line, _ := line(t.From, t.End)
	if line&^e.leased != 0 {
		w.broken = fmt.Sprintf("what comes back of %s had come back, or was spent", span(t.Span))
		return
	}
	e.leased, e.free = e.leased&^line, e.free|line
}

func (e *encoder) edges(w *world) {
	if len(w.leases) == 0 {
		return
	}
	l := w.left
	e.buf = append(e.buf, byte(l.wanted), byte(l.takes), byte(l.suspends), byte(l.yields), byte(l.regrets), byte(len(w.grants)), byte(len(w.tails)))
	for i := range w.edges {
		n := byte(0)
		for l, at := range w.edges[i].bucket.Held() {
			n++
			e.lease(&l)
			e.time(at.NS)
		}
		if last := w.edges[i].last; last.Owner != (limit.OwnerID{}) {
			e.time(last.Start)
			e.time(last.Generation)
			e.flag(w.edges[i].bucket.Clone().Undo(w.edges[i].piece, w.edgeTime(i)))
		}
		e.buf = append(e.buf, n)
		e.time(w.edges[i].readAt)
	}
	for i := range w.grants {
		g := &w.grants[i]
		if g.after > 0 {
			e.lease(g.lease)
			e.time(g.used)
			e.time(g.asked)
			continue
		}
		open := w.edges[g.edge].bucket.Clone().Answer(g.number, g.lease)
		e.flag(open)
		e.buf = append(e.buf, byte(g.edge), g.heard)
		e.lease(g.lease)
	}
	for i := range w.tails {
		e.time(w.tails[i].Start)
		e.time(w.tails[i].From)
		e.buf = append(e.buf, w.tails[i].heard, byte(w.tails[i].Serial))
	}
}

func (e *encoder) lease(l *limit.Lease) {
	e.time(l.Generation)
	e.time(l.Start)
	e.time(l.End)
	e.time(min(l.Until, 250*tick))
	e.buf = append(e.buf, byte(l.Serial))
}

var leaseSettings = []sized{
	{setting: setting{
		name: "three replicas", capacity: 4, ticks: 1, checks: [owners][]int64{{1}, {}}, epsMax: 1,
		edging: edging{leases: []wish{{cost: 2, life: 2}}, takes: 1},
	}},
	{setting: setting{
		name: "two owners and two edges", capacity: 6, ticks: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}, {edge: 1, owner: 1, cost: 2, life: 3}}, takes: 2},
	}},
	{setting: setting{
		name: "receipts beside leases", capacity: 6, ticks: 4, checks: [owners][]int64{{3, 3, 3}, {}}, epsMax: 1, returns: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}}, takes: 2},
	}, large: true},
	{setting: setting{
		name: "what edges give back", capacity: 6, ticks: 3, checks: [owners][]int64{{3, 2}, {}}, epsMax: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}}, takes: 2, yields: 1},
	}},
	{setting: setting{
		name: "two edges, and what they give back", capacity: 6, ticks: 2, checks: [owners][]int64{{2}, {}}, epsMax: 1,
		edging: edging{lone: true, leases: []wish{{cost: 3, life: 3}, {edge: 1, cost: 2, life: 3}}, takes: 2, yields: 2},
	}},
	{setting: setting{
		name: "an edge that is suspended", capacity: 6, ticks: 4, checks: [owners][]int64{{2, 2}, {}}, epsMax: 1, returns: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}}, takes: 2, suspends: 1},
	}},
	{setting: setting{
		name: "a reset", capacity: 6, ticks: 2, checks: [owners][]int64{{2}, {}}, epsMax: 1, resets: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}, {cost: 2, life: 3}}, takes: 3},
	}},
	{setting: setting{
		name: "an edge whose clock is behind", capacity: 6, ticks: 5, checks: [owners][]int64{{3, 3, 3}, {}}, epsMax: 1, returns: 1, clock: [owners]int64{1, 1},
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}}, takes: 2},
	}},
	{setting: setting{
		name: "an owner that restarts", capacity: 6, ticks: 2, checks: [owners][]int64{{2, 2}, {}}, epsMax: 1, restarts: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}}, takes: 2, yields: 1},
	}},
	{setting: setting{
		name: "an edge that takes back", capacity: 6, ticks: 4, checks: [owners][]int64{{2, 2}, {}}, epsMax: 1, returns: 1,
		edging: edging{lone: true, leases: []wish{{cost: 3, life: 3}}, takes: 3, yields: 1, regrets: 2, keeps: 1},
	}, large: true},
	{setting: setting{
		name: "who knows no positions", capacity: 6, ticks: 5, checks: [owners][]int64{{3, 3}, {}}, epsMax: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 1, after: 2}}, takes: 2},
	}},
	{setting: setting{
		name: "two that know no positions, and an edge", capacity: 8, ticks: 3, checks: [owners][]int64{{2}, {2}}, epsMax: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 1, after: 2}, {cost: 2, life: 3}, {owner: 1, cost: 1, life: 1, after: 2}}, takes: 4},
	}, large: true},
	{setting: setting{
		name: "receipts beside who knows no positions", capacity: 6, ticks: 4, checks: [owners][]int64{{2, 3}, {}}, epsMax: 1, returns: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 1, after: 2}}, takes: 2},
	}},
	{setting: setting{
		name: "who knows no positions, and an owner that restarts", capacity: 6, ticks: 3, checks: [owners][]int64{{2}, {}}, epsMax: 1, restarts: 1, resets: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 1, after: 2}}, takes: 2},
	}},
	{setting: setting{
		name: "who knows no positions, and windows", algorithm: limit.FixedWindow, capacity: 6, ticks: 5, checks: [owners][]int64{{3, 3}, {}}, epsMax: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 1, after: 2}}, takes: 2},
	}},
	{setting: setting{
		name: "windows", algorithm: limit.FixedWindow, capacity: 6, ticks: 3, checks: [owners][]int64{{2, 2}, {}}, epsMax: 1, returns: 1,
		edging: edging{lone: true, leases: []wish{{cost: 2, life: 3}}, takes: 2, yields: 1},
	}},
}

// Owners pass line down to edges. In every state that can be reached, line is spent once, by whom it was passed to, and no window has more than
// the bucket.
func TestModelOfLeases(t *testing.T) { keepsItsPromises(t, leaseSettings) }
