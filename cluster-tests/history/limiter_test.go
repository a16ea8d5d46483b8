package history_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// epoch is when the histories of these tests begin.
const epoch = int64(1_800_000_000_000_000_000)

// A scene says what a reference limiter goes through.
type scene struct {
	seed     uint64
	limits   []history.Limit // versions of one limit; where there are more, all refill one token at a time
	keys     int
	checks   int
	every    int64 // nanoseconds from one check to the next, on average
	takes    int64 // nanoseconds from the start of a call to its decision, and from there to its end, at most
	most     int64 // tokens that a check costs, at most
	epsilon  int64 // by which the limiter's clock may be off
	returns  float64
	resets   float64
	failures float64
	mute     float64 // which part of the admissions has no receipt
	extends  float64 // which part of the permits is extended
	holds    float64 // which part of what is asked is a hold
	lasts    int64   // how long each lasts
	later    bool    // what is used beyond a hold is charged at the time of the settlement, not of the hold
}

// token is a limit called api.
func token(capacity, tokens, per int64) history.Limit {
	return history.Limit{Name: "api", Capacity: capacity, Tokens: tokens, PerNS: per}
}

// A limiter is the reference: every bucket is one exact position on the line, in n-ths of a nanosecond since epoch. What its
// callers see is the history.
type limiter struct {
	scene
	random  *rand.Rand
	queue   queue
	buckets map[string]*position
	seen    history.History
}

type position struct {
	tat        int64
	generation int64
	serial     uint64
	skew       int64
	under      history.Limit  // the version of the limit that it was last judged by
	free       []history.Span // given back, in n-ths of a nanosecond
	taken      map[uint64]bool
	whole      map[uint64][]history.Span // what a receipt stands for
	old        *position                 // an owner that has not heard of the reset
	end        int64                     // up to which the old one has reserved
}

// A step is a call that is decided at a time.
type step struct {
	at    int64
	call  history.Call
	whose uint64 // a returned receipt's serial
}

type queue []step

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(step)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// play is the history of a scene.
func (s scene) play() *history.History {
	switch {
	case s.limits[0].Holds != "":
		return s.hold()
	case s.limits[0].Algorithm != history.TokenBucket:
		return s.count()
	}
	l := &limiter{scene: s, random: rand.New(rand.NewPCG(s.seed, 1)), buckets: map[string]*position{}}
	l.seen.Limits = s.limits
	at := epoch
	for i := range s.checks {
		at += l.random.Int64N(2 * s.every)
		key := fmt.Sprint("key:", l.random.IntN(s.keys))
		l.ask(at, history.Call{
			Kind: history.KindCheck, Limit: s.limits[0].Name, Key: key, Cost: 1 + l.random.Int64N(s.most), Via: fmt.Sprint("caller ", i%7),
		}, 0)
		if l.random.Float64() < s.resets {
			l.ask(at, history.Call{Kind: history.KindReset, Limit: s.limits[0].Name, Key: key}, 0)
		}
	}
	for l.queue.Len() > 0 {
		l.decide(heap.Pop(&l.queue).(step))
	}
	slices.SortStableFunc(l.seen.Calls, func(a, b history.Call) int { return cmp.Compare(a.End, b.End) })
	return &l.seen
}

func (l *limiter) ask(start int64, c history.Call, whose uint64) {
	at := start + l.random.Int64N(l.takes+1)
	c.Start, c.End = start, at+l.random.Int64N(l.takes+1)
	heap.Push(&l.queue, step{at, c, whose})
}

func (l *limiter) decide(s step) {
	b := l.buckets[s.call.Key]
	if b == nil {
		b = l.fresh(0)
		l.buckets[s.call.Key] = b
	}
	b.judgedBy(l.version(s.at))
	lost := l.random.Float64() < l.failures
	happens := !lost || l.random.IntN(2) == 0 // it failed, and happened all the same
	c := s.call
	if happens {
		switch c.Kind {
		case history.KindCheck:
			l.check(b, s.at, &c)
		case history.KindReturn:
			c.Outcome = b.giveBack(s.whose, c.Receipt.Generation)
		case history.KindReset:
			l.reset(b, s.at)
			c.Outcome = history.Done
		case history.KindExtend, history.KindHold, history.KindSettle: // line has no permits, and holds have a reference of their own
		}
	}
	if c.Kind == history.KindCheck && c.Outcome == history.Admitted && !lost {
		if l.random.Float64() < l.returns {
			back := history.Call{Kind: history.KindReturn, Limit: c.Limit, Key: c.Key, Receipt: c.Receipt}
			l.ask(c.End+l.random.Int64N(4*l.every), back, c.Receipt.Serial)
		} else if l.random.Float64() < l.mute {
			c.Receipt = nil
		}
	}
	if lost {
		c.Outcome, c.Error = history.Failed, "deadline exceeded"
		if c.Kind == history.KindCheck {
			c.Receipt = nil
		}
	}
	l.seen.Calls = append(l.seen.Calls, c)
}

func (l *limiter) fresh(generation int64) *position {
	b := &position{tat: -1 << 60, generation: generation, taken: map[uint64]bool{}, whole: map[uint64][]history.Span{}}
	if l.epsilon > 0 {
		b.skew = l.random.Int64N(2*l.epsilon+1) - l.epsilon
	}
	return b
}

// judgedBy ends what was paid under another version of the limit: it is not given back any more, nor spent again.
func (b *position) judgedBy(v history.Limit) {
	if b.under != v {
		b.under = v
		b.free = nil
		clear(b.whole)
	}
}

// version is the one in force.
func (l *limiter) version(at int64) history.Limit {
	now := l.limits[0]
	for _, v := range l.limits {
		if v.At <= at {
			now = v
		}
	}
	return now
}

// limit is the one in force, in its smallest numbers.
func (l *limiter) limit(at int64) (capacity, n, p int64) {
	now := l.version(at)
	a, b := now.Tokens, now.PerNS
	for b != 0 {
		a, b = b, a%b
	}
	return now.Capacity, now.Tokens / a, now.PerNS / a
}

// check decides at a time. While an old owner has line left, it may be asked instead.
func (l *limiter) check(b *position, at int64, c *history.Call) {
	capacity, n, p := l.limit(at)
	now := (at + b.skew - epoch) * n
	if o := b.old; o != nil && l.random.IntN(2) == 0 {
		start := max(o.tat, now)
		if end := start + c.Cost*p; end <= now+capacity*p && end <= o.end {
			o.tat = end
			c.Outcome, c.Receipt = history.Admitted, o.receipt(n, start, end, nil, "old")
			return
		}
	}
	length := c.Cost * p
	credit := int64(0)
	for i, s := range b.free {
		most := max(0, b.tat-now) - credit
		if size := s.End - s.Start; size > most {
			b.free[i].Start = s.End - max(0, most)
		}
		credit += b.free[i].End - b.free[i].Start
	}
	if max(b.tat-credit, now)+length > now+capacity*p {
		c.Outcome = history.Denied
		return
	}
	var again []history.Span
	for len(b.free) > 0 && length > 0 {
		s := b.free[0]
		cut := min(s.End, s.Start+length)
		if cut > s.Start {
			again = append(again, history.Span{Start: s.Start, End: cut})
		}
		length -= cut - s.Start
		b.free[0].Start = cut
		if cut == s.End {
			b.free = b.free[1:]
		}
	}
	start := max(b.tat, now)
	if length == 0 {
		start = b.tat
	}
	b.tat = start + length
	c.Outcome, c.Receipt = history.Admitted, b.receipt(n, start, b.tat, again, "new")
}

func (b *position) receipt(n, start, end int64, again []history.Span, owner string) *history.Receipt {
	r := &history.Receipt{
		Generation: b.generation, Owner: fmt.Sprint(owner, " of ", b.generation), Serial: b.serial,
		Span: history.Span{Start: down(start, n), End: down(end, n)},
	}
	b.whole[b.serial] = append([]history.Span{{Start: start, End: end}}, again...)
	b.serial++
	for _, s := range again {
		r.Reuses = append(r.Reuses, history.Span{Start: down(s.Start, n), End: down(s.End, n)})
	}
	return r
}

// down is a position in nanoseconds, rounded down.
func down(a, n int64) int64 {
	ns := a / n
	if a%n < 0 {
		ns--
	}
	return epoch + ns
}

func (b *position) giveBack(serial uint64, generation int64) history.Outcome {
	if generation != b.generation || b.taken[serial] || b.whole[serial] == nil {
		return history.Ignored
	}
	b.taken[serial] = true
	for _, s := range b.whole[serial] {
		if s.End > s.Start {
			b.free = append(b.free, s)
		}
	}
	return history.Taken
}

// reset begins a new generation, as far ahead as anything can be reserved. What an owner holds by then it may still spend.
func (l *limiter) reset(b *position, at int64) {
	capacity, n, p := l.limit(at)
	old := *b
	old.end = (at+old.skew-epoch)*n + capacity*p + history.Ahead*n
	*b = *l.fresh(max(at+capacity*p/n+1_500_000_000, b.generation+1))
	b.skew = old.skew
	b.tat = (at + b.skew - epoch) * n
	b.old = &old
	old.free = nil
}
