package limit_test

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An ending is when a hold is settled, and for how much.
type ending struct {
	at, used int64
	id       uint64
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// settleUpTo settles what is due by then, and returns by how much that has changed what is charged.
func (e *endings) settleUpTo(t *testing.T, l *limit.Ledger, now int64) (charged int64) {
	t.Helper()
	for e.Len() > 0 && (*e)[0].at <= now {
		next := heap.Pop(e).(ending)
		before, listed := l.HoldOf(next.id)
		if !listed {
			t.Fatalf("the hold that is settled at %d is listed no more", next.at)
		}
		taken := before.Charged(next.at)
		h, listed := l.Settle(next.at, limit.HoldChange{ID: next.id, Used: next.used}, limit.MaxCount)
		if !listed || h.Used != next.used {
			t.Fatalf("settled for %d: %+v, %v", next.used, h, listed)
		}
		charged += next.used - taken
	}
	return charged
}

// TestAMillionHolds takes a million holds of one key within a month, by day three times as many as by night, settles them for other amounts,
// some of them late, and lets some expire. Once the last one is folded, what was used stands in the entries, and the ledger has less
// than 4 kB. Ledgers of other kinds of limits are folded likewise.
func TestAMillionHolds(t *testing.T) {
	const second, day, month = int64(time.Second), 24 * int64(time.Hour), 28 * 24 * int64(time.Hour)
	holds := limit.Holds{Longest: time.Hour}
	for name, test := range map[string]struct {
		holds int
		limit limit.Limit
		most  int // bytes, once folded
	}{
		"a month":          {millionHolds, limit.Limit{Name: "l", Algorithm: limit.FixedWindow, Capacity: 1e13, Per: "month", Timezone: "UTC", Holds: holds}, 64},
		"a sliding window": {millionHolds / 10, limit.Limit{Name: "l", Algorithm: limit.SlidingWindow, Capacity: 1e13, Window: 30 * 24 * time.Hour, Holds: holds}, 1024},
		"a slow bucket":    {millionHolds / 10, limit.Limit{Name: "l", Capacity: 1e9, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: holds}, 64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			rule := ruleOf(t, test.limit)
			l := rule.NewLedger(0)
			start := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
			var (
				waiting      endings
				sum          int64
				most, listed int
			)
			now := start
			for i := range test.holds {
				apart := month / int64(test.holds)
				if night := (now-start)%day < day/2; night {
					apart = apart * 3 / 2
				} else {
					apart /= 2
				}
				now += apart/2 + r.Int64N(apart)
				sum += waiting.settleUpTo(t, l, now)
				amount, lasts := 500+r.Int64N(1000), (10+r.Int64N(110))*second
				id := r.Uint64() | 1
				l.Hold(now, amount, id, now+lasts, false)
				sum += amount
				switch r.IntN(20) {
				case 0: // it expires, and is charged
				case 1:
					heap.Push(&waiting, ending{now + lasts + r.Int64N(second), r.Int64N(2 * amount), id})
				default:
					heap.Push(&waiting, ending{now + r.Int64N(lasts), amount/2 + r.Int64N(amount), id})
				}
				if i%1000 == 0 {
					most, listed = max(most, len(l.Append(nil, limit.OwnerID{1}))), max(listed, len(l.Holds()))
				}
			}
			sum += waiting.settleUpTo(t, l, now+day)
			now += int64(time.Hour)
			used := l.Used(now)
			stored := l.Append(nil, limit.OwnerID{1})
			t.Logf("at most %d listed, in %d bytes; once folded %d bytes, over %v", listed, most, len(stored), time.Duration(now-start))
			if len(stored) >= 4000 || len(stored) > test.most || len(l.Holds()) > 0 {
				t.Errorf("%d bytes with %d holds are left, want at most %d", len(stored), len(l.Holds()), test.most)
			}
			if most > 56<<10 {
				t.Errorf("%d bytes were stored meanwhile", most)
			}
			if test.limit.Refill.Tokens == 0 && used != sum {
				t.Errorf("%d count, want %d", used, sum)
			}
			if test.limit.Refill.Tokens > 0 && used <= 0 {
				t.Error("the bucket is full")
			}
		})
	}
}
