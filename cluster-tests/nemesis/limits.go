package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/rpc/client"
)

var kindLimits = Kind{
	Name: "limits changed", Weight: 2, Recovery: 5 * time.Second, Operators: true, Harmless: true,
	Draw: func(d *Drawing) Fault {
		return limitsChanged{
			numbers: numbers{capacity: 1 + d.Int64N(100), perSecond: 1 + d.Int64N(50), window: 1 + d.Int64N(20), permits: 1 + d.Int64N(8)},
			besides: d.IntN(4),
		}
	},
}

// Numbers are those of the limits that operators change: of a token bucket, and how many a sliding window and permits admit.
type numbers struct{ capacity, perSecond, window, permits int64 }

// document is the limits document of a run, with these numbers of the limits that operators change. Besides are some that come and go
// and that no caller uses.
func document(n numbers, besides int) string {
	var b strings.Builder
	b.WriteString("limits:\n")
	for _, s := range streams {
		for _, r := range s.rules {
			fmt.Fprintf(&b, "  %s: {%s, on_unavailable: deny}\n", r.name, r.fields)
		}
	}
	fmt.Fprintf(&b, "  %s: {capacity: %d, refill: %d/s, on_unavailable: deny}\n", changedLimit, n.capacity, n.perSecond)
	fmt.Fprintf(&b, "  %s: {algorithm: sliding-window, limit: %d, window: 3s, on_unavailable: deny}\n", changedWindow, n.window)
	fmt.Fprintf(&b, "  %s: {algorithm: concurrency, limit: %d, lease: 3s, on_unavailable: deny}\n", changedPermits, n.permits)
	for i := range besides {
		fmt.Fprintf(&b, "  besides-%d: {capacity: 5, refill: 1/s}\n", i)
	}
	return b.String()
}

// founding is the document that the cluster is founded with.
func founding() string { return document(numbers{20, 10, 5, 3}, 0) }

// limitsChanged is an operator who puts another document in force.
type limitsChanged struct {
	instant
	numbers

	besides int
}

func (f limitsChanged) String() string {
	return fmt.Sprintf("the limits are changed: %s is {capacity: %d, refill: %d/s}, %s admits %d, %s %d", changedLimit, f.capacity, f.perSecond,
		changedWindow, f.window, changedPermits, f.permits)
}

// Begin applies it, and returns when all nodes keep to it. What was admitted just before is given back just after.
func (f limitsChanged) Begin(ctx context.Context, s *Stage) error {
	s.operating.Lock()
	defer s.operating.Unlock()
	held := s.traffic.hold(&changing[0], heldOverAChange)
	at := time.Now()
	var version uint64
	err := s.until(ctx, "the limits are in force", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		applied, err := s.admin.ApplyLimits(ctx, client.Apply{Document: document(f.numbers, f.besides), Remove: true})
		version = applied.Version
		return err
	})
	if err != nil {
		return err
	}
	err = s.until(ctx, "all nodes keep to the limits", func(ctx context.Context) error {
		for _, h := range s.members() {
			st, err := s.ask(ctx, h)
			if err != nil {
				return err
			}
			if st.LimitsVersion < version {
				return fmt.Errorf("%s has version %d, not %d", h.name, st.LimitsVersion, version)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = f.write(s.traffic.ledger.out, at.UnixNano(), time.Now().UnixNano())
	for _, h := range held {
		s.traffic.giveBack(h.caller, h.key, h.receipts)
	}
	return err
}

// heldOverAChange is how many admissions are given back across each change of the limits.
const heldOverAChange = 20

// write writes the limits that were changed at a time, and by another one everywhere.
func (f limitsChanged) write(out *history.Writer, at, by int64) error {
	doc, err := limit.ParseDocument([]byte(document(f.numbers, 0)))
	if err != nil {
		return err
	}
	for _, st := range changing {
		rule, _ := doc.Rule(st.rules[0].name)
		l := load.Limit(rule)
		l.At, l.By = at, by
		if err := out.WriteLimit(l); err != nil {
			return err
		}
	}
	return nil
}
