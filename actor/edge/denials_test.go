package edge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A flood of a leased limit costs the cluster a check or two for each token, and not one for each check. All of the limit is admitted still.
func TestLeasedDeniedFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 2)
		defer b.close()
		b.set("limits: {l: {capacity: 10, refill: 2/s, consistency: leased}}")
		denied := b.spendAt(of("k", 1, "l"), 1000, 20*time.Second)
		if admitted := 40_000 - denied; admitted < 45 || admitted > 51 {
			t.Errorf("%d are admitted, of 10 at once and 2 a second for 20 s", admitted)
		}
		if asked := b.asked.Load(); asked > 600 { // for each token, while the first answer is on its way too
			t.Errorf("of 40,000 checks, all but some 50 of them denied, %d were put to the node", asked)
		}
	})
}

// An edge says what the owner would say, and a check that costs less is put to the owner.
func TestLeasedDenialIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.set("limits: {l: {capacity: 10, refill: 2/s, consistency: leased}, s: {capacity: 10, refill: 1/h}}")
		if !b.check(0, of("k", 9, "l")).Allowed {
			t.Fatal("a bucket that is full denies")
		}
		told := b.check(0, of("k", 3, "l")).Limits[0]
		b.asked.Store(0)
		pass(200 * time.Millisecond)
		d := b.check(0, of("k", 3, "l"))
		o := d.Limits[0]
		if d.Allowed || b.asked.Load() != 0 || o.Limit != 10 || o.Remaining != 1 || told.RetryAfter-o.RetryAfter != 200*time.Millisecond {
			t.Errorf("200 ms after %+v it says %+v, with %d checks put to the node", told, o, b.asked.Load())
		}
		if d := b.check(0, of("k", 10, "l")); d.Limits[0].RetryAfter != o.RetryAfter+3500*time.Millisecond || b.asked.Load() != 0 {
			t.Errorf("to a check that costs seven more, which come in 3.5 s, it says %+v after %+v", d.Limits[0], o)
		}
		if d := b.check(0, of("k", 3, "l", "s")); d.Allowed || b.asked.Load() != 1 || d.Limits[0].Allowed || d.Limits[1].Limit != 10 {
			t.Errorf("together with another limit, which may deny for longer or count denials, it says %+v, with %d checks put to the node", d, b.asked.Load())
		}
		b.asked.Store(0)
		if d := b.check(0, of("k", 1, "l")); !d.Allowed || b.asked.Load() != 1 {
			t.Errorf("to a check that costs less, it says %+v, with %d checks put to the node", d, b.asked.Load())
		}
		pass(told.RetryAfter)
		b.asked.Store(0)
		if d := b.check(0, of("k", 3, "l")); b.asked.Load() != 1 {
			t.Errorf("when the denial is over, the owner is not asked: %+v", d)
		}
	})
}

// A denial is not repeated where it comes from a node that has little of the key's line, where the edge is not to, under other numbers, or where an override has denied.
func TestDenialsThatAreNotRepeated(t *testing.T) {
	for what, c := range map[string]struct {
		first   string // the node that decides about keys first
		repeats time.Duration
		changed string // the limits after the denial
		asked   int64
	}{
		"of the first node":      {first: "here", changed: leasedOfTen},
		"of another node":        {first: "there", changed: leasedOfTen, asked: 1},
		"where it is not wanted": {first: "here", repeats: -1, changed: leasedOfTen, asked: 1},
		"of other numbers":       {first: "here", changed: "limits: {l: {capacity: 11, refill: 1/h, consistency: leased}}", asked: 1},
		"of an override":         {first: "here", changed: "limits: {l: {capacity: 10, refill: 1/h, consistency: leased, overrides: [{key: k, deny: true}]}}", asked: 1},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 0)
				defer b.close()
				b.set(leasedOfTen)
				e, err := edge.New(edge.Config{Cluster: placed{far{b.system, b}, c.first}, Limits: b.doc.Load, Go: b.background, RepeatDenials: c.repeats})
				if err != nil {
					t.Fatal(err)
				}
				b.edges = append(b.edges, e)
				if !b.check(0, of("k", 10, "l")).Allowed || b.check(0, of("k", 1, "l")).Allowed {
					t.Fatal("of ten, ten are not admitted, or more are")
				}
				b.set(c.changed)
				b.asked.Store(0)
				if d := b.check(0, of("k", 1, "l")); d.Allowed && c.changed == leasedOfTen || b.asked.Load() != c.asked {
					t.Errorf("%+v, and %d checks were put to the node, want %d", d, b.asked.Load(), c.asked)
				}
				pass(lease.MaxKnown)
				b.asked.Store(0)
				b.check(0, of("k", 1, "l"))
				if b.asked.Load() != 1 {
					t.Error("after a second the node is not asked")
				}
			})
		})
	}
}

// What this edge gives back can pass at once.
func TestDenialIsForgottenWhereTokensComeBack(t *testing.T) {
	for _, terms := range []string{"consistency: leased", "hot: lease"} {
		t.Run(terms, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.set("limits: {l: {capacity: 10, refill: 1/h, " + terms + "}}")
				r := of("k", 10, "l")
				r.Receipt = true
				d := b.check(0, r)
				if b.check(0, of("k", 1, "l")).Allowed {
					t.Fatal("of ten, more are admitted")
				}
				if back, err := b.edges[0].Return(t.Context(), "k", d.Receipts); err != nil || len(back) != 1 || !back[0] {
					t.Fatalf("%v, %v", back, err)
				}
				if !b.check(0, of("k", 1, "l")).Allowed {
					t.Error("all ten tokens came back, and none of them passes")
				}
			})
		})
	}
}

// A settlement gives back what was held, and an edge does not know of which key: denials of such a limit are not repeated. Nor are those of a key that is not hot, of a limit that is leased
// while it is.
func TestDenialsOfOwnersOnly(t *testing.T) {
	for _, terms := range []string{"consistency: leased, hold: 1m", "hot: lease, hold: 1m", "hot: lease"} {
		t.Run(terms, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.set("limits: {l: {capacity: 10, refill: 1/m, " + terms + "}}")
				b.check(0, of("k", 10, "l"))
				b.check(0, of("k", 1, "l"))
				b.asked.Store(0)
				if b.check(0, of("k", 1, "l")).Allowed || b.asked.Load() != 1 {
					t.Errorf("%d checks were put to the node, want 1", b.asked.Load())
				}
			})
		})
	}
}

const leasedOfTen = "limits: {l: {capacity: 10, refill: 1/h, consistency: leased}}"

// placed says which node decides about keys first.
type placed struct {
	limit.Limiter

	first string
}

func (p placed) First(string) string { return p.first }

func (p placed) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	d, err := p.Limiter.Check(ctx, r)
	d.Node = "here"
	return d, err
}

func (b *bed) set(limits string) { b.doc.Store(document(b.tb, limits)) }
