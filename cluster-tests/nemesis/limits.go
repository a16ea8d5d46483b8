package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/rpc/client"
)

var kindLimits = Kind{
	Name: "limits changed", Weight: 2, Recovery: 5 * time.Second, Operators: true, Harmless: true,
	Draw: func(d *Drawing) Fault {
		return limitsChanged{capacity: 1 + d.Int64N(100), perSecond: 1 + d.Int64N(50), besides: d.IntN(4)}
	},
}

// document is the limits document of a run. The limit called changed is one that operators change, and besides are some
// that come and go and that no caller uses.
func document(capacity, perSecond int64, besides int) string {
	var b strings.Builder
	b.WriteString("limits:\n")
	for _, s := range streams {
		for _, r := range s.rules {
			fmt.Fprintf(&b, "  %s: {capacity: %d, refill: %s, on_unavailable: deny}\n", r.name, r.capacity, r.refill)
		}
	}
	fmt.Fprintf(&b, "  %s: {capacity: %d, refill: %d/s, on_unavailable: deny}\n", changedLimit, capacity, perSecond)
	for i := range besides {
		fmt.Fprintf(&b, "  besides-%d: {capacity: 5, refill: 1/s}\n", i)
	}
	return b.String()
}

// founding is the document that the cluster is founded with.
func founding() string { return document(20, 10, 0) }

// limitsChanged is an operator who puts another document in force.
type limitsChanged struct {
	instant

	capacity, perSecond int64
	besides             int
}

func (f limitsChanged) String() string {
	return fmt.Sprintf("the limits are changed: %s is {capacity: %d, refill: %d/s}", changedLimit, f.capacity, f.perSecond)
}

// Begin applies it, and returns when all nodes keep to it. What was admitted just before is given back just after.
func (f limitsChanged) Begin(ctx context.Context, s *Stage) error {
	s.operating.Lock()
	defer s.operating.Unlock()
	held := s.traffic.hold(&changing, heldOverAChange)
	at := time.Now()
	var version uint64
	err := s.until(ctx, "the limits are in force", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		applied, err := s.admin.ApplyLimits(ctx, client.Apply{Document: document(f.capacity, f.perSecond, f.besides), Remove: true})
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
	err = s.traffic.ledger.out.WriteLimit(history.Limit{
		Name: changedLimit, Capacity: f.capacity, Tokens: f.perSecond, PerNS: int64(time.Second),
		At: at.UnixNano(), By: time.Now().UnixNano(),
	})
	for _, h := range held {
		s.traffic.giveBack(h.caller, h.key, h.receipts)
	}
	return err
}

// heldOverAChange is how many admissions are given back across each change of the limits.
const heldOverAChange = 20
