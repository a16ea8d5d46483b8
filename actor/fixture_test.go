package actor

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stored are the limits that a System of these tests knows.
const stored = `
limits:
  demo: {capacity: 10, refill: 10/1h}
  fast: {capacity: 100, refill: 1000/s}
  odd:  {capacity: 7, refill: 3/7s}
  slow: {capacity: 1000, refill: 1/h}
  wide: {capacity: 1000000000, refill: 1000000000/s}
`

func document(tb testing.TB, text string) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// fixed are limits that never change.
func fixed(doc *limit.Document) func() *limit.Document {
	return func() *limit.Document { return doc }
}

// start runs a System until the test ends, and fills in what cfg leaves open: it keeps registers in memory, and they
// outlive nothing.
func start(tb testing.TB, cfg Config) *System {
	tb.Helper()
	if cfg.Now == nil {
		cfg.Now = clock.New().Now
	}
	if cfg.Limits == nil {
		cfg.Limits = fixed(document(tb, stored))
	}
	if cfg.Replicas == nil && cfg.Placement == nil {
		cfg.Replicas = []Replica{newRegisters(cfg.Now)}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Node = "here"
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// open opens a real Store, by default on a disk in memory, until the test ends.
func open(tb testing.TB, cfg storage.Config) *storage.Store {
	tb.Helper()
	if cfg.FS == nil {
		cfg.FS = vfs.NewMem()
	}
	if cfg.Dir == "" {
		cfg.Dir = "data"
	}
	if cfg.Now == nil {
		cfg.Now = clock.New().Now
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := storage.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	found(tb, s)
	return s
}

// found makes a Store that of a cluster's founder.
func found(tb testing.TB, s *storage.Store) {
	tb.Helper()
	if err := s.Found(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// spend asks for cost tokens of stored limits.
func spend(key string, cost int64, names ...string) limit.Request {
	r := limit.Request{Key: key, Cost: cost, Look: cost == 0}
	for _, name := range names {
		r.Limits = append(r.Limits, limit.Named(name))
	}
	return r
}

// inline asks for cost tokens of one limit that the request defines.
func inline(key string, cost int64, name string, capacity int64, refill string) limit.Request {
	r, err := limit.ParseRefill(refill)
	if err != nil {
		panic(err)
	}
	l := limit.Limit{Name: name, Capacity: capacity, Refill: r}
	return limit.Request{Key: key, Cost: cost, Look: cost == 0, Limits: []limit.Ref{limit.Inline(l)}}
}

// decide is a check that must be decided.
func decide(tb testing.TB, s *System, r limit.Request) limit.Decision {
	tb.Helper()
	d, err := s.Check(tb.Context(), r)
	if err != nil {
		tb.Fatalf("%+v: %v", r, err)
	}
	return d
}

// remaining is what a peek says of one stored limit.
func remaining(tb testing.TB, s *System, key, name string) int64 {
	tb.Helper()
	return decide(tb, s, spend(key, 0, name)).Limits[0].Remaining
}

// drain admits what can be admitted of one limit now, one token at a time.
func drain(tb testing.TB, s *System, key, name string) (admitted int64) {
	tb.Helper()
	for decide(tb, s, spend(key, 1, name)).Allowed {
		admitted++
	}
	return admitted
}

func overview(tb testing.TB, s *System) Overview {
	tb.Helper()
	o, err := s.Overview(tb.Context(), 10)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// A result is what became of a check that was started.
type result struct {
	limit.Decision
	err error
	at  time.Time
}

// ask starts a check. Its answer is in the channel when there is one.
func ask(ctx context.Context, s *System, r limit.Request) <-chan result {
	answers := make(chan result, 1)
	go func() {
		d, err := s.Check(ctx, r)
		answers <- result{d, err, time.Now()}
	}()
	return answers
}

// settled is the answer that must be there by now. It belongs into a bubble of synctest.
func settled(tb testing.TB, answers <-chan result) result {
	tb.Helper()
	synctest.Wait()
	select {
	case a := <-answers:
		return a
	default:
		tb.Fatal("there is no answer yet")
		return result{}
	}
}

// pending fails t if there is an answer already. It belongs into a bubble of synctest.
func pending(tb testing.TB, answers <-chan result) {
	tb.Helper()
	synctest.Wait()
	select {
	case a := <-answers:
		tb.Fatalf("answered too early: %+v", a)
	default:
	}
}

// pass lets time pass in a bubble of synctest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// count is the value of a counter or gauge, summed over its labels that contain all of want.
func count(tb testing.TB, reg prometheus.Gatherer, name string, want ...string) float64 {
	tb.Helper()
	families, err := reg.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := labelsOf(m)
			if !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(labels, w) }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

func labelsOf(m *dto.Metric) (values []string) {
	for _, l := range m.GetLabel() {
		values = append(values, l.GetValue())
	}
	return values
}
