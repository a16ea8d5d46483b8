package bench

import (
	"context"
	"fmt"
	"time"
)

// An httpCase is one row or more of what is measured of a gateway.
type httpCase struct {
	name, title string
	// served cases need the processes of the bed.
	served bool
	goals  []goal
	// measure returns a spread for each goal, in its unit and order, and the pairs that it took, if it takes any.
	measure func(ctx context.Context, b *httpBed) ([]Spread[float64], []HTTPPair, error)
}

// HTTPCases are the names of what is measured of a gateway, in its order.
func HTTPCases() []string {
	var names []string
	for _, k := range httpCases(1) {
		names = append(names, k.name)
	}
	return names
}

// httpCases are all that is measured of a gateway, with so many connections where it is to be busy.
func httpCases(connections int) []httpCase {
	busy := fmt.Sprintf("%d connections", connections)
	ratio := func(least float64) []goal {
		return []goal{
			{bound: atLeast, value: least, unit: "×", what: "requests a second"},
			{unit: "×", what: "by processor time"},
		}
	}
	return []httpCase{
		{
			name: "proxy", title: "reverse proxy ÷ httputil.ReverseProxy, " + busy, served: true,
			goals:   ratio(0.75),
			measure: httpRatio((*httpBed).proxySides, connections),
		},
		{
			name: "latency", title: "reverse proxy − httputil.ReverseProxy, one connection", served: true,
			goals:   []goal{{atMost, 0.4, "ms", "p50"}},
			measure: httpDelay((*httpBed).proxySides),
		},
		{
			name: "forward-auth", title: "forward-auth ÷ a handler that answers 204, " + busy, served: true,
			goals:   ratio(0.55),
			measure: httpRatio((*httpBed).authSides, connections),
		},
		{
			name: "denials", title: fmt.Sprintf("denied flood of %d clients ÷ a handler that answers 429, %s", floodClients, busy), served: true,
			goals:   append(ratio(0.70), goal{bound: atMost, value: 1, unit: "%", what: "asked of a node"}),
			measure: deniedFlood(connections),
		},
		{
			name: "middleware", title: fmt.Sprintf("middleware on an embedded node, %d callers", embeddedCallers),
			goals: []goal{
				{atMost, 3, "µs", "time"}, {atMost, 6, "allocations", "memory"}, {open, 0, "µs", "processor time"},
			},
			measure: middlewareAlone,
		},
	}
}

// httpRatio compares the requests per second of both sides, and what they would be if nothing but processor time counted.
func httpRatio(sides func(*httpBed) [2]httpSide, connections int) func(context.Context, *httpBed) ([]Spread[float64], []HTTPPair, error) {
	return func(ctx context.Context, b *httpBed) ([]Spread[float64], []HTTPPair, error) {
		pairs, err := b.rounds(ctx, b.load(connections), sides(b))
		return []Spread[float64]{
			spreadOver(pairs, func(p HTTPPair) float64 { return p.Ratio }),
			spreadOver(pairs, func(p HTTPPair) float64 { return p.CPURatio }),
		}, pairs, err
	}
}

// floodClients are how many clients go on though they are denied: few, as a flood is made by those who do not listen.
const floodClients = 10

// deniedFlood is httpRatio for requests that are denied, and tells how many of these were asked of a node.
func deniedFlood(connections int) func(context.Context, *httpBed) ([]Spread[float64], []HTTPPair, error) {
	return func(ctx context.Context, b *httpBed) ([]Spread[float64], []HTTPPair, error) {
		l := b.load(connections)
		l.Keys, l.KeyCount = Uniform, floodClients
		sides := b.floodSides()
		if err := b.exhaust(ctx, l); err != nil {
			return nil, nil, err
		}
		before, err := b.gateway.decided(ctx)
		if err != nil {
			return nil, nil, err
		}
		pairs, err := b.rounds(ctx, l, sides)
		if err != nil {
			return nil, pairs, err
		}
		after, err := b.gateway.decided(ctx)
		if err != nil {
			return nil, pairs, err
		}
		asked := 100 * (after.asked - before.asked) / (after.all - before.all)
		return []Spread[float64]{
			spreadOver(pairs, func(p HTTPPair) float64 { return p.Ratio }),
			spreadOver(pairs, func(p HTTPPair) float64 { return p.CPURatio }),
			spreadOf([]float64{asked}),
		}, pairs, nil
	}
}

// httpDelay tells by how many milliseconds the median latency of the one side is longer, for a client that is alone.
func httpDelay(sides func(*httpBed) [2]httpSide) func(context.Context, *httpBed) ([]Spread[float64], []HTTPPair, error) {
	return func(ctx context.Context, b *httpBed) ([]Spread[float64], []HTTPPair, error) {
		pairs, err := b.rounds(ctx, b.load(1), sides(b))
		return []Spread[float64]{
			spreadOver(pairs, func(p HTTPPair) float64 { return float64(p.P50More) / float64(time.Millisecond) }),
		}, pairs, err
	}
}
