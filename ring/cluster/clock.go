package cluster

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/ring"
)

const (
	// clockTolerance is εmax: how far a clock may be from the others'.
	clockTolerance = int64(250 * time.Millisecond)
	clockInterval  = time.Second
)

// A clocks compares this node's clock with those of the other nodes. It moves this node's clock forward, never back,
// when a majority of all members is ahead of it: the machine was suspended. See [clock.Comparison].
//
// Of two clocks nobody can tell which is wrong. With fewer than three members, nothing is moved and this node's counts as
// right: clusters so small have one replica of everything, and what matters is that one node's clock.
type clocks struct {
	now     func() int64
	advance func(by int64)
	ask     func(ctx context.Context, address string) (int64, error) // another node's now
	peers   func() map[ring.NodeID]string                            // the gRPC addresses of the other nodes that are alive
	members func() int                                               // how many nodes are agreed to be members; 0 while that is not known
	logger  *slog.Logger

	rounds sync.Mutex // held by a round: two at once would both put the clock forward
	apart  bool       // of rounds: what the log said last of whether this clock agrees

	mu      sync.Mutex
	offsets map[ring.NodeID]int64 // by how much each was ahead when it answered last; of living nodes only
}

func newClocks(now func() int64, advance func(int64), logger *slog.Logger) *clocks {
	return &clocks{now: now, advance: advance, logger: logger, offsets: map[ring.NodeID]int64{}}
}

// run asks all clocks once a second until ctx ends.
func (k *clocks) run(ctx context.Context) {
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	for {
		k.round(ctx, k.peers())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round asks these nodes for their now, and puts this node's clock right if it is behind.
func (k *clocks) round(ctx context.Context, peers map[ring.NodeID]string) {
	k.rounds.Lock()
	defer k.rounds.Unlock()
	k.mu.Lock()
	maps.DeleteFunc(k.offsets, func(id ring.NodeID, _ int64) bool { _, alive := peers[id]; return !alive })
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, clockInterval)
	defer cancel()
	var all sync.WaitGroup
	var answered []int64 // by how much those are ahead who did
	for id, address := range peers {
		all.Go(func() {
			ahead, ok := k.compare(ctx, address)
			if !ok {
				return
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.offsets[id] = ahead
			answered = append(answered, ahead)
		})
	}
	all.Wait()
	// Who is silent now may have been wrong when it answered last, and is right since.
	if behind := (clock.Comparison{Members: k.members(), Ahead: answered}).Behind(); behind > clockTolerance {
		k.logger.Warn("the clock of this node is behind those of a majority of the members, as after a suspended machine: it is put forward",
			"by", time.Duration(behind))
		k.advance(behind)
		k.mu.Lock()
		for id := range k.offsets {
			k.offsets[id] -= behind
		}
		k.mu.Unlock()
	}
	k.tell()
}

// tell says in the log when this node stops deciding because of its clock, and when it goes on. A round calls it.
func (k *clocks) tell() {
	ahead := -k.comparison().Offset()
	apart := max(ahead, -ahead) > clockTolerance
	if apart == k.apart {
		return
	}
	k.apart = apart
	const says = "the clock of this node differs from those of a majority of the nodes that it hears, so it decides nothing: " +
		"set the machine's clock right, then restart the node"
	switch {
	case !apart:
		k.logger.Info("the clock of this node agrees with the others' again, so it decides")
	case ahead > 0:
		k.logger.Warn(says, "ahead_by", time.Duration(ahead))
	default:
		k.logger.Warn(says, "behind_by", time.Duration(-ahead))
	}
}

// compare asks one clock. Half of the round trip is taken as its way here; an answer that was on its way for longer than
// what could be wrong by then is not used.
func (k *clocks) compare(ctx context.Context, address string) (ahead int64, ok bool) {
	sent := k.now()
	theirs, err := k.ask(ctx, address)
	trip := k.now() - sent
	return theirs - (sent + trip/2), err == nil && trip >= 0 && trip <= 2*clockTolerance
}

// comparison is what is known of the clocks now.
func (k *clocks) comparison() clock.Comparison {
	k.mu.Lock()
	defer k.mu.Unlock()
	return clock.Comparison{Members: k.members(), Ahead: slices.Collect(maps.Values(k.offsets))}
}

// agrees says whether this node's clock is near enough to those that were heard to serve and to sweep.
func (k *clocks) agrees() bool {
	off := k.comparison().Offset()
	return max(off, -off) <= clockTolerance
}

// highest is the highest of all clocks, as they stand now.
func (k *clocks) highest() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	ahead := int64(0)
	for _, o := range k.offsets {
		ahead = max(ahead, o)
	}
	return k.now() + ahead
}

// of is how far one node's clock is ahead of this one's.
func (k *clocks) of(id ring.NodeID) (ahead int64, heard bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ahead, heard = k.offsets[id]
	return ahead, heard
}

// answerNow tells this node's clock.
func (c *Cluster) answerNow(context.Context, nothing) (int64, error) { return c.config.Now(), nil }

func (c *Cluster) askNow(ctx context.Context, address string) (int64, error) {
	return call[int64](ctx, c.config.Peers, address, kindNow, nothing{})
}

// compareWithin is how long CompareClocks waits for clocks that are not heard.
const compareWithin = 3 * time.Second

// CompareClocks asks the other members for their clocks, until so many are heard as could put this node's forward, or all
// others where they are fewer, but for no longer than 3 seconds: they may be down. Afterwards HighestNow is worth something
// on a node that has just started.
func (c *Cluster) CompareClocks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, compareWithin)
	defer cancel()
	for ctx.Err() == nil {
		members := c.State().Nodes
		others := map[ring.NodeID]string{}
		for id := range members {
			if id != c.config.ID {
				others[id] = c.addressOf(id)
			}
		}
		c.clocks.round(ctx, others)
		if heard := len(c.clocks.comparison().Ahead); heard >= min(ring.Majority(len(members)), len(others)) {
			return
		}
		again := time.NewTimer(clockInterval / 10)
		select {
		case <-ctx.Done():
		case <-again.C:
		}
		again.Stop()
	}
}

// ClockOffset is how far the clocks of a majority of all living nodes are ahead of this node's, and from how many others it
// was heard. It is 0 while as many are behind it as are ahead.
func (c *Cluster) ClockOffset() (ahead time.Duration, heard int) {
	known := c.clocks.comparison()
	return time.Duration(known.Offset()), len(known.Ahead)
}

// ClockAgrees says whether this node's clock is within 250 ms of those of a majority of the living nodes: near enough to
// serve and to sweep. It is true while fewer than two other clocks were heard, for then nobody can tell who is wrong.
func (c *Cluster) ClockAgrees() bool { return c.clocks.agrees() }

// HighestNow is the highest of the clocks that were heard, this node's included, as they stand now, in nanoseconds.
func (c *Cluster) HighestNow() int64 { return c.clocks.highest() }
