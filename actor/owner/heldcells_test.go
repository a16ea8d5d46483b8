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
	waited  int64        // the last that ever waited
	renews  bool         // once no check waits, what was spent before is over
	open    []*heldCells // holds
	flows   []flow       // what callers have got
}

// heldCells are the cells of a hold, in the order in which they were spent: those that are returned are the last ones.
type heldCells struct {
	limit.Hold
	cells   []int64
	at      int64
	until   int64
	free    bool // when it expires
	expired bool
	over    bool // its cells have come back by themselves
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

// start is when a check of t begins that may wait up to ten seconds, or -1 for never.
func (l *strip) start(t, cost, wait int64) int64 {
	for at := t; ; {
		end := l.end(t, at, cost)
		if end <= l.bound(at) {
			return at
		}
		next := max(at, l.affordable(end))
		if next > t+wait || next == at {
			return -1
		}
		at = next
	}
}

// moveOn does what the time does.
func (l *strip) moveOn(t int64) {
	if l.waits == 0 || t < l.waits {
		return
	}
	begin := l.begin(l.waits)
	if l.windows {
		begin = l.begin(t)
	}
	l.cut(begin)
	if l.waits = 0; l.renews {
		l.forget()
	}
}

func (l *strip) cut(begin int64) {
	l.free = slices.DeleteFunc(l.free, func(c int64) bool { return c <= begin })
}

func (l *strip) forget() {
	l.renews = false
	for _, h := range l.open {
		h.over = true
	}
}

// spend takes cost cells for a check of t that begins at at.
func (l *strip) spend(t, at, cost int64) (cells []int64) {
	begin := l.begin(at)
	full := l.tat-l.credit(t) <= begin
	if at > t {
		full = l.tat-l.behind(begin) <= begin
	}
	switch {
	case full && at > t:
		l.renews = true
	case full:
		l.forget()
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
		l.waits, l.waited = max(l.waits, at), max(l.waited, at)
	}
	return cells
}

// back returns the last n cells of h, which are free since freeAt.
func (l *strip) back(h *heldCells, n, freeAt, now int64) {
	left := int64(len(h.cells)) - n
	cells := h.cells[left:]
	if !l.windows || l.begin(freeAt) == l.begin(h.at) { // what comes back of a window that has ended is nothing in another
		l.flows = append(l.flows, flow{freeAt * second, -n})
	}
	if h.cells = h.cells[:left]; h.over {
		return
	}
	from := int64(-1)
	switch {
	case l.waits > 0:
		from = l.begin(now)
		l.cut(from)
	case l.waited > freeAt:
		from = max(l.begin(l.waited), from)
		fallthrough
	default:
		if l.windows {
			from = max(from, l.begin(now))
		}
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

// Holds are taken, settled and expire beside checks that wait for a part of the bucket, for all of it, or for the next window: what they give
// back, and what is denied, is the same as cell by cell.
func TestHoldsBesideWaitsAreExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	waited, inPlace, renewed := 0, 0, 0
	for range 2000 {
		free := r.IntN(2) == 0
		l := &strip{windows: r.IntN(2) == 0}
		of := limit.Limit{Name: "tokens", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute}}
		if l.windows {
			of.Algorithm, of.Refill, of.Window = limit.FixedWindow, limit.Refill{}, 10*time.Second
		}
		if free {
			of.Holds.OnExpiry = limit.Free
		}
		rule := ruleWithWait(t, of, 10*time.Second)
		s := alone(t)
		now := func() int64 { return s.clock() / second }
		s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule) // so that it is one of holds
		l.spend(now(), now(), 1)
		l.flows = append(l.flows, flow{now() * second, 1})
		var did []string
		for range 40 {
			cost := 1 + r.Int64N(10)
			l.moveOn(now())
			l.expire(now())
			switch r.IntN(5) {
			case 0:
				s.pass(r.Int64N(5) * second)
			case 1, 2: // a check, or a hold, which does not wait
				lasts, wait, tag := int64(0), int64(0), s.tag()
				if r.IntN(2) == 0 {
					lasts = 1 + r.Int64N(20)
				} else {
					wait = r.Int64N(2) * 10
				}
				begins := l.start(now(), cost, wait)
				s.owner.Check(owner.Check{
					Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: cost, Wait: wait * second, Hold: lasts * second,
				}, &s.out)
				s.after()
				d := s.decision(tag)
				did = append(did, fmt.Sprintf("at %d: cost %d, wait %d, hold %d: %v, %v", now()-start/second, cost, wait, lasts, d.Allowed, d.Wait))
				if got := now() + int64(d.Wait)/second; d.Allowed != (begins >= 0) || d.Allowed && got != begins {
					t.Fatalf("windows %v, want it to begin at %d: %s", l.windows, begins-start/second, strings.Join(did, "; "))
				}
				if !d.Allowed {
					break
				}
				if begins > now() {
					waited++
				} else if l.waits > now() {
					inPlace++
				}
				was := l.renews
				cells := l.spend(now(), begins, cost)
				l.flows = append(l.flows, flow{begins * second, cost})
				if l.renews && !was {
					renewed++
				}
				if lasts > 0 {
					l.open = append(l.open, &heldCells{Hold: *d.Hold, cells: cells, at: now(), until: now() + lasts, free: free})
				}
			default:
				if len(l.open) == 0 {
					continue
				}
				i := r.IntN(len(l.open))
				h := l.open[i]
				used := r.Int64N(h.Granted + 1)
				if h.expired {
					used = 0 // more would be debt
				}
				got := s.settles(h.Hold, limit.Settlement{Used: used}, rule)[0]
				did = append(did, fmt.Sprintf("at %d: %d of %d used", now()-start/second, used, h.Granted))
				if got.Charged != used {
					t.Fatalf("%+v: %s", got, strings.Join(did, "; "))
				}
				l.back(h, max(0, int64(len(h.cells))-used), now(), now())
				l.open = slices.Delete(l.open, i, i+1)
			}
		}
		if over := mostBelow(rule, l.flows); over > 1e-6 {
			t.Fatalf("windows %v, %.2f tokens more than there were: %s", l.windows, over, strings.Join(did, "; "))
		}
	}
	if waited == 0 || inPlace == 0 || renewed == 0 {
		t.Errorf("%d checks waited, %d had what came back in its place, and %d found a full bucket", waited, inPlace, renewed)
	}
}
