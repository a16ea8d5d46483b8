package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/storage"
)

// By what a gateway that is measured tells clients apart.
const (
	ByAPIKey = "api-key" // by API keys that are known to it
	ByHeader = "header"  // by a header with a name
)

// An HTTPing says what of a gateway is measured. The zero value of a field is its default.
type HTTPing struct {
	Setup

	// Nodes is how many nodes decide, with their registers in memory: 1, 3 or 5; 0 means 3.
	Nodes int
	// By is ByAPIKey or ByHeader; empty means ByAPIKey.
	By string
	// Leased has the gateway decide by leases.
	Leased bool
	// Keys is which of the clients asks: Uniform, Zipf or One; empty means Uniform.
	Keys string
	// KeyCount is how many clients there are, at most 100,000; 0 means 1,000.
	KeyCount int
	// Connections is over how many connections, each with one request under way, the gateway is asked where it is to be
	// busy; 0 means 64.
	Connections int
	// Pairs is how many times both sides are measured, one after the other; 0 means 5.
	Pairs int
	// Duration is how long each is measured, after a warm-up of a quarter of it; 0 means 5 s.
	Duration time.Duration
	// Only are the names of the only cases that are measured; empty means all.
	Only []string
}

// maxClients is how many clients a gateway is told to know at most.
const maxClients = 100_000

func (h *HTTPing) check() error {
	h.Nodes = cmp.Or(h.Nodes, 3)
	h.By = cmp.Or(h.By, ByAPIKey)
	h.Keys = cmp.Or(h.Keys, Uniform)
	h.KeyCount = cmp.Or(h.KeyCount, 1000)
	h.Connections = cmp.Or(h.Connections, 64)
	h.Pairs = cmp.Or(h.Pairs, 5)
	h.Duration = cmp.Or(h.Duration, 5*time.Second)
	errs := []error{
		h.Setup.check(),
		oneOf("nodes", strconv.Itoa(h.Nodes), "1", "3", "5"),
		oneOf("by", h.By, ByAPIKey, ByHeader),
		oneOf("keys", h.Keys, Uniform, Zipf, One),
		upTo(maxClients, "key-count", h.KeyCount),
		upTo(maxCallers, "connections", h.Connections),
		upTo(1000, "pairs", h.Pairs),
		when(h.Duration <= 0, "duration", "%v is not above 0, as 5s is", h.Duration),
	}
	for _, name := range h.Only {
		if known := HTTPCases(); !slices.Contains(known, name) {
			errs = append(errs, flagError("only", "%q is no case: they are %s", name, strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}

// load is one over so many connections.
func (h *HTTPing) load(connections int) Load {
	l := Load{
		Limit: limitFor(false), Callers: connections, Connections: min(connections, maxConnections),
		Keys: h.Keys, KeyCount: h.KeyCount, Duration: h.Duration, Warmup: h.Duration / 4,
	}
	l.check() //nolint:errcheck // it has the bounds of h, and only its defaults are to be filled in
	return l
}

// HTTP starts a gateway, the nodes that decide for it, and servers that limit nothing, and puts a load on the gateway and
// on them in turn; and it asks the middleware of a gateway in this process. A case that fails has its error in its row, and
// the rest is measured. When ctx ends, what was measured until then is returned, with an error.
func HTTP(ctx context.Context, h HTTPing) (report *HTTPReport, err error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(httpCases(h.Connections), func(k httpCase) bool {
		return len(h.Only) > 0 && !slices.Contains(h.Only, k.name)
	})
	folder, remove, err := h.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	bed := &httpBed{HTTPing: h, folder: folder}
	if slices.ContainsFunc(chosen, func(k httpCase) bool { return k.served }) {
		defer bed.stop()
		if err := bed.start(ctx); err != nil {
			return nil, err
		}
	}
	report = &HTTPReport{Nodes: h.Nodes, By: h.By, Keys: h.Keys, KeyCount: h.KeyCount, Connections: h.Connections}
	failed := 0
	for _, k := range chosen {
		h.say("%s", k.title)
		values, pairs, err := k.measure(ctx, bed)
		if ctx.Err() != nil {
			return report, errInterrupted
		}
		if err != nil {
			failed++
		}
		report.add(k, values, pairs, err)
	}
	if failed > 0 {
		return report, fmt.Errorf("%d of the measurements failed: see their rows", failed)
	}
	return report, nil
}

// rounds takes pairs of measurements of both sides, which take turns in coming first.
func (b *httpBed) rounds(ctx context.Context, l Load, both [2]httpSide) ([]HTTPPair, error) {
	sides := [2]*side{both[0].side, both[1].side}
	c := Comparing{Setup: b.Setup, Load: l}
	if err := c.warm(ctx, sides); err != nil {
		return nil, err
	}
	var pairs []HTTPPair
	for i := range b.Pairs {
		p, err := c.pair(ctx, sides, i)
		if err != nil {
			return nil, err
		}
		if err := expected(sides, p); err != nil {
			return nil, err
		}
		b.say("pair %d of %d: %s %s/s, p50 %s, %s %s/s, p50 %s, ratio %.3f, by processor time %.3f", i+1, b.Pairs,
			sides[0].name, count(p.Node.ChecksPerSecond), short(p.Node.Latency.P50),
			sides[1].name, count(p.Other.ChecksPerSecond), short(p.Other.Latency.P50), p.Ratio, p.CPURatio)
		pairs = append(pairs, HTTPPair{p, both[0].watch.perRequest(&p.Node), both[1].watch.perRequest(&p.Other)})
	}
	return pairs, nil
}

// expected refuses a pair with an answer that was not expected: it was not what was to be measured, and costs something else.
func expected(sides [2]*side, p Pair) error {
	for i, r := range []*Report{&p.Node, &p.Other} {
		if r.errors() > 0 {
			return fmt.Errorf("the %s: %d of %d answers were not as expected, the first: %s",
				sides[i].name, r.errors(), r.Checks, r.Errors[0].First)
		}
	}
	return nil
}

// durabilityOfHTTP is that of the nodes: what a gateway costs does not depend on their disks.
const durabilityOfHTTP = storage.Memory
