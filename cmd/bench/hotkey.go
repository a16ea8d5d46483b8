package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// coldRate is how many checks a second are made of keys that are not hot, and coldKeys of how many keys.
const (
	coldRate = 400
	coldKeys = 10_000
)

// hotKeyGoals are those of hotKey.
func hotKeyGoals() []goal {
	return []goal{
		{atMost, 2, "×", "p99 of the other keys ÷ without that key"},
		{open, 0, "×", "÷ at a node that has only these, at the same time"},
		{open, 0, "/s", "the one key"},
		{open, 0, "ms", "p99 of the other keys"},
		{open, 0, "ms", "p99 of the other keys without that key"},
	}
}

// hotKey tells how late a node answers for keys that are asked now and then while other callers ask it for one key as often as the machine can, beside how late it
// does without them. What of that is the node's and what the machine's, a second node tells, which is asked for other keys alone at the same time.
func hotKey(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	undo := thriftyGC() // loads that run at the same time do not undo it for one another
	defer undo()
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	bed, err := t.hotKeyBed(ctx, folder, d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.close()) }()
	values := make([][]float64, len(hotKeyGoals()))
	for range t.rounds() {
		without, _, err := bed.cold(ctx)
		if err != nil {
			return nil, err
		}
		with, alone, rate, err := bed.beside(ctx)
		if err != nil {
			return nil, err
		}
		p99 := float64(with.Latency.P99)
		round := []float64{
			p99 / float64(without.Latency.P99), p99 / float64(alone.Latency.P99), rate, inMillis(with.Latency.P99), inMillis(without.Latency.P99),
		}
		for i, v := range round {
			values[i] = append(values[i], v)
		}
		t.say("p99 %.2f ms beside one key at %s checks/s, %.2f ms at the other node, %.2f ms without: %.2f ×",
			round[3], count(rate), inMillis(alone.Latency.P99), round[4], round[0])
	}
	for _, v := range values {
		spreads = append(spreads, spreadOf(v))
	}
	return spreads, nil
}

// A hotKeyBed is two nodes, each with a client that asks for keys now and then, and a client that asks the first for one key.
type hotKeyBed struct {
	nodes   [2]*side
	load    Load // of each node
	one     service
	oneLoad Load
}

// hotKeyBed starts nodes with their data below a folder. If that fails, none is left running.
func (t *Tabling) hotKeyBed(ctx context.Context, folder string, d storage.Durability) (b *hotKeyBed, err error) {
	b = &hotKeyBed{
		load:    Load{Limit: limit.Named(openLimit), KeyCount: coldKeys, Rate: coldRate, Arrivals: Poisson, Duration: t.duration(), Warmup: t.duration() / 4},
		oneLoad: Load{Limit: limit.Named(openLimit), Keys: One, Duration: time.Hour},
	}
	if err := errors.Join(b.load.check(), b.oneLoad.check()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	for i := range b.nodes {
		name := fmt.Sprintf("node-%d", i+1)
		n, err := t.startNode(ctx, filepath.Join(folder, name), d)
		if err != nil {
			return nil, err
		}
		if b.nodes[i], err = dialer(dialClient).over(ctx, name, children{n.child}, []string{n.grpc}, b.load); err != nil {
			return nil, err
		}
		if i > 0 {
			continue
		}
		if b.one, err = dialClient(ctx, []string{n.grpc}, b.oneLoad, n.cpu); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *hotKeyBed) close() (err error) {
	if b.one.close != nil {
		err = b.one.close()
	}
	return errors.Join(err, b.nodes[0].close(), b.nodes[1].close())
}

// cold measures the keys that are asked now and then, at both nodes at the same time.
func (b *hotKeyBed) cold(ctx context.Context) (first, second Report, err error) {
	var reports [2]Report
	var both errgroup.Group
	for i, node := range b.nodes {
		both.Go(func() (err error) {
			reports[i], err = node.measure(ctx, b.load)
			return err
		})
	}
	err = both.Wait()
	return reports[0], reports[1], err
}

// beside is cold while the one key is asked for at the first node, and how many checks a second of it were answered.
func (b *hotKeyBed) beside(ctx context.Context) (first, second Report, rate float64, err error) {
	busy, stop := context.WithCancel(ctx)
	defer stop()
	var one Report
	done := make(chan error, 1)
	go func() {
		var err error
		one, err = measure(busy, b.oneLoad, b.one)
		done <- err
	}()
	first, second, err = b.cold(ctx)
	stop()
	err = errors.Join(err, <-done)
	if failed := one.errors(); err == nil && (one.Checks == 0 || failed > one.Checks/1000) {
		err = fmt.Errorf("of %d checks of one key %d ended with an error", one.Checks, failed)
	}
	return first, second, one.ChecksPerSecond, err
}
