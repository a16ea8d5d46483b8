package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// A Flooding says how an honest caller is measured beside a caller that floods the same nodes.
type Flooding struct {
	Setup

	// Nodes is how many nodes decide: 1, 3 or 5; 0 means 1. The flood goes to the first one.
	Nodes int
	// Durability is that of the nodes; empty means storage.Fsync.
	Durability storage.Durability
	// Memory is what the nodes are given as --memory; empty leaves that out.
	Memory string
	// Rate is how many checks a second the honest caller makes; 0 means 50.
	Rate float64
	// Connections and Calls are how many connections the flood has, and how many calls it has under way on each; 0 means 2
	// and 4.
	Connections, Calls int
	// Duration is how long the honest caller is measured alone, and beside each flood; 0 means 10 seconds.
	Duration time.Duration
	// Only names the floods that are measured; empty means all of them.
	Only []string
}

func (f *Flooding) check() error {
	f.Nodes = cmp.Or(f.Nodes, 1)
	f.Durability = cmp.Or(f.Durability, storage.Fsync)
	f.Rate = cmp.Or(f.Rate, 50)
	f.Connections, f.Calls = cmp.Or(f.Connections, 2), cmp.Or(f.Calls, 4)
	f.Duration = cmp.Or(f.Duration, 10*time.Second)
	if len(f.Only) == 0 {
		f.Only = Floods()
	}
	errs := []error{
		f.Setup.check(),
		oneOf("nodes", strconv.Itoa(f.Nodes), "1", "3", "5"),
		upTo(maxConnections, "connections", f.Connections),
		upTo(maxFloodCalls, "calls", f.Calls),
		when(!(f.Rate > 0 && f.Rate <= maxRate), "rate", "%g is not above 0 and at most %d checks a second", f.Rate, maxRate),
		when(f.Duration <= 0, "duration", "%v is not above 0, as 10s is", f.Duration),
	}
	for _, name := range f.Only {
		errs = append(errs, oneOf("only", name, Floods()...))
	}
	return errors.Join(errs...)
}

// A FloodReport is what an honest caller has seen alone, and then beside each flood.
type FloodReport struct {
	Nodes  int      `json:"nodes"`
	Floods []Beside `json:"floods"`
}

// A Beside is what the honest caller has seen beside one flood.
type Beside struct {
	Flood  string  `json:"flood"`
	Alone  Report  `json:"honest_alone"` // just before it, on the same nodes
	Honest Report  `json:"honest"`
	Calm   Report  `json:"honest_after_flood"` // right after it
	Ratio  float64 `json:"p99_ratio"`          // of the honest caller's p99 to that which it has alone
	Checks int64   `json:"flood_checks"`       // of the flood that were answered
	Rate   float64 `json:"flood_checks_per_second"`

	// Memory of the node that has the most: at its peak, and a while after the flood.
	Peak  int64 `json:"peak_resident_bytes"`
	After int64 `json:"resident_bytes_after_flood"`

	// Of one processor, what the first node and the flood's client have taken.
	NodeShare  float64 `json:"first_node_processor_share"`
	FloodShare float64 `json:"flood_processor_share"`
}

// Flood measures an honest caller alone, and beside each flood. Every flood gets nodes of its own.
func Flood(ctx context.Context, f Flooding) (*FloodReport, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	report := &FloodReport{Nodes: f.Nodes}
	for _, name := range f.Only {
		b, err := f.beside(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("flood %s: %w", name, err)
		}
		report.Floods = append(report.Floods, b)
	}
	return report, nil
}

// settleFor is how long after a flood the memory of the nodes is read.
const settleFor = 15 * time.Second

// beside measures the honest caller alone and beside one flood.
func (f *Flooding) beside(ctx context.Context, name string) (b Beside, err error) {
	folder, remove, err := f.folder()
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	nodes, err := f.startFlooded(ctx, folder)
	if err != nil {
		return b, err
	}
	defer nodes.children().stop()
	honest := Load{
		Limit: limit.Named(openLimit), Rate: f.Rate, KeyCount: honestKeys, Callers: 256, Connections: 1,
		Duration: f.Duration, Warmup: time.Second,
	}
	if err := honest.check(); err != nil {
		return b, err
	}
	s, err := dial(ctx, nodes[0].grpc, honest, nodes.children().cpu)
	if err != nil {
		return b, err
	}
	defer s.close() //nolint:errcheck // everything was answered, or given up
	f.say("the honest caller alone")
	alone, err := measure(ctx, honest, s)
	if err != nil {
		return b, err
	}
	b, err = f.flooded(ctx, name, nodes, honest, s)
	b.Alone = alone
	b.Ratio = float64(b.Honest.Latency.P99) / float64(alone.Latency.P99)
	return b, errors.Join(err, nodes.children().alive())
}

// honestKeys is how many keys the honest caller asks about.
const honestKeys = 50

// startFlooded starts the nodes that are to be flooded.
func (f *Flooding) startFlooded(ctx context.Context, folder string) (runningCluster, error) {
	var flags []string
	if f.Memory != "" {
		flags = []string{"--memory", f.Memory}
	}
	if f.Nodes == 1 {
		n, err := f.startNode(ctx, filepath.Join(folder, "node"), f.Durability, flags...)
		return runningCluster{n}, err
	}
	return f.startCluster(ctx, folder, f.Nodes, f.Durability, flags...)
}

// flooding is how the process of a flood says that it has begun.
var flooding = regexp.MustCompile(`^flooding: (\d+) checks`)

// flooded measures the honest caller beside a flood, which is a process of its own, and after it.
func (f *Flooding) flooded(ctx context.Context, name string, nodes runningCluster, honest Load, s service) (Beside, error) {
	b := Beside{Flood: name}
	watched, unwatch := context.WithCancel(ctx)
	peak := make(chan int64, 1)
	go func() { peak <- nodes.peak(watched) }()
	err := f.during(ctx, &b, nodes[0], honest, s)
	if err == nil {
		f.say("the honest caller after it")
		honest.Warmup, honest.Duration = 0, settleFor
		b.Calm, err = measure(ctx, honest, s)
	}
	unwatch()
	b.Peak, b.After = <-peak, nodes.resident()
	return b, err
}

// during measures the honest caller while there is a flood.
func (f *Flooding) during(ctx context.Context, b *Beside, n *runningNode, honest Load, s service) error {
	f.say("the honest caller beside the flood of %s", b.Flood)
	flood, _, err := start(ctx, "the flood", flooding, f.Self, "flood-client", "--server", n.grpc,
		"--kind", b.Flood, "--connections", strconv.Itoa(f.Connections), "--calls", strconv.Itoa(f.Calls))
	if err != nil {
		return err
	}
	defer flood.stop()
	began, node, own := time.Now(), n.cpu(), flood.cpu()
	if b.Honest, err = measure(ctx, honest, s); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	b.NodeShare, b.FloodShare = (n.cpu()-node).Seconds()/took, (flood.cpu()-own).Seconds()/took
	lines := strings.Split(flood.said(), "\n")
	last := flooding.FindStringSubmatch(lines[len(lines)-1])
	if last == nil {
		return flood.alive()
	}
	if b.Checks, err = strconv.ParseInt(last[1], 10, 64); err != nil {
		return err
	}
	b.Rate = float64(b.Checks) / took
	return nil
}

// resident is the most memory that one of the nodes has, in bytes.
func (c runningCluster) resident() int64 {
	most := int64(0)
	for _, n := range c {
		most = max(most, processMemory(n.cmd.Process.Pid))
	}
	return most
}

// peak is the most that resident was until ctx ends.
func (c runningCluster) peak(ctx context.Context) int64 {
	most := int64(0)
	for ctx.Err() == nil {
		most = max(most, c.resident())
		pause(ctx, 50*time.Millisecond)
	}
	return most
}

// Write prints the report for a person.
func (r *FloodReport) Write(w io.Writer) error {
	p := &printer{w: w}
	p.say("An honest caller beside floods, %d node(s); all processes share this machine, the flood's client included.\n", r.Nodes)
	p.say("%-10s %10s %9s %9s %9s %7s %7s %12s %9s %9s %9s %9s\n", "flood", "p99 alone", "p50", "p99", "max", "ratio", "failed",
		"flood's/s", "peak MiB", "then MiB", "node CPUs", "its CPUs")
	for _, b := range r.Floods {
		l := b.Honest.Latency
		p.say("%-10s %10s %9s %9s %9s %7.1f %7d %12s %9d %9d %9.2f %9.2f\n", b.Flood, short(b.Alone.Latency.P99), short(l.P50), short(l.P99),
			short(l.Max), b.Ratio, b.Honest.errors(), count(b.Rate), b.Peak>>20, b.After>>20, b.NodeShare, b.FloodShare)
	}
	return p.err
}

// Floods are the names of all floods.
func Floods() []string {
	return slices.Clone(floodKinds)
}
