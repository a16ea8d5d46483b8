package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// The load of clients: so many, each of which comes eight times a second at random times.
const (
	clientCount = 1000
	clientRate  = 8 * clientCount
)

const clientLimitsText = `  client:       {capacity: 1000, refill: 1000/1m}
  client-exact: {capacity: 1000, refill: 1000/1m, reserve: exact}
  client-ten:   {capacity: 10, refill: 10/s}
`

// A clientCase is a limit that clients are under, and how many writes for each check there may be; 0 for any.
type clientCase struct {
	limit, what string
	most        float64
}

// clientCases are the limits that clients are under, of which one is such that nothing is reserved ahead.
var clientCases = []clientCase{
	{"client", "1000/1m", 0.05},
	{"client-ten", "10/s", 0},
	{"client-exact", "1000/1m, exact", 0},
}

// clientGoals are those of clients.
func clientGoals() (goals []goal) {
	for _, c := range clientCases {
		writes := goal{unit: "/check", what: c.what + ": reservations"}
		if c.most > 0 {
			writes.bound, writes.value = atMost, c.most
		}
		goals = append(
			goals, writes,
			goal{unit: "%", what: c.what + ": admitted"},
			goal{unit: "ms", what: c.what + ": p50"},
			goal{unit: "ms", what: c.what + ": p99"},
			goal{unit: "ms", what: c.what + ": p99 of the no-op"},
		)
	}
	return goals
}

// clients puts the load of many clients on three nodes, and on a service that decides nothing, and tells how many reservations each check has
// cost. How late an answer is counts from when its check was due.
func clients(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	cluster, err := t.startCluster(ctx, folder, 3, d)
	if err != nil {
		return nil, err
	}
	defer cluster.children().stop()
	for _, c := range clientCases {
		of, err := t.clientsOf(ctx, c, cluster)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		spreads = append(spreads, of...)
	}
	return spreads, nil
}

// clientsOf measures the clients of one limit.
func (t *Tabling) clientsOf(ctx context.Context, c clientCase, cluster runningCluster) (spreads []Spread[float64], err error) {
	l := Load{
		Limit: limit.Named(c.limit), KeyCount: clientCount, Rate: clientRate, Arrivals: Poisson, Callers: 512,
		Duration: t.duration(),
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	dial := dialer(dialClient)
	noop, err := t.noopSide(ctx, dial, l)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, noop.close()) }()
	service, err := dial(ctx, cluster.servers(), l, cluster.children().cpu)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, service.close()) }()
	nodes := &side{name: "cluster", children: cluster.children(), service: service}
	long := l // a client's line lasts for seconds, and all have begun together
	long.Duration *= 3
	values := make([][]float64, len(clientGoals())/len(clientCases))
	for range t.rounds() {
		other, err := noop.measure(ctx, l)
		if err != nil {
			return nil, err
		}
		r, writes, err := visits(ctx, cluster, nodes, long)
		if err != nil {
			return nil, err
		}
		round := []float64{
			writes, 100 * float64(r.Allowed) / float64(r.Checks), inMillis(r.Latency.P50), inMillis(r.Latency.P99), inMillis(other.Latency.P99),
		}
		for i, v := range round {
			values[i] = append(values[i], v)
		}
		t.say("%s: %.3f reservations for each check, %.1f %% admitted, p50 %.2f ms, p99 %.2f ms; no-op p99 %.2f ms", c.what, round[0], round[1], round[2], round[3], round[4])
	}
	for _, v := range values {
		spreads = append(spreads, spreadOf(v))
	}
	return spreads, nil
}

// visits puts the load on a cluster that has had it for some seconds already, since what a client's first checks cost is not what they cost later;
// and says how many reservations there were for each check.
func visits(ctx context.Context, cluster runningCluster, s *side, l Load) (r Report, writes float64, err error) {
	warm := l
	warm.Duration = 3 * time.Second
	if _, err = measure(ctx, warm, s.service); err != nil {
		return r, 0, err
	}
	before, err := cluster.reservations(ctx)
	if err != nil {
		return r, 0, err
	}
	r, err = measure(ctx, l, s.service)
	switch {
	case err != nil:
		return r, 0, err
	case r.Interrupted:
		return r, 0, errInterrupted
	case r.errors() > r.Checks/1000:
		return r, 0, fmt.Errorf("%d of %d checks ended with an error, the first with %s: %s", r.errors(), r.Checks, r.Errors[0].Code, r.Errors[0].First)
	}
	after, err := cluster.reservations(ctx)
	return r, (after - before) / float64(r.Checks), err
}

func inMillis(d time.Duration) float64 { return d.Seconds() * 1e3 }

// reservations is how many all nodes have sent as owners.
func (c runningCluster) reservations(ctx context.Context) (sum float64, err error) {
	for _, n := range c {
		for _, why := range []string{"needed", "ahead"} {
			v, err := n.metric(ctx, fmt.Sprintf("jeton_reservations_total{kind=%q}", why))
			if err != nil {
				return 0, err
			}
			sum += v
		}
	}
	return sum, nil
}
