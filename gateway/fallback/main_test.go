package fallback

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a cluster that does what a test tells it to.
type fake struct {
	check    func(context.Context, limit.Request) (limit.Decision, error)
	giveBack func(context.Context, string, []limit.Receipt) ([]bool, error)
}

func (f fake) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	return f.check(ctx, r)
}

func (f fake) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	return f.giveBack(ctx, key, receipts)
}

// failing is a cluster that decides nothing.
func failing(err error) fake {
	return fake{check: func(context.Context, limit.Request) (limit.Decision, error) { return limit.Decision{}, err }}
}

// document is the limits of most tests.
func document(tb testing.TB, text string) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

const stored = `limits:
  open: {capacity: 4, refill: 1/s}
  closed: {capacity: 4, refill: 1/s, on_unavailable: deny}
  here: {capacity: 4, refill: 1/s, on_unavailable: local}
  there: {capacity: 2, refill: 1/s, on_unavailable: local}
`

// guard makes a Guard with the stored limits.
func guard(tb testing.TB, cfg Config) *Guard {
	tb.Helper()
	if cfg.Limits == nil {
		doc := document(tb, stored)
		cfg.Limits = func() *limit.Document { return doc }
	}
	g, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.Close)
	return g
}

// ask is a request of one token.
func ask(key string, limits ...string) limit.Request {
	r := limit.Request{Key: key, Cost: 1}
	for _, name := range limits {
		r.Limits = append(r.Limits, limit.Named(name))
	}
	return r
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock
	synctest.Wait()
}

// A hand is a clock that a test moves.
type hand struct {
	mu  sync.Mutex
	now int64
}

func (h *hand) read() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += int64(d)
}

// noon is when the tests' clocks start.
const noon = 1_800_000_000_000_000_000

// series reads the metrics of r: the value of each series by its name and its labels' values.
func series(tb testing.TB, r *prometheus.Registry) map[string]float64 {
	tb.Helper()
	families, err := r.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

// A journal keeps what was logged.
type journal struct {
	mu      sync.Mutex
	records []slog.Record
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	return nil
}

// take is what was logged since the last time: each one's message and attributes.
func (j *journal) take() (lines []map[string]string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.records {
		line := map[string]string{"message": r.Message, "level": r.Level.String()}
		r.Attrs(func(a slog.Attr) bool {
			line[a.Key] = a.Value.String()
			return true
		})
		lines = append(lines, line)
	}
	j.records = nil
	return lines
}
