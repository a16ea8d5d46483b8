package main

import (
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"128MiB": 128 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "200000KiB": 200_000 << 10, "134217728": 128 << 20, "134217729B": 128<<20 + 1,
	} {
		var m, again int64
		if err := (size{&m, leastMemory}).Set(text); err != nil || m != want {
			t.Errorf("%s: %d, %v; want %d", text, m, err, want)
		}
		if err := (size{&again, leastMemory}).Set(size{bytes: &m}.String()); err != nil || again != m {
			t.Errorf("%s is shown as %s: %v", text, size{bytes: &m}, err)
		}
	}
	for text, want := range map[string]string{
		"": `"" is not a number of bytes, such as 512MiB or 4GiB`, "MiB": `"MiB" is not a number`, "-1GiB": "is not a number", "1.5GiB": "is not a number",
		"1GB": "is not a number", "1 GiB": "is not a number", "99999999999TiB": "is not a number", "100MiB": `"100MiB" is too little: at least 128MiB`, "0": "is too little",
	} {
		var m int64
		if err := (size{&m, leastMemory}).Set(text); err == nil || !strings.Contains(err.Error(), want) || m != 0 {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

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
	last := gcPercent
	for live := int64(1 << 20); live < bound; live += 1 << 20 {
		percent := gcPercentFor(live, bound)
		if percent > last || percent < leastGCPercent || percent > gcPercent {
			t.Fatalf("%d %% with %d bytes alive, %d %% with fewer", percent, live, last)
		}
		if grown := live + live*int64(percent)/100; grown > bound/4*3 && percent > leastGCPercent {
			t.Fatalf("with %d bytes alive the heap grows to %d", live, grown)
		}
		last = percent
	}
	if last != leastGCPercent || gcPercentFor(bound, 0) != gcPercent || gcPercentFor(0, bound) != gcPercent {
		t.Errorf("%d %% at the bound", last)
	}
}

// Nodes on one machine share what a single one would take, unless somebody says what each takes.
func TestNodesOfDevShareMemory(t *testing.T) {
	alone, err := boundOf(0, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string][]string{
		"": {"--memory", strconv.FormatInt(max(alone.bytes/3, leastMemory), 10)}, "JETON_MEMORY": nil, "GOMEMLIMIT": nil,
	} {
		got, err := memoryOfEach(3, func(name string) (string, bool) { return "1GiB", name == variable })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("with %s: %q, %v; want %q", variable, got, err, want)
		}
	}
}
