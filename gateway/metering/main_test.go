package metering

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a cluster that does what a test tells it to.
type fake struct {
	check  func(context.Context, limit.Request) (limit.Decision, error)
	settle func(context.Context, limit.Settlement) (limit.Settled, error)
	back   func(context.Context, string, []limit.Receipt) ([]bool, error)
}

func (f fake) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	return f.check(ctx, r)
}

func (f fake) Settle(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
	return f.settle(ctx, s)
}

func (f fake) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	return f.back(ctx, key, receipts)
}

// settled is the answer to a settlement that took effect.
func settled(s limit.Settlement) limit.Settled {
	return limit.SumSettled([]limit.SettledLimit{{Name: "t", State: limit.HoldSettled, Charged: s.Used, Returned: s.Hold.Granted - s.Used}})
}

// A rig is a Meter, and the fake cluster at which its exchanges hold something.
type rig struct {
	*Meter
	at *Cluster
}

// newMeter makes a Meter with a fake cluster.
func newMeter(t *testing.T, f fake) (rig, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := New(Config{Memory: denial.NewMemory("edge", 0), Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	return rig{m, m.Cluster(f)}, registry
}

// begun is an exchange that holds 100 tokens for a minute, of 10 of input and 90 of output, and is under way.
func begun(t *testing.T, m rig) (x *Exchange, id string) {
	t.Helper()
	x = m.Begin(m.Route("chat"), "gpt-x", llm.Usage{Input: 10, Output: 90})
	x.AddHold(Holding{Hold: limit.Hold{Key: "org:a", Granted: 100}, At: m.at, Counts: "tokens", ShownKey: "org:a", Rates: llm.EqualRates(), Asked: 100, For: time.Minute})
	id = x.Start(t.Context(), denial.Record{Exchange: &denial.ModelRequest{}}, true)
	return x, id
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock
	synctest.Wait()
}

// count is the value of one series.
func count(t *testing.T, r *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == label {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}
