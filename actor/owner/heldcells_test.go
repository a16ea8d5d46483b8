package owner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// A strip is the line of a bucket of ten tokens, one a second, or of a window of ten seconds, in cells of one second each. It says in the
// plainest way what returned line is worth: cell by cell.
type strip struct {
	windows bool
	tat     int64        // the last cell that was spent
	free    []int64      // cells that came back, in their order
	waits   int64        // the last check that waits begins then
	open    []*heldCells // what may come back
	flows   []flow       // what callers have got
}

// heldCells are the cells of a hold or of a receipt, in the order in which they were spent: those that are returned are the last ones.
type heldCells struct {
	limit.Hold
	receipt *limit.Receipt // nil for a hold
	cells   []int64
	begins  int64
	flow    int // its place in the flows
	until   int64
	free    bool // when it expires
	expired bool
	left    int64 // up to here, its cells have come back by themselves
}

func (l *strip) begin(t int64) int64 {
	if l.windows {
		return t - t%10 + 10
	}
	return t
}

func (l *strip) bound(t int64) int64 { return l.begin(t) + 10 }

// affordable is when a check can spend up to that cell.
func (l *strip) affordable(end int64) int64 {
	if l.windows {
		return (end+9)/10*10 - 20
	}
	return end - 10
}

// behind is how many cells came back that lie behind begin.
func (l *strip) behind(begin int64) (n int64) {
	for _, c := range l.free {
		if c > begin {
			n++
		}
	}
	return n
}

func (l *strip) inPlace(t, at int64) bool { return l.waits > 0 || at > t }

// credit is how many cells that came back a check of t can spend at once.
func (l *strip) credit(t int64) int64 {
	if l.waits > 0 {
		return l.behind(l.begin(t))
	}
	return min(int64(len(l.free)), max(0, l.tat-l.begin(t)))
}

// end is the last cell of a check of t that begins at at.
func (l *strip) end(t, at, cost int64) int64 {
	begin := l.begin(at)
	if !l.inPlace(t, at) {
		return max(l.tat-l.credit(t), begin) + cost
	}
	for _, c := range l.free {
		if c > begin {
			if cost--; cost == 0 {
				return c
			}
		}
	}
	return max(l.tat, begin) + cost
}

// startIn is when a check of t begins in all strips that may wait so long, or -1 for never.
func startIn(strips []*strip, t, cost, wait int64) int64 {
	for at := t; ; {
		next := at
		for _, l := range strips {
			if end := l.end(t, at, cost); end > l.bound(at) {
				next = max(next, l.affordable(end))
			}
		}
		switch {
		case next == at:
			return at
		case next > t+wait:
			return -1
		}
		at = next
	}
}

// moveOn does what the time does: once the last check that waited has begun, or a window has ended, all cells before have come back by themselves, whoever had them.
func (l *strip) moveOn(t int64) {
	begin := int64(0)
	if l.windows {
		begin = l.begin(t)
	}
	if l.waits > 0 && t >= l.waits {
		begin = max(begin, l.begin(l.waits))
		l.waits = 0
	}
	l.cut(begin)
	for _, h := range l.open {
		h.left = max(h.left, begin)
	}
}

func (l *strip) cut(begin int64) {
	l.free = slices.DeleteFunc(l.free, func(c int64) bool { return c <= begin })
}

// spend takes cost cells for a check of t that begins at at.
func (l *strip) spend(t, at, cost int64) (cells []int64) {
	begin := l.begin(at)
	if at == t && l.tat-l.credit(t) <= begin { // it is full: everything has come back by itself
		for _, h := range l.open {
			h.left = l.bound(t)
		}
	}
	from := begin
	if !l.inPlace(t, at) {
		l.free, from = l.free[int64(len(l.free))-l.credit(t):], -1
	}
	l.free = slices.DeleteFunc(l.free, func(c int64) bool {
		if c <= from || int64(len(cells)) == cost {
			return false
		}
		cells = append(cells, c)
		return true
	})
	for int64(len(cells)) < cost {
		l.tat = max(l.tat, begin) + 1
		cells = append(cells, l.tat)
	}
	if at > t {
		l.waits = max(l.waits, at)
	}
	l.flows = append(l.flows, flow{at * second, cost})
	return cells
}

// back returns the last n cells of h.
func (l *strip) back(h *heldCells, n, freeAt, now int64) {
	left := int64(len(h.cells)) - n
	cells := h.cells[left:]
	switch {
	case freeAt < h.begins: // it never begins
		l.flows[h.flow].tokens = 0
	case l.windows && l.begin(freeAt) > l.begin(h.begins): // what comes back of a window that has ended is nothing in another
	default:
		l.flows = append(l.flows, flow{freeAt * second, -n})
	}
	h.cells = h.cells[:left]
	from := h.left
	if l.waits > 0 || l.windows {
		from = max(from, l.begin(now))
	}
	if l.waits > 0 {
		l.cut(l.begin(now))
	}
	for _, c := range cells {
		if c > from {
			i, _ := slices.BinarySearch(l.free, c)
			l.free = slices.Insert(l.free, i, c)
		}
	}
	if l.waits == 0 {
		l.free = l.free[int64(len(l.free))-l.credit(now):]
	}
}

// expire frees what has expired.
func (l *strip) expire(now int64) {
	for _, h := range l.open {
		if h.free && !h.expired && now >= h.until {
			h.expired = true
			l.back(h, int64(len(h.cells)), h.until, now)
		}
	}
}

// A cellWalk is an owner and the strips of its two limits, of which the first one takes holds.
type cellWalk struct {
	*stage
	random *rand.Rand
	rules  []*limit.Rule
	strips []*strip
	free   bool // holds that expire
	did    []string

	waited, inPlace, returned int
}

func newCellWalk(t *testing.T, random *rand.Rand) *cellWalk {
	t.Helper()
	w := &cellWalk{stage: alone(t), random: random, free: random.IntN(2) == 0, strips: []*strip{{windows: random.IntN(2) == 0}, {}}}
	of := limit.Limit{Name: "tokens", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}
	w.rules = []*limit.Rule{nil, ruleWithWait(t, of, 10*time.Second)}
	if w.strips[0].windows {
		of.Algorithm, of.Refill, of.Window = limit.FixedWindow, limit.Refill{}, 10*time.Second
	}
	of.Name, of.Holds.Longest = "held", time.Minute
	if w.free {
		of.Holds.OnExpiry = limit.Free
	}
	w.rules[0] = ruleWithWait(t, of, 10*time.Second)
	w.settles(w.holds(1, 60*second, w.rules[0]), limit.Settlement{Used: 1}, w.rules[0]) // so that it is one of holds
	w.strips[0].spend(w.at(), w.at(), 1)
	return w
}

func (w *cellWalk) at() int64 { return w.clock() / second }

func (w *cellWalk) say(format string, args ...any) {
	w.did = append(w.did, fmt.Sprintf("at %d: ", w.at()-start/second)+fmt.Sprintf(format, args...))
}

func (w *cellWalk) fail(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf("windows %v: %s: %s", w.strips[0].windows, fmt.Sprintf(format, args...), strings.Join(w.did, "; "))
}

// check makes a check, of both limits now and then, or a hold, which does not wait.
func (w *cellWalk) check() {
	cost, lasts, wait, limits := 1+w.random.Int64N(10), int64(0), int64(0), 1
	if w.random.IntN(2) == 0 {
		lasts = 1 + w.random.Int64N(20)
	} else {
		wait, limits = w.random.Int64N(2)*10, 1+w.random.IntN(2)
	}
	receipts := lasts == 0 && w.random.IntN(2) == 0
	strips, now := w.strips[:limits], w.at()
	begins, waited := startIn(strips, now, cost, wait), strips[0].waits > now
	tag := w.tag()
	w.owner.Check(owner.Check{
		Tag: tag, At: w.clock(), Deadline: w.clock() + hour, Rules: w.rules[:limits], Cost: cost, Wait: wait * second, Hold: lasts * second, Receipts: receipts,
	}, &w.out)
	w.after()
	d := w.decision(tag)
	w.say("cost %d of %d limits, wait %d, hold %d: %v, %v", cost, limits, wait, lasts, d.Allowed, d.Wait)
	if got := now + int64(d.Wait)/second; d.Allowed != (begins >= 0) || d.Allowed && got != begins {
		w.fail("want it to begin at %d", begins-start/second)
	}
	if !d.Allowed {
		return
	}
	if begins > now {
		w.waited++
	} else if waited {
		w.inPlace++
	}
	h := &heldCells{begins: begins, until: now + lasts}
	for i, l := range strips {
		if cells := l.spend(now, begins, cost); i == 0 {
			h.cells, h.flow = cells, len(l.flows)-1
		}
	}
	switch {
	case lasts > 0:
		h.Hold, h.free = *d.Hold, w.free
	case receipts:
		h.receipt = &d.Receipts[0]
	default:
		return
	}
	w.strips[0].open = append(w.strips[0].open, h)
}

// back settles a hold, or returns a receipt.
func (w *cellWalk) back() {
	l, now := w.strips[0], w.at()
	if len(l.open) == 0 {
		return
	}
	i := w.random.IntN(len(l.open))
	h := l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	if h.receipt != nil {
		back := w.giveBack(*h.receipt)
		w.say("%d come back: %v", len(h.cells), back)
		if l.waits > 0 || l.credit(now) < l.tat-l.begin(now) { // it is not full
			l.back(h, int64(len(h.cells)), now, now)
			w.returned++
		}
		return
	}
	used := w.random.Int64N(h.Granted + 1)
	if h.expired {
		used = 0 // more would be debt
	}
	got := w.settles(h.Hold, limit.Settlement{Used: used}, w.rules[0])[0]
	w.say("%d of %d used", used, h.Granted)
	if got.Charged != used {
		w.fail("%+v", got)
	}
	l.back(h, max(0, int64(len(h.cells))-used), now, now)
}

// Holds are taken, settled and expire, and receipts come back, beside checks that wait for a part of the bucket, for all of it, for the next window or for
// another limit: what they give back, and what is denied, is the same as cell by cell, whenever the owner looks.
func TestHoldsBesideWaitsAreExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	waited, inPlace, returned := 0, 0, 0
	for range 2000 {
		w := newCellWalk(t, random)
		for range 40 {
			for _, l := range w.strips {
				l.moveOn(w.at())
				l.expire(w.at())
			}
			switch random.IntN(5) {
			case 0:
				w.pass(random.Int64N(5) * second)
			case 1, 2:
				w.check()
			default:
				w.back()
			}
		}
		if over := mostBelow(w.rules[0], w.strips[0].flows); over > 1e-6 {
			w.fail("%.2f tokens more than there were", over)
		}
		waited, inPlace, returned = waited+w.waited, inPlace+w.inPlace, returned+w.returned
	}
	if waited == 0 || inPlace == 0 || returned == 0 {
		t.Errorf("%d checks waited, %d had what came back in its place, and %d receipts came back", waited, inPlace, returned)
	}
}
