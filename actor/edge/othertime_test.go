package edge_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// late is a cluster whose answers to checks of a cost take long.
type late struct {
	far

	cost int64
	by   time.Duration
}

func (l late) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	d, err := l.far.Check(ctx, r)
	if r.Cost == l.cost && r.Lease == nil {
		pass(l.by)
	}
	return d, err
}

// A denial that comes after a reset by this edge, or after a jump of its clock, is of another time: it is not repeated.
func TestDenialOfAnotherTime(t *testing.T) {
	for what, happens := range map[string]func(*testing.T, *edge.Edge){
		"a reset": func(t *testing.T, e *edge.Edge) {
			t.Helper()
			if err := e.Reset(t.Context(), "k", limit.Named("l")); err != nil {
				t.Fatal(err)
			}
		},
		"a jump": func(_ *testing.T, e *edge.Edge) { e.Jump() },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 0)
				defer b.close()
				b.set(leasedOfTen)
				e, err := edge.New(edge.Config{Cluster: late{far{b.system, b}, 2, 50 * time.Millisecond}, Limits: b.doc.Load, Go: b.background})
				if err != nil {
					t.Fatal(err)
				}
				b.edges = append(b.edges, e)
				b.check(0, of("k", 9, "l"))
				var wait sync.WaitGroup
				wait.Go(func() {
					if b.check(0, of("k", 2, "l")).Allowed {
						t.Error("of ten, eleven are admitted")
					}
				})
				pass(10 * time.Millisecond)
				happens(t, e)
				if !b.check(0, of("k", 1, "l")).Allowed { // the edge begins anew
					t.Error("the tenth token is not admitted")
				}
				wait.Wait()
				b.asked.Store(0)
				if b.check(0, of("k", 3, "l")); b.asked.Load() != 1 {
					t.Error("a denial of before is repeated")
				}
			})
		})
	}
}
