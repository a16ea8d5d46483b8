package history_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A plant is one fault in a history that is good without it, and who must find it.
type plant struct {
	checker string // that finds it, and no other does
	fault   string
	scene   scene
	// edit makes the fault, and says whether this history has a place for it.
	edit func(*history.History) bool
	says string // part of what is said about it
}

// Histories in which something is denied, something is given back, and nothing is ever denied.
var (
	busy = scene{
		limits: []history.Limit{token(10, 1, 20*millisecond)}, keys: 3, checks: 600, every: 5 * millisecond,
		takes: 3 * millisecond, most: 2, epsilon: millisecond,
	}
	giving = scene{
		limits: []history.Limit{token(100_000, 1, 20*millisecond)}, keys: 2, checks: 300, every: 5 * millisecond,
		takes: 2 * millisecond, most: 1, epsilon: millisecond, returns: 0.5,
	}
	easy = scene{
		limits: []history.Limit{token(50, 1, 10*millisecond)}, keys: 2, checks: 300, every: 20 * millisecond,
		takes: 5 * millisecond, most: 1, epsilon: millisecond,
	}
	mute = scene{
		limits: []history.Limit{token(5, 1, 250_000)}, keys: 1, checks: 300, every: 200_000,
		takes: 100_000, most: 1, epsilon: millisecond, mute: 1,
	}
)

// Histories of limits that count entries or have windows, all asked for more than they admit.
func counting(algorithm string, returns, extends float64) scene {
	return scene{
		limits: []history.Limit{{Name: "api", Algorithm: algorithm, Capacity: 6, Length: 200 * millisecond}}, keys: 2, checks: 600,
		every: 5 * millisecond, takes: 3 * millisecond, most: 2, epsilon: millisecond, returns: returns, extends: extends,
	}
}

// some is the first call after the middle that f likes, or nil.
func some(h *history.History, f func(c *history.Call) bool) *history.Call {
	for i := len(h.Calls) / 2; i < len(h.Calls); i++ {
		if f(&h.Calls[i]) {
			return &h.Calls[i]
		}
	}
	return nil
}

func isAdmitted(c *history.Call) bool {
	return c.Kind == history.KindCheck && c.Outcome == history.Admitted
}

// edited is an edit of some call that f likes.
func edited(f func(*history.Call) bool, change func(*history.History, *history.Call)) func(*history.History) bool {
	return func(h *history.History) bool {
		c := some(h, f)
		if c != nil {
			change(h, c)
		}
		return c != nil
	}
}

// reuse is the first call that spends a piece of line again, and the return of that piece.
func reuse(h *history.History) (again, back *history.Call) {
	for i := range h.Calls {
		c := &h.Calls[i]
		if !isAdmitted(c) || c.Receipt == nil || len(c.Receipt.Reuses) != 1 {
			continue
		}
		for j := range h.Calls {
			r := &h.Calls[j]
			if r.Kind == history.KindReturn && r.Outcome == history.Taken && r.Key == c.Key && r.Receipt.Span == c.Receipt.Reuses[0] {
				return c, r
			}
		}
	}
	return nil, nil
}

func plants() []plant {
	return []plant{
		{"disjoint", "a nanosecond spent twice", busy, oneNanosecond, "overlap by 1 ns"},
		{"disjoint", "a generation out of nothing", busy, func(h *history.History) bool {
			for i := len(h.Calls) / 2; i < len(h.Calls); i++ {
				if isAdmitted(&h.Calls[i]) {
					h.Calls[i].Receipt.Generation = 5
				}
			}
			return true
		}, "no reset had begun"},
		{"lengths", "a nanosecond too short", busy, edited(isAdmitted, func(_ *history.History, c *history.Call) {
			c.Receipt.End--
		}), "ns long, not"},
		{"lengths", "one token more than was asked for", easy, edited(isAdmitted, func(_ *history.History, c *history.Call) {
			c.Cost = 0
		}), "ns long, not"},
		{"reuses", "spent again, and not given back", giving, func(h *history.History) bool {
			_, back := reuse(h)
			if back != nil {
				back.Outcome = history.Ignored
			}
			return back != nil
		}, "more often than it was given back"},
		{"reuses", "spent again before it was given back", giving, func(h *history.History) bool {
			again, back := reuse(h)
			if back != nil {
				back.Start, back.End = again.End+1, again.End+2
			}
			return back != nil
		}, "more often than it was given back"},
		{"reuses", "spent again twice", giving, func(h *history.History) bool {
			again, _ := reuse(h)
			if again == nil || slices.ContainsFunc(h.Calls, func(c history.Call) bool { // given back once more?
				return c.Kind == history.KindReturn && slices.Equal(c.Receipt.Reuses, again.Receipt.Reuses)
			}) {
				return false
			}
			other := some(h, func(c *history.Call) bool {
				return isAdmitted(c) && c.Key == again.Key && len(c.Receipt.Reuses) == 1 && c != again &&
					c.Receipt.Reuses[0].End-c.Receipt.Reuses[0].Start == again.Receipt.Reuses[0].End-again.Receipt.Reuses[0].Start
			})
			if other != nil {
				other.Receipt.Reuses[0] = again.Receipt.Reuses[0]
			}
			return other != nil
		}, "more often than"},
		{"reuses", "taken back twice", giving, edited(func(c *history.Call) bool {
			return c.Outcome == history.Taken
		}, func(h *history.History, c *history.Call) { h.Calls = append(h.Calls, *c) }), "taken back twice"},
		{"reuses", "a receipt made up", giving, edited(func(c *history.Call) bool {
			return c.Outcome == history.Taken
		}, func(h *history.History, c *history.Call) {
			another, made := *c, *c.Receipt
			made.Serial += 1000
			another.Receipt = &made
			h.Calls = append(h.Calls, another)
		}), "no check was answered with"},
		{"placed", "a nanosecond too early", easy, func(h *history.History) bool {
			first := &h.Calls[0]
			length := first.Receipt.End - first.Receipt.Start
			first.Receipt.Start = first.Start - millisecond - 1
			first.Receipt.End = first.Receipt.Start + length
			return true
		}, "begins 1 ns before"},
		{"placed", "a nanosecond beyond the bucket", easy, func(h *history.History) bool {
			last := &h.Calls[len(h.Calls)-1]
			length := last.Receipt.End - last.Receipt.Start
			last.Receipt.End = last.End + millisecond + 500*millisecond + 1
			last.Receipt.Start = last.Receipt.End - length
			return true
		}, "more than the bucket holds"},
		{"windows", "one token too many", mute, oneToken, "tokens too many"},
		{"counts", "one too many in a sliding window", counting(history.SlidingWindow, 0.2, 0), oneMore("counts"), "were admitted, and at most 6"},
		{"counts", "one too many in a log", counting(history.SlidingLog, 0.2, 0), oneMore("counts"), "were admitted, and at most 6"},
		{"counts", "one too many in a weighted window", counting(history.Weighted, 0.2, 0), oneMore("counts"), "were admitted, and at most "},
		{"counts", "one too many in a fixed window", counting(history.FixedWindow, 0, 0), oneMore("counts"), "were admitted, and at most 6"},
		{"counts", "a return that had no effect", counting(history.SlidingLog, 0.9, 0), edits(func(c *history.Call) bool {
			return c.Outcome == history.Taken
		}, func(c *history.Call) { c.Outcome = history.Ignored }), "were admitted, and at most 6"},
		{"inside", "one too many inside", counting(history.Concurrency, 0.5, 0.3), oneMore("inside"), "were inside, of at most 6"},
		{"inside", "places of those who die are given away early", counting(history.Concurrency, 0.2, 0), func(h *history.History) bool {
			h.Limits[0].Length += 50 * millisecond
			return true
		}, "were inside, of at most 6"},
		{"inside", "extended, and forgotten", counting(history.Concurrency, 0, 0.2), edits(func(c *history.Call) bool {
			return c.Kind == history.KindExtend && c.Outcome == history.Denied
		}, func(c *history.Call) { c.Outcome = history.Admitted }), "were inside, of at most 6"},
		{"alive", "a place that is never free again", counting(history.Concurrency, 0.5, 0.3), func(h *history.History) bool {
			last := h.Calls[len(h.Calls)-1].End
			for i := range int64(20) {
				at := last + i*second
				h.Calls = append(h.Calls, history.Call{
					Kind: history.KindCheck, Outcome: history.Denied, Limit: "api", Key: "key:0", Cost: 1, Start: at, End: at,
				})
			}
			return true
		}, "is denied although"},
		{"linear", "denied for nothing", easy, edited(isAdmitted, func(h *history.History, c *history.Call) {
			h.Calls = append(h.Calls, history.Call{
				Kind: history.KindCheck, Outcome: history.Denied, Limit: c.Limit, Key: c.Key, Cost: 1, Start: c.End + 1, End: c.End + 2,
			})
		}), "no order"},
		{"enough", "most is denied", busy, func(h *history.History) bool {
			n := 0
			for i := range h.Calls {
				if c := &h.Calls[i]; isAdmitted(c) {
					if n++; n%4 != 0 {
						c.Outcome, c.Receipt, c.End = history.Denied, nil, c.Start+history.Slow+1
					}
				}
			}
			return true
		}, "due tokens were"},
		{"enough", "most fails", busy, func(h *history.History) bool {
			for i := range h.Calls {
				if c := &h.Calls[i]; i%3 != 0 {
					c.Outcome, c.Receipt = history.Failed, nil
				}
			}
			return true
		}, "outside of faults"},
		{"alive", "never decided again", easy, func(h *history.History) bool {
			at := h.Calls[len(h.Calls)/4].Start
			h.Faults = append(h.Faults, history.Fault{Start: at, End: at + millisecond, What: "node-2 is killed"},
				history.Fault{Start: at + millisecond, End: at + millisecond, What: "healed"})
			for i := range h.Calls {
				if c := &h.Calls[i]; c.Start > at && c.Key == "key:0" {
					c.Outcome, c.Receipt = history.Failed, nil
				}
			}
			return true
		}, "was decided"},
	}
}

// oneNanosecond shifts a span so that it takes the last nanosecond of the one before it.
func oneNanosecond(h *history.History) bool {
	ends := map[history.Span]bool{} // by key and end
	for i := range h.Calls {
		if c := &h.Calls[i]; isAdmitted(c) {
			ends[history.Span{Start: int64(c.Key[len(c.Key)-1]), End: c.Receipt.End}] = true
		}
	}
	c := some(h, func(c *history.Call) bool {
		return isAdmitted(c) && ends[history.Span{Start: int64(c.Key[len(c.Key)-1]), End: c.Receipt.Start}] && c.Receipt.Start > c.Start
	})
	if c != nil {
		c.Receipt.Start--
		c.Receipt.End--
	}
	return c != nil
}

// oneToken adds checks of one token to a window, until one is too many.
func oneToken(h *history.History) bool {
	c := some(h, isAdmitted)
	if c == nil {
		return false
	}
	for range 1000 {
		h.Calls = append(h.Calls, history.Call{
			Kind: history.KindCheck, Outcome: history.Admitted, Limit: c.Limit, Key: c.Key, Cost: 1, Start: c.Start, End: c.End,
		})
		if results, err := history.Run(h, millisecond, "windows"); err != nil || results[0].Found > 0 {
			return err == nil
		}
	}
	return false
}

// oneMore adds checks of one token in the place of another one, until the checker finds one too many.
func oneMore(checker string) func(*history.History) bool {
	return func(h *history.History) bool {
		for i := len(h.Calls) / 2; i < len(h.Calls); i++ {
			c := h.Calls[i]
			if !isAdmitted(&c) {
				continue
			}
			c.Cost, c.Receipt = 1, nil
			n := len(h.Calls)
			for range 12 {
				h.Calls = append(h.Calls, c)
				if results, err := history.Run(h, millisecond, checker); err != nil || results[0].Found > 0 {
					return err == nil
				}
			}
			h.Calls = h.Calls[:n]
		}
		return false
	}
}

// edits changes all calls that f likes.
func edits(f func(*history.Call) bool, change func(*history.Call)) func(*history.History) bool {
	return func(h *history.History) (done bool) {
		for i := range h.Calls {
			if f(&h.Calls[i]) {
				change(&h.Calls[i])
				done = true
			}
		}
		return done
	}
}

// Each checker finds the fault that it is there for, and no other finds it: a checker that has found nothing yet proves
// nothing, and one that finds what another one is for tells a reader little.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, p := range slices.Concat(plants(), plantsOfHolds()) {
		t.Run(p.checker+"/"+strings.ReplaceAll(p.fault, " ", "-"), func(t *testing.T) {
			planted := 0
			for seed := range uint64(5) {
				p.scene.seed = seed
				if err := history.Check(p.scene.play(), p.scene.epsilon); err != nil {
					t.Fatalf("seed %d: without the fault: %v", seed, err)
				}
				h := p.scene.play() // once more: a linear check that ran out of time may still read the other one
				if !p.edit(h) {
					continue
				}
				planted++
				names, results := found(t, h, p.scene.epsilon)
				if !slices.Equal(names, []string{p.checker}) {
					t.Errorf("seed %d: found by %v", seed, names)
				}
				for _, r := range results {
					if r.Found > 0 && !strings.Contains(r.Err().Error(), p.says) {
						t.Errorf("seed %d: %v\nwant something with %q", seed, r.Err(), p.says)
					}
				}
			}
			if planted == 0 {
				t.Error("no history had a place for the fault")
			}
		})
	}
}
