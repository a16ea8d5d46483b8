package bench

import (
	"context"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/storage"
)

// A kase is one row or more of the table: what is measured, and what is to come out of it.
type kase struct {
	name, title string
	// long cases take minutes: they are measured when they are wanted.
	long bool
	// cluster cases measure one, and are measured by themselves.
	cluster bool
	modes   []mode
	// measure returns a spread for each goal of that mode, in its unit and order.
	measure func(ctx context.Context, t *Tabling, d storage.Durability) ([]Spread[float64], error)
}

// A mode is a durability under which a case is measured, and its goals there.
type mode struct {
	durability storage.Durability // empty: it does not matter
	goals      []goal
}

// A goal is what a measured value is to be.
type goal struct {
	bound bound
	value float64
	unit  string // "×" is a ratio to the no-op, or to one node
	what  string // of several values, which one
}

type bound string

const (
	atLeast bound = "≥"
	atMost  bound = "≤"
	open    bound = "" // there is no target
)

// met says whether a value is what it is to be.
func (g goal) met(value float64) bool {
	return g.bound == open || g.bound == atLeast && value >= g.value || g.bound == atMost && value <= g.value
}

// ratios are the two modes of a comparison with the no-op.
func ratios(memory, fsync float64) []mode {
	return []mode{
		{storage.Memory, []goal{{bound: atLeast, value: memory, unit: "×"}}},
		{storage.Fsync, []goal{{bound: atLeast, value: fsync, unit: "×"}}},
	}
}

// once is the only mode of what has nothing to do with the disk.
func once(goals ...goal) []mode { return []mode{{goals: goals}} }

// both are the same goals whatever the durability.
func both(goals ...goal) []mode { return []mode{{storage.Memory, goals}, {storage.Fsync, goals}} }

// beside are the two modes of a comparison of a cluster with one node. The ratio is to be at least that, or 0 where there
// is no target.
func beside(ratio float64) []mode {
	g := goal{bound: atLeast, value: ratio, unit: "×", what: "checks a second"}
	if ratio == 0 {
		g.bound = open
	}
	return both(g, goal{unit: "×", what: "by processor time"})
}

// batchCallers is how many callers saturate two cores with batches: with 8 as with 32 it was no more.
const batchCallers = 16

// batches is a load of batches of 1,000.
func batches(keys string) Load { return Load{Callers: batchCallers, Batch: 1000, Keys: keys} }

// cases are all that is measured: a new one is one entry.
func cases() []kase { return slices.Concat(nodeCases(), clusterCases(), doorCases()) }

// clusterCases put the same load on three nodes and on one, of the same machine: three nodes that share the processors
// with each other do every reservation three times.
func clusterCases() []kase {
	return []kase{
		{
			name: "cluster-new", title: "three nodes ÷ one: 1,000 per call, every key new", cluster: true,
			modes: beside(0.35), measure: besideOne(batches(New), false),
		},
		{
			name: "cluster-new-noop", title: "three nodes ÷ no-op: 1,000 per call, every key new", cluster: true,
			modes: besideNoop(0.12), measure: clusterBesideNoop(batches(New)),
		},
		{
			name: "cluster-uniform-noop", title: "three nodes ÷ no-op: 1,000 per call, uniform keys", cluster: true,
			modes: besideNoop(0.50), measure: clusterBesideNoop(batches(Uniform)),
		},
		{
			name: "cluster-zipf", title: "three nodes ÷ one: 1,000 per call, zipf 1.1", cluster: true,
			modes: beside(0.75), measure: besideOne(batches(Zipf), false),
		},
		{
			name: "cluster-uniform", title: "three nodes ÷ one: 1,000 per call, uniform keys", cluster: true,
			modes: beside(0), measure: besideOne(batches(Uniform), false),
		},
		{
			name: "cluster-one", title: "three nodes ÷ one: 1,000 per call, one key", cluster: true,
			modes: beside(0), measure: besideOne(batches(One), false),
		},
		{
			name: "cluster-denials", title: "three nodes ÷ one: denials, 1,000 per call", cluster: true,
			modes: beside(0), measure: besideOne(batches(Uniform), true),
		},
		{
			name: "cluster-unary", title: "three nodes ÷ one: one check per call, 64 callers", cluster: true,
			modes: beside(0.75), measure: besideOne(Load{Callers: 64}, false),
		},
		{
			name: "cluster-tail", title: "one check per call at half the load that saturates three nodes", cluster: true,
			modes: []mode{{storage.Fsync, tailGoals()}}, measure: tails,
		},
		{
			name: "consoles", title: "three nodes with 20 open consoles ÷ the same without", cluster: true,
			modes: []mode{{storage.Fsync, consoleGoals()}}, measure: consoles,
		},
		{
			name: "clients", title: "1,000 clients at 8 checks/s each: three nodes", cluster: true,
			modes: []mode{{storage.Fsync, clientGoals()}}, measure: clients,
		},
		{
			name: "cluster-holds", title: "a hold and its settlement ÷ a check: three nodes, 200 callers", cluster: true,
			modes: holdModes(shortHoldings(), holdTarget), measure: holdCosts(3, shortHoldings()),
		},
		{
			name: "cluster-holds-durable", title: "a hold and its settlement ÷ a check, in ledgers: three nodes, 200 callers", cluster: true,
			modes: holdModes(durableHoldings(), 0), measure: holdCosts(3, durableHoldings()),
		},
	}
}

// nodeCases are those of a node alone.
func nodeCases() []kase { //nolint:funlen // one list
	report := []goal{{unit: "×"}}
	return []kase{
		{
			name: "unary", title: "one check per call, 64 callers",
			modes: ratios(0.90, 0.85), measure: throughput(Load{Callers: 64}, false),
		},
		{
			name: "uniform", title: "1,000 per call, uniform keys",
			modes: ratios(0.85, 0.80), measure: throughput(batches(Uniform), false),
		},
		{
			name: "zipf", title: "1,000 per call, zipf 1.1",
			modes: ratios(0.70, 0.55), measure: throughput(batches(Zipf), false),
		},
		{
			name: "one", title: "1,000 per call, one key",
			modes: ratios(0.70, 0.70), measure: throughput(batches(One), false),
		},
		{
			name: "new", title: "1,000 per call, every key new",
			modes: []mode{{storage.Memory, report}, {storage.Fsync, []goal{{bound: atLeast, value: 0.30, unit: "×"}}}}, measure: throughput(batches(New), false),
		},
		{
			name: "denials", title: "denials, 1,000 per call",
			modes: ratios(0.70, 0.70), measure: throughput(batches(Uniform), true),
		},
		{
			name: "alone", title: "one caller, one check per call, p50",
			modes: []mode{
				{storage.Memory, []goal{{bound: atMost, value: 1.15, unit: "×"}}},
				{storage.Fsync, []goal{{bound: atMost, value: 2, unit: "fsyncs more"}}},
			},
			measure: medianLatency,
		},
		{
			name: "decision", title: "a GCRA decision alone",
			modes:   once(goal{atMost, 15, "ns", "time"}, goal{atMost, 0, "allocations", "memory"}),
			measure: decisionAlone,
		},
		{
			name: "embedded", title: "embedded, 16 callers, 100,000 keys",
			modes:   both(goal{atMost, 1.2, "µs", "time"}, goal{atMost, 1, "allocations", "memory"}),
			measure: embedded(Uniform),
		},
		{
			name: "embedded-one", title: "embedded, 16 callers, one key",
			modes:   both(goal{atMost, 2, "µs", "time"}, goal{atMost, 2, "allocations", "memory"}),
			measure: embedded(One),
		},
		{
			name: "algorithms", title: "every algorithm ÷ token bucket: embedded, 16 callers, 100,000 keys",
			modes: byAlgorithm(Uniform), measure: embeddedAlgorithms(Uniform),
		},
		{
			name: "algorithms-one", title: "every algorithm ÷ token bucket: embedded, 16 callers, one key",
			modes: byAlgorithm(One), measure: embeddedAlgorithms(One),
		},
		{
			name: "holds", title: "a hold and its settlement ÷ a check: 200 callers",
			modes: holdModes(shortHoldings(), holdTarget), measure: holdCosts(1, shortHoldings()),
		},
		{
			name: "holds-durable", title: "a hold and its settlement ÷ a check, in ledgers: 200 callers",
			modes: holdModes(durableHoldings(), 0), measure: holdCosts(1, durableHoldings()),
		},
		{
			name: "streams", title: "200 streams of 50 events/s, every other one through a gateway that counts tokens, the others through a bare proxy",
			modes: once(streamGoals()...), measure: streams,
		},
		{
			name: "hot-key", title: "400 checks/s of other keys, beside 64 callers of one key",
			modes: both(hotKeyGoals()...), measure: hotKey,
		},
		{
			name: "awake", title: "an awake bucket, of a million",
			modes: once(goal{atMost, 250, "B", "heap"}), measure: awakeBuckets,
		},
		{
			name: "fsyncs", title: "fsyncs a second, one key at 10,000 checks/s",
			modes:   []mode{{storage.Fsync, []goal{{bound: atMost, value: 15, unit: "/s"}}}},
			measure: fsyncsPerSecond,
		},
		{
			name: "idle-keys", title: "a node with 10 million idle keys", long: true,
			modes: []mode{{storage.Fsync, []goal{
				{atMost, 3, "s", "ready"}, {open, 0, "MiB", "resident"}, {open, 0, "goroutines", "running"},
			}}},
			measure: idleKeys,
		},
		{
			name: "asked-once", title: "10 million keys, each asked once", long: true,
			modes: []mode{{storage.Fsync, []goal{
				{atMost, 1500, "MiB", "at the peak"}, {atMost, 300, "MiB", "after two minutes"}, {open, 0, "s", "asked within"},
			}}},
			measure: askedOnce,
		},
		{
			name: "one-shot", title: "5 million one-shot keys, two sweeps later", long: true,
			modes: []mode{{storage.Fsync, []goal{
				{atMost, 10, "%", "of the disk"}, {open, 0, "MiB", "before"}, {open, 0, "MiB", "after"},
			}}},
			measure: oneShotKeys,
		},
	}
}

// throughput compares the checks per second under a load with those of the no-op.
func throughput(l Load, deny bool) func(context.Context, *Tabling, storage.Durability) ([]Spread[float64], error) {
	return func(ctx context.Context, t *Tabling, d storage.Durability) ([]Spread[float64], error) {
		c, err := t.compare(ctx, Comparing{Against: Noop, Durability: d, Load: l, Deny: deny})
		if err != nil {
			return nil, err
		}
		return []Spread[float64]{c.Ratio}, nil
	}
}

// besideNoop is the mode of a comparison of a cluster with the no-op.
func besideNoop(ratio float64) []mode {
	return []mode{{storage.Fsync, []goal{{atLeast, ratio, "×", "checks a second"}, {unit: "×", what: "by processor time"}}}}
}

// clusterBesideNoop compares three nodes likewise with the no-op, both through the Go client.
func clusterBesideNoop(l Load) func(context.Context, *Tabling, storage.Durability) ([]Spread[float64], error) {
	return func(ctx context.Context, t *Tabling, d storage.Durability) ([]Spread[float64], error) {
		c, err := t.compare(ctx, Comparing{Nodes: 3, Against: Noop, Durability: d, Load: l})
		if err != nil {
			return nil, err
		}
		return []Spread[float64]{c.Ratio, c.CPURatio}, nil
	}
}

// besideOne compares the checks per second of three nodes under a load with those of one node, and what they would be if
// nothing but processor time counted.
func besideOne(l Load, deny bool) func(context.Context, *Tabling, storage.Durability) ([]Spread[float64], error) {
	return func(ctx context.Context, t *Tabling, d storage.Durability) ([]Spread[float64], error) {
		c, err := t.compare(ctx, Comparing{Nodes: 3, Against: OneNode, Durability: d, Load: l, Deny: deny})
		if err != nil {
			return nil, err
		}
		return []Spread[float64]{c.Ratio, c.CPURatio}, nil
	}
}

// medianLatency compares the latency that one caller sees with the no-op's: in memory by the ratio, with fsync by how many
// fsyncs it is longer.
func medianLatency(ctx context.Context, t *Tabling, d storage.Durability) ([]Spread[float64], error) {
	c, err := t.compare(ctx, Comparing{Against: Noop, Durability: d, Load: Load{Callers: 1, Connections: 1}})
	switch {
	case err != nil:
		return nil, err
	case d == storage.Memory:
		return []Spread[float64]{c.P50Ratio}, nil
	}
	fsyncs := func(p Pair) float64 { return float64(p.P50More) / float64(c.Fsync) }
	return []Spread[float64]{spreadOver(c.Pairs, fsyncs)}, nil
}

// compare compares as long, and as often, as the table wants.
func (t *Tabling) compare(ctx context.Context, c Comparing) (*Comparison, error) {
	return t.compareBy(ctx, c, startSides)
}

// compareBy compares what start starts likewise.
func (t *Tabling) compareBy(ctx context.Context, c Comparing, start starter) (*Comparison, error) {
	c.Setup, c.Pairs = t.Setup, t.rounds()
	c.Load.Duration, c.Load.Warmup = t.duration(), t.duration()/4
	result, err := c.by(ctx, start)
	if err == nil && result.Interrupted {
		return nil, errInterrupted
	}
	return result, err
}

// rounds is how often something is measured, and duration for how long.
func (t *Tabling) rounds() int {
	if t.Quick {
		return 2
	}
	return 5
}

func (t *Tabling) duration() time.Duration {
	if t.Quick {
		return 2 * time.Second
	}
	return 5 * time.Second
}
