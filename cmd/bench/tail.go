package bench

import (
	"context"
	"errors"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// tailGoals are those of tails.
func tailGoals() []goal {
	return []goal{
		{atMost, 1, "×", "p99 ÷ (2 × the no-op's p99 + an fsync)"},
		{open, 0, "/s", "half the load that saturates them"},
		{open, 0, "ms", "p50"},
		{open, 0, "ms", "p99"},
		{open, 0, "ms", "p99 of the no-op at that load"},
		{open, 0, "ms", "an fsync"},
	}
}

// tails tells how late the answers of three nodes are at half the load that saturates them, one check per call at random times, beside those of a
// service that decides nothing under the same load. How late an answer is counts from when its check was due.
func tails(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	full := Load{Limit: limit.Named(minuteLimit), Callers: 64, Duration: t.duration() / 2, Warmup: t.duration() / 4}
	if err := full.check(); err != nil {
		return nil, err
	}
	nodes, err := t.clusterSide(ctx, folder, replicas, d, full)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, nodes.close()) }()
	noop, err := t.noopSide(ctx, dialClient, full)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, noop.close()) }()
	values := make([][]float64, len(tailGoals()))
	for range t.rounds() {
		saturated, err := nodes.measure(ctx, full)
		if err != nil {
			return nil, err
		}
		half := full
		half.Rate, half.Arrivals, half.Callers, half.Duration = saturated.ChecksPerSecond/2, Poisson, 512, t.duration()
		other, err := noop.measure(ctx, half)
		if err != nil {
			return nil, err
		}
		r, err := nodes.measure(ctx, half)
		if err != nil {
			return nil, err
		}
		fsync, err := fsyncTime(folder)
		if err != nil {
			return nil, err
		}
		round := []float64{
			float64(r.Latency.P99) / float64(2*other.Latency.P99+fsync), half.Rate,
			inMillis(r.Latency.P50), inMillis(r.Latency.P99), inMillis(other.Latency.P99), inMillis(fsync),
		}
		for i, v := range round {
			values[i] = append(values[i], v)
		}
		t.say("at %s checks/s: p50 %.2f ms, p99 %.2f ms; no-op p99 %.2f ms, fsync %.2f ms: %.2f ×", count(round[1]), round[2], round[3], round[4], round[5], round[0])
	}
	for _, v := range values {
		spreads = append(spreads, spreadOf(v))
	}
	return spreads, nil
}
