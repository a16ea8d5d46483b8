package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// An override of the document counts under each consistency: a key that is denied is, one that may pass does, and one with other numbers has them.
func TestOverridesCountAtEdges(t *testing.T) {
	for _, consistency := range []string{"strong", "leased", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.doc.Store(document(t, "limits: {l: {capacity: 10, refill: 1/s, consistency: "+consistency+
					", overrides: [{key: bad, deny: true}, {key: vip, allow: true}, {key: big, capacity: 1000, refill: 100/s}]}}"))
				for key, want := range map[string]int{"bad": 0, "vip": 1000, "big": 1000} {
					if got := b.spend(of(key, 1, "l"), 5*time.Millisecond, 5*time.Second); got != want {
						t.Errorf("%s: %d of 1000 are admitted, want %d", key, got, want)
					}
				}
			})
		})
	}
}

// An override that is set live counts for an eventual limit, too, of which this edge hears by the owner's answers alone, and ends as soon as it does there.
func TestLiveOverridesCountForEventualLimits(t *testing.T) {
	for says, want := range map[string]int{"allow": 500, "deny": 0, "capacity: 500, refill: 100/s": 500} { // of 500: only of numbers does the owner say where its line is
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := document(t, "limits: {l: {capacity: 10, refill: 1/s, consistency: eventual}}")
				b := unknowingBed(t, base)
				defer b.close()
				b.spend(of("k", 1, "l"), 10*time.Millisecond, time.Second)
				b.override(base, "k", says)
				b.spend(of("k", 1, "l"), 10*time.Millisecond, 5*time.Second)
				if got := b.spend(of("k", 1, "l"), 10*time.Millisecond, 5*time.Second); got != want {
					t.Errorf("%d of 500 are admitted by the override, want %d", got, want)
				}
				b.doc.Store(base)
				if got := b.spend(of("k", 1, "l"), 10*time.Millisecond, 10*time.Second); got > 25 || got < 5 {
					t.Errorf("%d of 1000 are admitted in 10s once the override is gone", got)
				}
			})
		})
	}
}

// What the owner of a leased limit denies by an override that is set live is not repeated: this edge does not hear when another one takes its place.
func TestDenialsByLiveOverridesAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := document(t, "limits: {l: {capacity: 10, refill: 100/s, consistency: leased}}")
		b := unknowingBed(t, base)
		defer b.close()
		b.override(base, "k", "refill: 1/h")
		if got := b.spend(of("k", 1, "l"), 10*time.Millisecond, 300*time.Millisecond); got != 10 {
			t.Errorf("%d of 30 are admitted by the override, want 10", got)
		}
		b.override(base, "k", "allow")
		if d := b.check(0, of("k", 1, "l")); !d.Allowed {
			t.Errorf("a check is denied by an override that is gone: %+v", d)
		}
	})
}

// unknowingBed has one edge, which goes by a document whatever is in force at the node.
func unknowingBed(t *testing.T, base *limit.Document) *bed {
	t.Helper()
	b := newBed(t, 0)
	b.doc.Store(base)
	e, err := edge.New(edge.Config{Cluster: far{b.system, b}, Limits: func() *limit.Document { return base }, Go: b.background})
	if err != nil {
		t.Fatal(err)
	}
	b.edges = append(b.edges, e)
	return b
}

// override sets an override of l live, over a document.
func (b *bed) override(base *limit.Document, key, says string) {
	b.tb.Helper()
	live, problems := base.WithOverrides([]limit.OverrideChange{{Limit: "l", Key: key, Set: &limit.Override{Limit: "l", Key: key, Says: says}}})
	if len(problems) > 0 {
		b.tb.Fatal(problems)
	}
	b.doc.Store(live)
}
