package rpc

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics"
)

// What checks without a decision count under that name no limit in force: their names are the callers', and have no bound. No limit can have these names.
const (
	inlineLimits  = "(inline)"  // as their decisions do
	unknownLimits = "(unknown)" // most callers that name them have made a mistake
)

// undecided counts checks without a decision.
type undecided struct {
	limits func() *limit.Document // nil for none
	total  *prometheus.CounterVec // by limit and code

	mu    sync.Mutex
	known map[[2]string]prometheus.Counter // by limit and code, those that have counted
}

func newUndecided(limits func() *limit.Document, r prometheus.Registerer) (*undecided, error) {
	u := &undecided{limits: limits, known: map[[2]string]prometheus.Counter{}, total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_undecided_total",
		Help: "Checks that got an error instead of a decision, at the node that was asked first, by limit and by the error's gRPC code, over every protocol. " +
			"A check of several limits counts at each of them. One that its caller gave up counts at none.",
	}, []string{"limit", "code"})}
	return u, metrics.Register(r, u.total)
}

// count counts a check that got err instead of a decision.
func (u *undecided) count(ctx context.Context, r *limit.Request, err error) {
	if m := marksOf(ctx); m != nil && m.forwarded {
		return
	}
	c := code(err)
	if c == codes.Canceled {
		return
	}
	for i := range r.Limits {
		u.series(u.name(&r.Limits[i]), c.String()).Inc()
	}
}

// name is the name under which a limit of a request counts.
func (u *undecided) name(ref *limit.Ref) string {
	if ref.Inline != nil {
		return inlineLimits
	}
	if u.limits != nil {
		if doc := u.limits(); doc != nil {
			if _, ok := doc.Rule(ref.Name); ok {
				return ref.Name
			}
		}
	}
	return unknownLimits
}

func (u *undecided) series(name, code string) prometheus.Counter {
	u.mu.Lock()
	defer u.mu.Unlock()
	id := [2]string{name, code}
	if u.known[id] == nil {
		u.known[id] = u.total.WithLabelValues(name, code)
	}
	return u.known[id]
}

// read is what was counted, by limit and code.
func (u *undecided) read() map[string]map[string]float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[string]map[string]float64{}
	for id, counter := range u.known {
		if all[id[0]] == nil {
			all[id[0]] = map[string]float64{}
		}
		all[id[0]][id[1]] = metrics.Counted(counter)
	}
	return all
}
