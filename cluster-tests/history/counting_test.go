package history_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A counter is the reference for limits that are no token bucket: every key has a list of what was admitted.
type counter struct {
	scene
	random *rand.Rand
	queue  queue
	keys   map[string]*tallied
	serial uint64
	seen   history.History
}

type tallied struct {
	skew    int64
	entries []tally
}

// A tally is one admission, by the clock of the limiter.
type tally struct {
	at     int64
	cost   int64
	serial uint64
}

// count is the history of a scene whose limit is no token bucket.
func (s scene) count() *history.History {
	l := &counter{scene: s, random: rand.New(rand.NewPCG(s.seed, 1)), keys: map[string]*tallied{}}
	l.seen.Limits = slices.Clone(s.limits)
	at := epoch
	for i := range s.checks {
		at += l.random.Int64N(2 * s.every)
		key := fmt.Sprint("key:", l.random.IntN(s.keys))
		l.ask(at, history.Call{
			Kind: history.KindCheck, Limit: s.limits[0].Name, Key: key, Cost: 1 + l.random.Int64N(s.most), Via: fmt.Sprint("caller ", i%7),
		})
		if l.random.Float64() < s.resets && s.limits[0].Algorithm != history.Concurrency {
			l.ask(at, history.Call{Kind: history.KindReset, Limit: s.limits[0].Name, Key: key})
		}
	}
	for l.queue.Len() > 0 {
		l.decide(heap.Pop(&l.queue).(step))
	}
	slices.SortStableFunc(l.seen.Calls, func(a, b history.Call) int { return cmp.Compare(a.End, b.End) })
	return &l.seen
}

func (l *counter) ask(start int64, c history.Call) {
	at := start + l.random.Int64N(l.takes+1)
	c.Start, c.End = start, at+l.random.Int64N(l.takes+1)
	heap.Push(&l.queue, step{at: at, call: c})
}

func (l *counter) decide(s step) {
	k := l.keys[s.call.Key]
	if k == nil {
		k = &tallied{skew: l.random.Int64N(2*l.epsilon+1) - l.epsilon}
		l.keys[s.call.Key] = k
	}
	lost := l.random.Float64() < l.failures
	c := s.call
	if now := s.at + k.skew; !lost || l.random.IntN(2) == 0 { // it may have failed, and happened all the same
		switch c.Kind {
		case history.KindCheck:
			l.check(k, now, &c)
		case history.KindReturn:
			c.Outcome = history.Ignored
			if l.limits[0].Algorithm != history.FixedWindow && k.remove(c.Receipt.Serial) {
				c.Outcome = history.Taken
			}
		case history.KindExtend:
			l.extend(k, now, &c)
		case history.KindReset:
			k.entries, c.Outcome = nil, history.Done
		case history.KindHold, history.KindSettle: // have a reference of their own
		}
	}
	if lost {
		c.Outcome, c.Error = history.Failed, "deadline exceeded"
		if c.Kind == history.KindCheck {
			c.Receipt = nil
		}
	}
	l.seen.Calls = append(l.seen.Calls, c)
	if c.Outcome == history.Admitted && c.Receipt != nil {
		l.follow(c)
	}
}

// follow is what a caller does with what it was given: it returns it, extends it, or dies.
func (l *counter) follow(c history.Call) {
	next := history.Call{Limit: c.Limit, Key: c.Key, Receipt: c.Receipt}
	switch at := l.random.Float64(); {
	case at < l.returns:
		next.Kind = history.KindReturn
		l.ask(c.End+l.random.Int64N(8*l.every), next)
	case at < l.returns+l.extends && l.limits[0].Algorithm == history.Concurrency:
		next.Kind = history.KindExtend
		l.ask(c.End+l.random.Int64N(l.limits[0].Length*5/4), next)
	}
}

func (k *tallied) remove(serial uint64) bool {
	n := len(k.entries)
	k.entries = slices.DeleteFunc(k.entries, func(e tally) bool { return e.serial == serial })
	return len(k.entries) < n
}

// used is how much counts now.
func (l *counter) used(k *tallied, now int64) (sum int64) {
	length := l.limits[0].Length
	window := now - now%length
	for _, e := range k.entries {
		switch l.limits[0].Algorithm {
		case history.SlidingLog, history.Concurrency:
			if now < e.at+length {
				sum += e.cost
			}
		case history.SlidingWindow:
			if part := max(1, length/60); now < e.at-e.at%part+part+length {
				sum += e.cost
			}
		case history.FixedWindow:
			if e.at >= window {
				sum += e.cost
			}
		case history.Weighted:
			if e.at >= window {
				sum += e.cost
			}
		}
	}
	if l.limits[0].Algorithm == history.Weighted {
		before := int64(0)
		for _, e := range k.entries {
			if e.at < window && e.at >= window-length {
				before += e.cost
			}
		}
		sum += (before*(window+length-now) + length - 1) / length
	}
	return sum
}

func (l *counter) check(k *tallied, now int64, c *history.Call) {
	limit := l.limits[0]
	used := l.used(k, now)
	if used+c.Cost > limit.Capacity {
		c.Outcome = history.Denied
		return
	}
	l.serial++
	k.entries = append(k.entries, tally{now, c.Cost, l.serial})
	c.Outcome = history.Admitted
	c.Receipt = &history.Receipt{Owner: "o", Serial: l.serial, Span: history.Span{Start: now, End: now + limit.Length}}
	if limit.Algorithm == history.FixedWindow { // it spends the line behind the window
		from, token := now-now%limit.Length+limit.Length, limit.Length/limit.Capacity
		c.Receipt.Span = history.Span{Start: from + used*token, End: from + (used+c.Cost)*token}
		if l.resets > 0 {
			c.Receipt = nil // the line begins again, and there are no generations here
		}
	}
}

func (l *counter) extend(k *tallied, now int64, c *history.Call) {
	c.Outcome = history.Denied
	for i := range k.entries {
		if e := &k.entries[i]; e.serial == c.Receipt.Serial && now < e.at+l.limits[0].Length {
			e.at = now
			c.Outcome = history.Admitted
			c.Receipt = &history.Receipt{Owner: "o", Serial: e.serial, Span: history.Span{Start: now, End: now + l.limits[0].Length}}
		}
	}
}
