package nemesis

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An excess measures how far beyond an eventual limit was admitted: for a moment that is as it should be, so no judge sees such checks. What it finds is no
// more than what there was, since a check whose answer was lost does not count.
type excess struct {
	rules map[string]*limit.Rule // the eventual limits

	mu       sync.Mutex
	admitted map[string][]admission // by limit and key
}

// An admission is an admitted check.
type admission struct {
	limit      string
	cost       int64
	start, end time.Time
}

func newExcess(doc *limit.Document) *excess {
	x := &excess{rules: map[string]*limit.Rule{}, admitted: map[string][]admission{}}
	for _, r := range doc.Rules() {
		if r.Consistency == limit.Eventual {
			x.rules[r.Name] = r
		}
	}
	return x
}

// of says whether a limit is one that is measured.
func (x *excess) of(name string) bool { return x.rules[name] != nil }

// admits counts an admitted check.
func (x *excess) admits(key string, a admission) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.admitted[a.limit+" "+key] = append(x.admitted[a.limit+" "+key], a)
}

// worst is the most that was admitted of one key beyond the capacity and the refill of a window, in tokens, and how long that window was.
func (x *excess) worst() (tokens float64, window time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, all := range x.admitted {
		if t, w := beyond(all, x.rules[all[0].limit]); t > tokens {
			tokens, window = t, w
		}
	}
	return tokens, window
}

// beyond is what admissions of one bucket amount to beyond the limit in the worst window, which is from the beginning of one of them to the end of all that began
// up to another one.
func beyond(all []admission, rule *limit.Rule) (tokens float64, window time.Duration) {
	slices.SortFunc(all, func(a, b admission) int { return cmp.Compare(a.start.UnixNano(), b.start.UnixNano()) })
	var level float64            // what the bucket lacks of being full; it has no bottom
	var began, end, at time.Time // since when it is not full, by when all was admitted that it lacks, and the time of level
	for _, a := range all {
		level -= float64(a.start.Sub(at).Nanoseconds()) / rule.PerToken()
		if level <= 0 {
			level, began, end = 0, a.start, a.end
		}
		at = a.start
		if a.end.After(end) {
			end = a.end
		}
		level += float64(a.cost)
		late := float64(end.Sub(a.start).Nanoseconds()) / rule.PerToken()
		if over := level - late - float64(rule.Capacity); over > tokens {
			tokens, window = over, end.Sub(began)
		}
	}
	return tokens, window
}

// String is a line about it.
func (x *excess) String() string {
	tokens, window := x.worst()
	if tokens == 0 {
		return "no window had more than the limit"
	}
	return fmt.Sprintf("at most %.1f tokens beyond the limit, in a window of %.1f s", tokens, window.Seconds())
}
