package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
)

const (
	// memoryShare is how much of the memory that its group or its machine has a node takes, unless --memory says otherwise.
	memoryShare = 0.75
	// leastGCPercent is the least by which the heap may grow between two collections: below that the collector would take what
	// is left of the processor. While memory is plenty it is cli.GCPercent.
	leastGCPercent = 50
	// While a node starts, which takes startsWithin as a rule, it copies its limits several times and leaves the collector as
	// Go has it.
	startGCPercent = 100
	startsWithin   = 10 * time.Second
)

// A memoryBound is how much memory this process may take, and where that was said.
type memoryBound struct {
	bytes  int64 // 0 for no bound
	source string
	fixed  bool   // GOMEMLIMIT is set: the collector has been told already
	there  uint64 // what the group or the machine has; 0 if that is not known
	of     string // which of the two it is
}

// boundOf is the bound that holds: GOMEMLIMIT's, or the option's, or a share of what there is.
func boundOf(option int64, env cli.Lookup) (memoryBound, error) {
	b := memoryBound{of: "the machine"}
	if machine, err := memlimit.FromSystem(); err == nil {
		b.there = machine
	}
	if group, err := memlimit.FromCgroup(); err == nil && (b.there == 0 || group < b.there) {
		b.there, b.of = group, "the control group"
	}
	said, ok := env("GOMEMLIMIT")
	switch {
	case ok:
		b.bytes, b.source, b.fixed = debug.SetMemoryLimit(-1), "GOMEMLIMIT", true
		if b.bytes == math.MaxInt64 { // it is off
			b.bytes = 0
		} else if b.bytes < cli.LeastMemory {
			return b, fmt.Errorf("GOMEMLIMIT: %q is too little: at least %dMiB", said, cli.LeastMemory>>20)
		}
	case option != 0:
		b.bytes, b.source = option, "--memory"
	default:
		b.bytes, b.source = portion(b.there), b.of
	}
	return b, nil
}

// exceeds says that the bound is more than there is, and so bounds nothing.
func (b memoryBound) exceeds() bool { return b.there > 0 && uint64(b.bytes) > b.there } //nolint:gosec // it is no less than 0

func portion(of uint64) int64 { return int64(memoryShare * float64(min(of, math.MaxInt64/2))) }

// A memoryKeeper keeps this process below its bound: it has the collector run more often the nearer the bound is, and gives
// back to the operating system what is not needed any more.
type memoryKeeper struct {
	bound  memoryBound
	log    *slog.Logger
	adapts bool // GOGC does not say what is wanted
	start  time.Time

	offHeap int64 // bytes that storage will take besides Go's memory, about
	percent int
	limit   int64 // of Go's memory, that the collector was told last
	sample  []metrics.Sample
	flood   flood
}

// A flood is what a memoryKeeper knows of one that may be over: times at which much was allocated.
type flood struct {
	allocated uint64    // in all, at the last look
	calm      int       // looks in a row at which little was allocated
	kept      uint64    // what was held after memory was last given back
	gaveBack  time.Time // when that was
}

// What a memoryKeeper looks at, in this order.
var memoryMetrics = []string{
	"/gc/heap/live:bytes", "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/gc/heap/allocs:bytes",
}

// keepMemory tells the collector of a bound, and looks after it until ctx ends, when the channel is closed. A node is
// told the bound in cfg.
func keepMemory(ctx context.Context, cfg *node.Config, b memoryBound) (done <-chan struct{}) {
	cfg.Memory = b.bytes
	_, given := os.LookupEnv("GOGC")
	k := &memoryKeeper{bound: b, log: cfg.Logger, adapts: !given, start: time.Now(), offHeap: cReserve * cfg.OffHeap()}
	for _, name := range memoryMetrics {
		k.sample = append(k.sample, metrics.Sample{Name: name})
	}
	cfg.Logger.Info("memory", "bound_bytes", b.bytes, "from", b.source)
	if b.exceeds() {
		cfg.Logger.Warn("the bound on memory is more than there is, so the node may be killed before it is reached: give less",
			"option", b.source, "bound_bytes", b.bytes, "there_bytes", b.there, "of", b.of)
	}
	k.look()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(time.Second)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				k.look()
			case <-ctx.Done():
				return
			}
		}
	}()
	return ended
}

const (
	// giveBackEvery is how long after memory was given back it is again: it takes a collection.
	giveBackEvery = time.Minute
	// calmFor is how many looks in a row must find it calm before.
	calmFor = 5
	// worthIt is how much there must be to give back, in bytes.
	worthIt = 64 << 20
)

// look adapts the collector to what lives, and gives memory back once a flood is over.
func (k *memoryKeeper) look() {
	metrics.Read(k.sample)
	live, held := k.sample[0].Value.Uint64(), k.sample[1].Value.Uint64()-k.sample[2].Value.Uint64()
	percent := gcPercentFor(int64(live), k.bound.bytes)
	if time.Since(k.start) < startsWithin {
		percent = min(percent, startGCPercent)
	}
	if k.adapts && percent != k.percent {
		debug.SetGCPercent(percent)
		k.percent = percent
	}
	if k.bound.bytes > 0 && !k.bound.fixed {
		outside := resident() - int64(held) //nolint:gosec // far below 2⁶³
		if k.limit == 0 {
			k.offHeap += outside // of the program, which storage has no part in yet
		}
		if limit := limitFor(k.bound.bytes, max(outside, k.offHeap)); limit != k.limit {
			debug.SetMemoryLimit(limit)
			k.limit = limit
		}
	}
	if now := time.Now(); k.flood.over(live, held, k.sample[3].Value.Uint64(), now) {
		debug.FreeOSMemory()
		metrics.Read(k.sample)
		after := k.sample[1].Value.Uint64() - k.sample[2].Value.Uint64()
		k.flood.kept, k.flood.gaveBack = after, now
		k.log.Info("memory given back", "held_bytes", after, "before", held)
	}
}

// cReserve is how many bytes C takes for each that it allocates for Pebble, with what its allocator keeps: blocks of many sizes come and go.
const cReserve = 2

// limitStep is in which steps the limit of Go's memory changes, in bytes: a change stops everything for a moment.
const limitStep = 4 << 20

// limitFor is how much Go's memory may take of the bound where so many bytes are outside of it: what C allocates for Pebble, with what its
// allocator keeps, and the pages of the program. A tenth of the rest is for what the heap grows by while the collector runs. It is half of the
// bound at least: with less, the collector would take the processor.
func limitFor(bound, outside int64) int64 {
	return max((bound-outside)/10*9, bound/2) / limitStep * limitStep
}

// resident is how many bytes of this process are in memory; 0 where that is not known.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var all, pages int64
	if _, err := fmt.Sscan(string(text), &all, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// over says whether it has been calm for long enough, and enough more is held than a collection would leave. The last one,
// which found live alive, may have run amid the flood, and none runs while it is calm: what is held may also have grown by
// that much since memory was last given back.
func (f *flood) over(live, held, allocated uint64, now time.Time) bool {
	if allocated-f.allocated < held/8 {
		f.calm++
	} else {
		f.calm = 0
	}
	f.allocated = allocated
	return f.calm >= calmFor && held >= min(live, f.kept)+worthIt && now.Sub(f.gaveBack) >= giveBackEvery
}

// gcPercentFor is by how much the heap may grow until the next collection, with so many bytes alive: in steps, for a change
// stops everything for a moment. The heap may then take three quarters of the bound.
func gcPercentFor(live, bound int64) int {
	if bound <= 0 || live <= 0 {
		return cli.GCPercent
	}
	percent := 100 * (bound/4*3 - live) / live
	return int(min(max(percent/25*25, leastGCPercent), cli.GCPercent))
}
