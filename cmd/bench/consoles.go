package bench

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// openConsoles is how many browsers follow a cluster.
const openConsoles = 20

// consoleGoals are those of consoles.
func consoleGoals() []goal {
	return []goal{
		{atMost, 1, "%", "of a processor, for all of them, without a load"},
		{atMost, 1.05, "×", "p99 under a full load, with ÷ without"},
		{open, 0, "×", "checks a second under it, with ÷ without"},
	}
}

// consoles tells what it costs three nodes that consoles are open: each follows one of the nodes, as a browser does.
func consoles(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	load := Load{Limit: limit.Named(minuteLimit), Callers: 64, Duration: t.duration(), Warmup: t.duration() / 4}
	if err := load.check(); err != nil {
		return nil, err
	}
	nodes, err := t.startCluster(ctx, folder, replicas, d)
	if err != nil {
		return nil, err
	}
	under, err := dialer(dialClient).over(ctx, "cluster", nodes.children(), nodes.servers(), load)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, under.close()) }()
	values := make([][]float64, len(consoleGoals()))
	for range t.rounds() {
		round, err := consoleRound(ctx, t, nodes, under, load)
		if err != nil {
			return nil, err
		}
		for i, v := range round {
			values[i] = append(values[i], v)
		}
		t.say("%d consoles: %.2f %% of a processor; p99 %.2f ×, checks/s %.2f ×", openConsoles, round[0], round[1], round[2])
	}
	for _, v := range values {
		spreads = append(spreads, spreadOf(v))
	}
	return spreads, nil
}

// consoleRound measures once without consoles, and once with them.
func consoleRound(ctx context.Context, t *Tabling, nodes runningCluster, under *side, load Load) (round [3]float64, err error) {
	idle, err := busyShare(ctx, nodes, t.duration())
	if err != nil {
		return round, err
	}
	without, err := under.measure(ctx, load)
	if err != nil {
		return round, err
	}
	closeAll, err := followNodes(ctx, nodes)
	if err != nil {
		return round, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	followed, err := busyShare(ctx, nodes, t.duration())
	if err != nil {
		return round, err
	}
	with, err := under.measure(ctx, load)
	if err != nil {
		return round, err
	}
	return [3]float64{100 * (followed - idle), float64(with.Latency.P99) / float64(without.Latency.P99), with.ChecksPerSecond / without.ChecksPerSecond}, nil
}

// busyShare is how much of a processor the nodes take, in a time in which nobody checks.
func busyShare(ctx context.Context, nodes runningCluster, over time.Duration) (float64, error) {
	before, began := nodes.children().cpu(), time.Now()
	select {
	case <-time.After(over):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return (nodes.children().cpu() - before).Seconds() / time.Since(began).Seconds(), nodes.children().alive()
}

// followNodes opens the streams of consoles, and returns how to close them once each has had its first view. The error of closing says
// that one had ended before.
func followNodes(ctx context.Context, nodes runningCluster) (closeAll func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	var mu sync.Mutex
	var ended error
	closeAll = func() error {
		mu.Lock()
		err := ended
		mu.Unlock()
		cancel()
		reading.Wait()
		return err
	}
	for i := range openConsoles {
		n := nodes[i%len(nodes)]
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.http+"/console/events", http.NoBody)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		lines := bufio.NewReader(res.Body)
		if first, err := lines.ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
			res.Body.Close()
			return nil, errors.Join(fmt.Errorf("%s answers a console with %s: %s", n.http, res.Status, first), err, closeAll())
		}
		reading.Go(func() {
			defer res.Body.Close()
			_, err := io.Copy(io.Discard, lines)
			mu.Lock()
			defer mu.Unlock()
			ended = errors.Join(ended, fmt.Errorf("the stream of %s has ended: %w", n.http, cmp.Or(err, io.EOF)))
		})
	}
	return closeAll, nil
}
