package actor

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// receipts are what a test has been given, by bucket and generation.
type receipts struct {
	mu  sync.Mutex
	all map[spentBucket][]spent
}

type spentBucket struct {
	key, limit string
	generation int64
}

type spent struct {
	limit.Receipt
	cost int64
}

// add takes in the receipts of a decision. It may be called by several goroutines.
func (rs *receipts) add(key string, cost int64, d limit.Decision) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.all == nil {
		rs.all = map[spentBucket][]spent{}
	}
	for _, r := range d.Receipts {
		b := spentBucket{key, r.Limit, r.Generation}
		rs.all[b] = append(rs.all[b], spent{r, cost})
	}
}

func (rs *receipts) count() (n int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, all := range rs.all {
		n += len(all)
	}
	return n
}

// verify fails t unless there are receipts, all spans of a bucket are disjoint, and each receipt's length is that of its
// cost. Both ends of a span are rounded down, so a length is exact to within a nanosecond.
func (rs *receipts) verify(tb testing.TB) {
	tb.Helper()
	doc := document(tb, stored)
	if rs.count() == 0 {
		tb.Error("nothing was admitted")
	}
	for b, all := range rs.all {
		rule, _ := doc.Rule(b.limit)
		slices.SortFunc(all, func(x, y spent) int { return int(x.Start - y.Start) })
		for i, r := range all {
			if i > 0 && all[i-1].End > r.Start {
				tb.Errorf("%+v: %+v and %+v overlap", b, all[i-1], r)
			}
			length := r.End - r.Start
			for _, reuse := range r.Reuses {
				length += reuse.End - reuse.Start
			}
			slack := int64(1 + len(r.Reuses))
			if exact := rule.Length(r.cost).NS; length < exact-slack || length > exact+slack {
				tb.Errorf("%+v: %+v has the length %d, want %d", b, r, length, exact)
			}
		}
	}
}

// TestReceipts spends several limits of several keys at once: spans are disjoint and as long as they should be.
func TestReceipts(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{open(t, storage.Config{})}})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var (
		wait sync.WaitGroup
		all  receipts
	)
	names := []string{"fast", "odd", "slow", "wide"}
	for i := range uint64(16) {
		random := rand.New(rand.NewPCG(seed, i))
		wait.Go(func() {
			for range 500 {
				r := spend([]string{"a", "b", "c"}[random.IntN(3)], 1+random.Int64N(3))
				for _, j := range random.Perm(len(names))[:1+random.IntN(len(names))] {
					r.Limits = append(r.Limits, limit.Named(names[j]))
				}
				r.Receipt = true
				d, err := s.Check(t.Context(), r)
				if err != nil {
					t.Error(err)
					return
				}
				all.add(r.Key, r.Cost, d)
			}
		})
	}
	wait.Wait()
	all.verify(t)
}

func takeBack(tb testing.TB, s *System, key string, rs ...limit.Receipt) []bool {
	tb.Helper()
	returned, err := s.Return(tb.Context(), key, rs)
	if err != nil {
		tb.Fatal(err)
	}
	return returned
}

// proof is the receipt of a check that must be admitted.
func proof(tb testing.TB, s *System, r limit.Request) limit.Receipt {
	tb.Helper()
	r.Receipt = true
	d := decide(tb, s, r)
	if !d.Allowed || len(d.Receipts) != 1 {
		tb.Fatalf("%+v: got %+v, want one receipt", r, d)
	}
	return d.Receipts[0]
}

func TestReturn(t *testing.T) {
	store := open(t, storage.Config{})
	s := start(t, Config{Replicas: []Replica{store}})
	other := start(t, Config{Replicas: []Replica{store}})
	elsewhere := proof(t, other, spend("a", 1, "demo"))
	first := proof(t, s, spend("a", 3, "demo"))
	second := proof(t, s, spend("a", 2, "demo"))

	unknown, foreign, wrong := first, first, first
	unknown.Serial += 100
	foreign.Owner[0]++
	wrong.End++
	got := takeBack(t, s, "a", unknown, foreign, wrong, elsewhere, first, first, second)
	if want := []bool{false, false, false, false, true, false, true}; !slices.Equal(got, want) {
		t.Fatalf("returns took effect: %v, want %v", got, want)
	}
	if got := takeBack(t, other, "a", first, second); slices.Contains(got, true) {
		t.Errorf("another System took them back as well: %v", got)
	}
	if got := takeBack(t, s, "nobody", first); slices.Contains(got, true) {
		t.Errorf("a key that sleeps took it back: %v", got)
	}
	if got := takeBack(t, s, "a", first, second); slices.Contains(got, true) {
		t.Errorf("returned twice: %v", got)
	}
	// 10 tokens, of which 3 + 2 were spent and came back, and 1 was spent by the other.
	if got := drain(t, s, "a", "demo"); got != 9 {
		t.Errorf("%d were admitted after the return, want 9", got)
	}
}

// TestReturnConcurrently has callers spend, return and spend again: what is admitted less what is returned is the bucket.
func TestReturnConcurrently(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{open(t, storage.Config{})}})
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		net  int64
	)
	for i := range 16 {
		wait.Go(func() {
			for j := range 200 {
				r := spend("a", 1, "slow")
				r.Receipt = true
				d, err := s.Check(t.Context(), r)
				if err != nil {
					t.Error(err)
					return
				}
				back := int64(0)
				if d.Allowed && (i+j)%3 > 0 {
					took, err := s.Return(t.Context(), "a", append(d.Receipts, d.Receipts...))
					if err != nil || len(took) != 2 || took[1] {
						t.Errorf("returned twice: %v, %v", took, err)
						return
					}
					if took[0] {
						back = 1
					}
				}
				mu.Lock()
				if d.Allowed {
					net += 1 - back
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	net += drain(t, s, "a", "slow")
	if net != 1000 {
		t.Errorf("%d were admitted and not returned, want exactly 1000", net)
	}
}

// TestReturnTooLate returns what the bucket has got back by itself.
func TestReturnTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		r := proof(t, s, spend("a", 7, "odd"))
		pass(7*7*time.Second/3 + time.Hour)
		if got := takeBack(t, s, "a", r); slices.Contains(got, true) {
			t.Errorf("a full bucket took back more: %v", got)
		}
		if got := drain(t, s, "a", "odd"); got != 7 {
			t.Errorf("%d were admitted, want 7", got)
		}
	})
}

// TestReturnOnIdle says that an actor stays awake while a return could still be of use.
func TestReturnOnIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		r := proof(t, s, spend("a", 10, "demo"))
		pass(5 * time.Minute)
		if got := takeBack(t, s, "a", r); !slices.Equal(got, []bool{true}) {
			t.Fatalf("returned after 5 min: %v", got)
		}
		if got := drain(t, s, "a", "demo"); got != 10 {
			t.Errorf("%d were admitted, want 10", got)
		}
	})
}
