package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/move"
)

// Timeouts of the calls.
const (
	copyTime    = 2 * time.Minute
	sealTime    = 2 * time.Second
	installTime = 30 * time.Second
)

// How many calls run at once. Seals and installs keep up with the partitions that may be between the two; nothing waits for
// copies and completions, and they must not slow down a node's checks by using its disk.
const (
	urgentCalls   = 3 * maxMoving
	copyCalls     = 8
	completeCalls = 8
)

func newLanes() lanes {
	newLane := func(limit int) *lane { return &lane{limit: limit, at: map[ring.NodeID]int{}} }
	return lanes{urgent: newLane(urgentCalls), copying: newLane(copyCalls), completing: newLane(completeCalls)}
}

// dispatch starts the calls that there is room for. A call that its move no longer wants, or that goes to a dead node, fails
// at once.
func (t *term) dispatch(ctx context.Context) {
	t.queued = false
	t.dispatchLane(ctx, t.lanes.urgent)
	t.dispatchLane(ctx, t.lanes.completing)
	if t.state != nil && !t.ahead() {
		t.dispatchLane(ctx, t.lanes.copying)
	}
}

func (t *term) dispatchLane(ctx context.Context, l *lane) {
	var failed, waiting []job
	for i, j := range l.queue {
		if l.running == l.limit {
			waiting = append(waiting, l.queue[i:]...)
			break
		}
		switch node := nodeOf(j.action); {
		case !t.moves[j.partition].Wants(j.action) || t.dead(node, 0):
			failed = append(failed, j)
		case l.at[node] < l.limit/2:
			t.startCall(ctx, l, node, j)
		default:
			waiting = append(waiting, j)
		}
	}
	l.queue = waiting
	for _, j := range failed {
		t.step(j.partition, move.Answer{To: j.action})
	}
}

// startCall makes a call on its own goroutine, and reports its outcome to the move.
func (t *term) startCall(ctx context.Context, l *lane, node ring.NodeID, j job) {
	l.running++
	l.at[node]++
	answer := move.Answer{To: j.action}
	c, err := t.callFor(j, &answer)
	t.work.Go(func() {
		if err == nil {
			err = c.make(ctx)
		}
		t.report(ctx, func(t *term) {
			l.running--
			l.at[node]--
			t.driver.metrics.call(c.name, err)
			if err != nil {
				t.failed(node, j, c.name, err)
			}
			answer.OK = err == nil
			t.step(j.partition, answer)
		})
	})
}

// A nodeCall is a call of a node whose address is known.
type nodeCall struct {
	name string
	make func(ctx context.Context) error
}

var errNoAddress = errors.New("the address of the node is unknown")

// callFor makes the call for a job. What the node says beyond that it was done goes to answer.
func (t *term) callFor(j job, answer *move.Answer) (c nodeCall, err error) {
	address := t.driver.config.Address(nodeOf(j.action))
	if address == "" {
		err = fmt.Errorf("%w: %s", errNoAddress, nodeOf(j.action))
	}
	peers, p := t.driver.config.Peers, j.partition
	install := func(name string, epoch uint64, enough int, sources []string) nodeCall {
		return nodeCall{name, within(installTime, func(ctx context.Context) error {
			return peers.Install(ctx, address, p, epoch, enough, sources)
		})}
	}
	switch a := j.action.(type) {
	case move.Copy:
		sources := t.addresses(t.preferAlive(a.Sources))
		c = nodeCall{"copy", within(copyTime, func(ctx context.Context) error { return peers.Copy(ctx, address, p, sources) })}
	case move.Seal:
		c = nodeCall{"seal", within(sealTime, func(ctx context.Context) (err error) {
			answer.Floored, err = peers.Seal(ctx, address, p, a.Epoch)
			return err
		})}
	case move.Install:
		c = install("install", a.Epoch, a.Enough, t.addresses(a.Sources))
	case move.Complete:
		sources := t.addresses(a.Sources)
		c = install("complete", a.Epoch, len(a.Sources)+1, sources) // so many are never sealed: only a node that has installed counts
	}
	return c, err
}

// within bounds a call by a timeout.
func within(limit time.Duration, ask func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return ask(ctx)
	}
}

// preferAlive returns the nodes that are alive, or all if none is: a copy waits for each of its sources.
func (t *term) preferAlive(nodes []ring.NodeID) []ring.NodeID {
	if t.countAlive(nodes) == 0 {
		return nodes
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(id ring.NodeID) bool { return t.dead(id, 0) })
}

// addresses are the addresses of those nodes whose address is known.
func (t *term) addresses(nodes []ring.NodeID) []string {
	var addresses []string
	for _, id := range nodes {
		if address := t.driver.config.Address(id); address != "" {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
