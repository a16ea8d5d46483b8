package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/storage"
)

// algorithms are limits of every algorithm that deny nothing of what is measured; the first is what the others are compared with.
// A sliding log and a concurrency limit admit few checks of one key, whatever their numbers.
const algorithms = `limits:
  token-bucket: {capacity: 1000000000, refill: 1000000000/s}
  fixed-window: {algorithm: fixed-window, limit: 60000000000, window: 1m}
  sliding-window: {algorithm: sliding-window, limit: 60000000000, window: 1m}
  weighted: {algorithm: sliding-window, limit: 60000000000, window: 1m, weighted: true}
  sliding-log: {algorithm: sliding-log, limit: 1000, window: 100ms}
  concurrency: {algorithm: concurrency, limit: 500, lease: 1s}
`

// compared are the names of the algorithms that are compared with the token bucket under that load.
func compared(keys string) []string {
	every := []string{limit.FixedWindow, limit.SlidingWindow, "weighted"}
	if keys == One {
		return every // the others would deny
	}
	return append(every, limit.SlidingLog, limit.Concurrency)
}

// byAlgorithm are the goals of the checks a second under each algorithm, as a ratio to those under the token bucket.
func byAlgorithm(keys string) []mode {
	least := map[string]float64{limit.FixedWindow: 0.9, limit.SlidingWindow: 0.7}
	var goals []goal
	for _, name := range compared(keys) {
		g := goal{unit: "×", what: name}
		if least[name] > 0 {
			g.bound, g.value = atLeast, least[name]
		}
		goals = append(goals, g)
	}
	return both(goals...)
}

// embeddedAlgorithms asks embedded nodes under every algorithm in turn, each on a node of its own, round by round.
func embeddedAlgorithms(keys string) func(context.Context, *Tabling, storage.Durability) ([]Spread[float64], error) {
	return func(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
		folder, remove, err := t.folder()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
		l := Load{Keys: keys}
		if err := l.check(); err != nil {
			return nil, err
		}
		space, err := newKeySpace(l)
		if err != nil {
			return nil, err
		}
		names := append([]string{limit.TokenBucket}, compared(keys)...)
		nodes, closeAll, err := openAlgorithms(ctx, folder, d, names)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, closeAll()) }()
		ratios := make([][]float64, len(names))
		for round := range t.rounds() + 1 {
			first := 0.0
			for i, name := range names {
				l.Limit = limit.Named(name)
				took, _, err := askEmbedded(ctx, nodes[i], l, space, t.duration()/2)
				switch {
				case err != nil:
					return nil, fmt.Errorf("%s: %w", name, err)
				case i == 0:
					first = took
				case round > 0: // the first one was the warm-up
					ratios[i] = append(ratios[i], first/took)
				}
			}
		}
		for _, r := range ratios[1:] {
			spreads = append(spreads, spreadOf(r))
		}
		return spreads, nil
	}
}

// openAlgorithms opens a node for each name, under all the limits.
func openAlgorithms(ctx context.Context, folder string, d storage.Durability, names []string) (nodes []*node.Node, closeAll func() error, err error) {
	doc, err := limit.ParseDocument([]byte(algorithms))
	if err != nil {
		return nil, nil, err
	}
	closeAll = func() (err error) {
		for _, n := range nodes {
			err = errors.Join(err, n.Close(context.WithoutCancel(ctx)))
		}
		return err
	}
	for _, name := range names {
		n, err := node.Open(node.Config{Data: filepath.Join(folder, name), Durability: d, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		n.SetLimits(doc)
		nodes = append(nodes, n)
	}
	return nodes, closeAll, nil
}
