package main

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
)

func TestBoundOf(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	if b, err := boundOf(1<<30, none); err != nil || b.bytes != 1<<30 || b.source != "--memory" || b.fixed || b.exceeds() {
		t.Errorf("the option: %+v, %v", b, err)
	}
	if b, err := boundOf(1<<60, none); err != nil || !b.exceeds() {
		t.Errorf("more than there is: %+v, %v", b, err)
	}
	if b, err := boundOf(0, none); err != nil || b.bytes <= 0 || b.fixed || b.source == "--memory" || b.exceeds() {
		t.Errorf("nothing given: %+v, %v, want a share of what there is", b, err)
	}
	set := func(name string) (string, bool) { return "off", name == "GOMEMLIMIT" }
	if b, err := boundOf(1<<30, set); err != nil || !b.fixed || b.source != "GOMEMLIMIT" || b.bytes == 1<<30 {
		t.Errorf("with GOMEMLIMIT: %+v, %v, want that it rules", b, err)
	}
	before := debug.SetMemoryLimit(512) // as the runtime does where GOMEMLIMIT is 512
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if b, err := boundOf(1<<30, func(string) (string, bool) { return "512", true }); err == nil || err.Error() != `GOMEMLIMIT: "512" is too little: at least 128MiB` {
		t.Errorf("with too little: %+v, %v", b, err)
	}
	debug.SetMemoryLimit(before)
	for of, want := range map[uint64]int64{4 << 30: 3 << 30, math.MaxUint64: int64(memoryShare * float64(math.MaxInt64/2))} {
		if got := portion(of); got != want {
			t.Errorf("three quarters of %d are %d, want %d", of, got, want)
		}
	}
}

// The nearer the bound, the more often the collector runs: with what it lets the heap grow by, the heap stays below three
// quarters of the bound as long as that lets it grow at all.
func TestGCPercent(t *testing.T) {
	const bound = 1 << 30
	last := cli.GCPercent
	for live := int64(1 << 20); live < bound; live += 1 << 20 {
		percent := gcPercentFor(live, bound)
		if percent > last || percent < leastGCPercent || percent > cli.GCPercent {
			t.Fatalf("%d %% with %d bytes alive, %d %% with fewer", percent, live, last)
		}
		if grown := live + live*int64(percent)/100; grown > bound/4*3 && percent > leastGCPercent {
			t.Fatalf("with %d bytes alive the heap grows to %d", live, grown)
		}
		last = percent
	}
	if last != leastGCPercent || gcPercentFor(bound, 0) != cli.GCPercent || gcPercentFor(0, bound) != cli.GCPercent {
		t.Errorf("%d %% at the bound", last)
	}
}

// Go's memory leaves room for what is outside of it, but has half of the bound in any case.
func TestLimitOfGo(t *testing.T) {
	for _, c := range []struct{ bound, outside, want int64 }{
		{256 << 20, 76 << 20, 160 << 20},
		{256 << 20, 77 << 20, 160 << 20}, // in steps
		{256 << 20, 200 << 20, 128 << 20},
		{128 << 20, 300 << 20, 64 << 20},
		{1 << 30, 124 << 20, 808 << 20},
	} {
		if got := limitFor(c.bound, c.outside); got != c.want {
			t.Errorf("with %d MiB of %d outside it is %d MiB, want %d", c.outside>>20, c.bound>>20, got>>20, c.want>>20)
		}
	}
	if n := resident(); runtime.GOOS == "linux" && (n < 1<<20 || n > 1<<40) {
		t.Errorf("%d bytes are resident", n)
	}
}

// A keeper tells the collector of what is outside of Go's memory from its first look on.
func TestKeeperLeavesRoom(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	cfg := node.Config{Logger: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	done := keepMemory(ctx, &cfg, memoryBound{bytes: 256 << 20, source: "--memory"})
	cancel()
	<-done
	if got, most := debug.SetMemoryLimit(-1), int64(256<<20)-cReserve*cfg.OffHeap(); got > most || got < 128<<20 {
		t.Errorf("Go's memory may take %d MiB of 256, want %d at most", got>>20, most>>20)
	}
}

// Nodes on one machine share what a single one would take, unless an option says what each takes.
func TestNodesOfDevShareMemory(t *testing.T) {
	alone, err := boundOf(0, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string][]string{
		"": {"--memory", strconv.FormatInt(max(alone.bytes/3, cli.LeastMemory), 10)}, "JETON_MEMORY": nil, "GOMEMLIMIT": nil,
	} {
		got, err := memoryOfEach(3, func(name string) (string, bool) { return "1GiB", name == variable })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("with %s: %q, %v; want %q", variable, got, err, want)
		}
	}
}

// TestFloodIsOver shows a keeper what a node holds during a flood and after it: memory is given back once it is calm, though
// the last collection ran amid the flood, and again only when there is enough and a minute has passed.
func TestFloodIsOver(t *testing.T) {
	var f flood
	now, allocated := time.Now(), uint64(0)
	look := func(live, held, more uint64) bool {
		now, allocated = now.Add(time.Second), allocated+more
		return f.over(live, held, allocated, now)
	}
	calm := func(live, held uint64) int {
		for i := range 120 {
			if look(live, held, 1<<20) {
				f.kept, f.gaveBack = live, now
				return i + 1
			}
		}
		return 0
	}
	const amid, held, small = 200 << 20, 240 << 20, 40 << 20
	for range 10 {
		if look(amid, held, 100<<20) {
			t.Fatal("memory is given back amid a flood")
		}
	}
	if got := calm(amid, held); got != calmFor {
		t.Errorf("given back after %d calm looks, want %d", got, calmFor)
	}
	if got := calm(amid, held); got != 0 {
		t.Errorf("given back again after %d looks though all that is held lives", got)
	}
	if got := calm(small, held); got != 1 {
		t.Errorf("given back %d looks after a collection found that little lives, want 1", got)
	}
	look(amid, held, 100<<20)
	if got, want := calm(amid, held), int(giveBackEvery/time.Second)-1; got != want {
		t.Errorf("given back again %d calm looks after one more flood, want %d", got, want)
	}
}
