package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/storage"
)

// What a node, or a cluster, can be compared with.
const (
	Noop    = "noop"
	Redis   = "redis"
	OneNode = "1" // a single node
)

// A Comparing says what is compared with what.
type Comparing struct {
	Setup

	// Nodes is how many nodes are on the one side: 1, 3 or 5; 0 means 1. More than one are a cluster.
	Nodes int
	// Against is what is on the other side: Noop, Redis or OneNode. Required.
	Against string
	// Durability is that of the nodes, and, as far as it knows that, of Redis; empty means storage.Fsync.
	Durability storage.Durability
	// Load is put on both sides. Its Limit is chosen here.
	Load Load
	// Deny makes every check of the load a denial: each key is spent beforehand, and fills up in a day.
	Deny bool
	// Pairs is how many times both sides are measured, one after the other; 0 means 5.
	Pairs int
}

func (c *Comparing) check() error {
	c.Nodes = cmp.Or(c.Nodes, 1)
	c.Pairs = cmp.Or(c.Pairs, 5)
	c.Durability = cmp.Or(c.Durability, storage.Fsync)
	wrong := c.Load.check()
	c.Load.Limit = limitOf(&c.Load, c.Deny)
	return errors.Join(
		c.Setup.check(),
		wrong,
		oneOf("compare", c.Against, Noop, Redis, OneNode),
		oneOf("nodes", strconv.Itoa(c.Nodes), "1", "3", "5"),
		oneOf("durability", string(c.Durability), string(storage.Fsync), string(storage.Memory)),
		upTo(1000, "pairs", c.Pairs),
		when(c.Deny && c.Load.Keys == New, "keys", "a new key is never denied: use another kind of keys, or leave --deny out"),
	)
}

// A Pair is one measurement of each side. That of a cluster is called the node's too; its processor time is that of all
// nodes.
type Pair struct {
	Node  Report `json:"node"`
	Other Report `json:"other"`
	// Ratio is the node's checks per second over the other's, P50Ratio the same of the median latencies, and P50More by how
	// much the node's is longer, in nanoseconds. CPURatio is what Ratio would be if nothing but processor time counted, that
	// of the generator included: where the cores are saturated it is close to Ratio, and other programs disturb it less.
	Ratio    float64       `json:"ratio"`
	CPURatio float64       `json:"cpu_ratio"`
	P50Ratio float64       `json:"p50_ratio"`
	P50More  time.Duration `json:"p50_more_ns"`
}

// A Comparison is what a Comparing has shown. Times are in nanoseconds.
type Comparison struct {
	Nodes      int                   `json:"nodes"`
	Against    string                `json:"against"`
	Durability storage.Durability    `json:"durability"`
	Pairs      []Pair                `json:"pairs"`
	Ratio      Spread[float64]       `json:"ratio"`
	CPURatio   Spread[float64]       `json:"cpu_ratio"`
	P50Ratio   Spread[float64]       `json:"p50_ratio"`
	P50More    Spread[time.Duration] `json:"p50_more_ns"`
	// Fsync is the median time of an fsync in the node's folder; 0 where none is needed.
	Fsync time.Duration `json:"fsync_ns,omitempty"`
	// Processor time for each check, of the sides and of the generator while it had that side under load.
	NodeCPU           time.Duration `json:"node_cpu_per_check_ns"`
	OtherCPU          time.Duration `json:"other_cpu_per_check_ns"`
	NodeGeneratorCPU  time.Duration `json:"generator_cpu_per_check_of_node_ns"`
	OtherGeneratorCPU time.Duration `json:"generator_cpu_per_check_of_other_ns"`
	// Interrupted says that there were to be more pairs.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Compare starts a node, or a cluster, and what it is compared with, puts a load on them in turn, and ends them. The error names the flag
// that is wrong, or says which side failed and how.
func Compare(ctx context.Context, c Comparing) (*Comparison, error) {
	return c.by(ctx, startSides)
}

// A starter starts both sides, with their data in a folder. It returns those that it has started also with an error.
type starter func(ctx context.Context, c *Comparing, folder string) ([2]*side, error)

// by compares what start starts.
func (c *Comparing) by(ctx context.Context, start starter) (result *Comparison, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	folder, remove, err := c.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	result = &Comparison{Nodes: c.Nodes, Against: c.Against, Durability: c.Durability}
	if c.Durability == storage.Fsync {
		if result.Fsync, err = fsyncTime(folder); err != nil {
			return nil, flagError("temp", "measure an fsync: %w", err)
		}
	}
	sides, err := start(ctx, c, folder)
	defer func() { err = errors.Join(err, sides[0].close(), sides[1].close()) }()
	if err != nil {
		return nil, err
	}
	if err := c.warm(ctx, sides); err != nil {
		return nil, err
	}
	for i := range c.Pairs {
		p, err := c.pair(ctx, sides, i)
		if errors.Is(err, errInterrupted) && i > 0 {
			result.Interrupted = true
			break
		}
		if err != nil {
			return nil, err
		}
		c.say("pair %d of %d: %s %s checks/s, %s %s checks/s, ratio %.2f, by processor time %.2f", i+1, c.Pairs,
			sides[0].name, count(p.Node.ChecksPerSecond), sides[1].name, count(p.Other.ChecksPerSecond), p.Ratio, p.CPURatio)
		result.Pairs = append(result.Pairs, p)
	}
	result.sum()
	return result, nil
}

// startSides starts both sides of a Comparing: the node or the cluster, and the other. What is compared with a node is asked as directly as
// can be; a cluster, and nodes among each other, through the Go client, and the no-op then too.
func startSides(ctx context.Context, c *Comparing, folder string) (sides [2]*side, err error) {
	dial := dialer(dialRaw)
	if c.Nodes > 1 || c.Against == OneNode {
		dial = dialClient
	}
	switch c.Against {
	case Redis:
		sides[1], err = c.redisSide(ctx, folder)
	case OneNode:
		sides[1], err = c.nodeSide(ctx, dial, "one node", filepath.Join(folder, "one-node"), c.Durability, c.Load)
	default:
		sides[1], err = c.noopSide(ctx, dial, c.Load)
	}
	switch {
	case err != nil:
	case c.Nodes > 1:
		sides[0], err = c.clusterSide(ctx, folder, c.Nodes, c.Durability, c.Load)
	default:
		sides[0], err = c.nodeSide(ctx, dial, "node", filepath.Join(folder, "node"), c.Durability, c.Load)
	}
	return sides, err
}

// warm brings both sides to where they are to be measured.
func (c *Comparing) warm(ctx context.Context, sides [2]*side) error {
	l := c.Load
	l.Duration, l.Warmup = max(l.Warmup, 100*time.Millisecond), 0
	for _, s := range sides {
		c.say("warming up the %s", s.name)
		if c.Deny {
			if err := s.spend(ctx, c.Load); err != nil {
				return err
			}
		}
		if _, err := s.measure(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// pair measures both sides once. They take turns in coming first.
func (c *Comparing) pair(ctx context.Context, sides [2]*side, n int) (Pair, error) {
	var reports [2]Report
	for i := range sides {
		which := (i + n) % 2
		var err error
		if reports[which], err = sides[which].measure(ctx, c.Load); err != nil {
			return Pair{}, err
		}
	}
	node, other := reports[0], reports[1]
	return Pair{
		Node: node, Other: other,
		Ratio:    node.ChecksPerSecond / other.ChecksPerSecond,
		CPURatio: float64(other.perCheck(other.GeneratorCPU+other.ServiceCPU)) / float64(node.perCheck(node.GeneratorCPU+node.ServiceCPU)),
		P50Ratio: float64(node.Latency.P50) / float64(other.Latency.P50),
		P50More:  node.Latency.P50 - other.Latency.P50,
	}, nil
}

// sum works out what the pairs say together.
func (c *Comparison) sum() {
	c.Ratio = spreadOver(c.Pairs, func(p Pair) float64 { return p.Ratio })
	c.CPURatio = spreadOver(c.Pairs, func(p Pair) float64 { return p.CPURatio })
	c.P50Ratio = spreadOver(c.Pairs, func(p Pair) float64 { return p.P50Ratio })
	c.P50More = spreadOver(c.Pairs, func(p Pair) time.Duration { return p.P50More })
	median := func(report func(Pair) *Report, cpu func(*Report) time.Duration) time.Duration {
		return spreadOver(c.Pairs, func(p Pair) time.Duration { return report(p).perCheck(cpu(report(p))) }).Median
	}
	node, other := func(p Pair) *Report { return &p.Node }, func(p Pair) *Report { return &p.Other }
	service := func(r *Report) time.Duration { return r.ServiceCPU }
	generator := func(r *Report) time.Duration { return r.GeneratorCPU }
	c.NodeCPU, c.OtherCPU = median(node, service), median(other, service)
	c.NodeGeneratorCPU, c.OtherGeneratorCPU = median(node, generator), median(other, generator)
}

// Write prints the comparison for a person.
func (c *Comparison) Write(w io.Writer) error {
	p := &printer{w: w}
	if c.Interrupted {
		p.say("interrupted: this is what was measured until then\n")
	}
	one, other := c.names()
	p.say("%s ÷ %s, durability %s\n\n", one, other, c.Durability)
	p.say("%4s  %12s  %12s  %6s   %12s  %12s  %6s\n", "pair", one, other, "ratio", one+" p50", other+" p50", "ratio")
	for i, pair := range c.Pairs {
		p.say("%4d  %10s/s  %10s/s  %6.3f   %12s  %12s  %6.3f\n", i+1,
			count(pair.Node.ChecksPerSecond), count(pair.Other.ChecksPerSecond), pair.Ratio,
			short(pair.Node.Latency.P50), short(pair.Other.Latency.P50), pair.P50Ratio)
	}
	p.say("\nthroughput ratio   median %.3f   min %.3f   max %.3f\n", c.Ratio.Median, c.Ratio.Min, c.Ratio.Max)
	p.say("by processor time  median %.3f   min %.3f   max %.3f\n", c.CPURatio.Median, c.CPURatio.Min, c.CPURatio.Max)
	p.say("p50 ratio          median %.3f   min %.3f   max %.3f\n", c.P50Ratio.Median, c.P50Ratio.Min, c.P50Ratio.Max)
	p.say("p50 more           median %s   min %s   max %s\n", short(c.P50More.Median), short(c.P50More.Min), short(c.P50More.Max))
	if c.Fsync > 0 {
		p.say("one fsync here     median %s\n", short(c.Fsync))
	}
	p.say("processor time per check: %s %s + generator %s; %s %s + generator %s\n",
		one, short(c.NodeCPU), short(c.NodeGeneratorCPU), other, short(c.OtherCPU), short(c.OtherGeneratorCPU))
	return p.err
}

// names are how both sides are called.
func (c *Comparison) names() (one, other string) {
	one, other = "node", c.Against
	if c.Nodes > 1 {
		one = fmt.Sprintf("%d nodes", c.Nodes)
	}
	if other == OneNode {
		other = "one node"
	}
	return one, other
}
