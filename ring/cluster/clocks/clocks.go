// Package clocks keeps the clocks of a cluster's nodes together: it asks the others for their now, and puts this node's clock
// forward, never back, when a majority of all members is ahead of it. What follows from a set of clocks is actor/clock's.
// Start with [New] and [Clocks.Run].
package clocks

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/ring"
)

const (
	// clockTolerance is εmax: how far a clock may be from the others'.
	clockTolerance = int64(250 * time.Millisecond)
	clockInterval  = time.Second
)

// Config is what a comparison of clocks works with. All fields are required; any goroutine may call the functions.
type Config struct {
	// Now is this node's clock, in nanoseconds; Advance puts it forward.
	Now     func() int64
	Advance func(by int64)
	// Ask asks another node for its now.
	Ask func(ctx context.Context, address string) (int64, error)
	// Peers are the gRPC addresses of the other nodes that are alive.
	Peers func() map[ring.NodeID]string
	// Members is how many nodes are agreed to be members; 0 while that is not known.
	Members func() int
	Logger  *slog.Logger
}

// A Clocks compares this node's clock with those of the other nodes. It moves this node's clock forward, never back,
// when a majority of all members is ahead of it: the machine was suspended. See [clock.Comparison].
//
// Of two clocks it cannot be told which is wrong. With fewer than three members, no clock is moved and this node's counts as right:
// such small clusters have one replica of each partition, and only its node's clock matters.
type Clocks struct {
	config Config

	rounds sync.Mutex // held by a round: two at once would both put the clock forward
	apart  bool       // of rounds: what the log said last of whether this clock agrees

	mu      sync.Mutex
	offsets map[ring.NodeID]int64 // by how much each was ahead when it answered last; of living nodes only
	agrees  atomic.Bool           // this clock with those: asked for by every check
}

// New is a comparison of no clocks yet.
func New(config Config) *Clocks {
	k := &Clocks{config: config, offsets: map[ring.NodeID]int64{}}
	k.agrees.Store(true)
	return k
}

// Run asks all clocks once a second until ctx ends.
func (k *Clocks) Run(ctx context.Context) {
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	for {
		k.round(ctx, k.config.Peers())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round asks these nodes for their now, and puts this node's clock right if it is behind.
func (k *Clocks) round(ctx context.Context, peers map[ring.NodeID]string) {
	k.rounds.Lock()
	defer k.rounds.Unlock()
	k.change(func() {
		maps.DeleteFunc(k.offsets, func(id ring.NodeID, _ int64) bool { _, alive := peers[id]; return !alive })
	})
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
			k.change(func() {
				k.offsets[id] = ahead
				answered = append(answered, ahead)
			})
		})
	}
	all.Wait()
	// Who is silent now may have been wrong when it answered last, and is right since.
	if behind := (clock.Comparison{Members: k.config.Members(), Ahead: answered}).Behind(); behind > clockTolerance {
		k.config.Logger.Warn("advanced this node's clock: it was behind those of a majority of the members, as after the machine was suspended",
			"by", time.Duration(behind))
		k.config.Advance(behind)
		k.change(func() {
			for id := range k.offsets {
				k.offsets[id] -= behind
			}
		})
	}
	k.logAgreement()
}

// logAgreement says in the log when this node stops deciding because of its clock, and when it goes on. A round calls it.
func (k *Clocks) logAgreement() {
	apart := !k.Agrees()
	if apart == k.apart {
		return
	}
	k.apart = apart
	ahead := -k.Comparison().Offset()
	const says = "this node's clock differs from those of a majority of the nodes that it can reach, so it decides nothing: " +
		"correct the machine's clock, then restart the node"
	switch {
	case !apart:
		k.config.Logger.Info("this node's clock agrees with the other nodes' again, so it decides")
	case ahead > 0:
		k.config.Logger.Warn(says, "ahead_by", time.Duration(ahead))
	default:
		k.config.Logger.Warn(says, "behind_by", time.Duration(-ahead))
	}
}

// compare asks one clock. Half of the round trip is taken as its way here; an answer that was on its way for longer than
// what could be wrong by then is not used.
func (k *Clocks) compare(ctx context.Context, address string) (ahead int64, ok bool) {
	sent := k.config.Now()
	theirs, err := k.config.Ask(ctx, address)
	trip := k.config.Now() - sent
	return theirs - (sent + trip/2), err == nil && trip >= 0 && trip <= 2*clockTolerance
}

// change changes what is known of the other clocks.
func (k *Clocks) change(offsets func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	offsets()
	off := k.comparisonLocked().Offset()
	k.agrees.Store(max(off, -off) <= clockTolerance)
}

// Comparison is what is known of the clocks now.
func (k *Clocks) Comparison() clock.Comparison {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.comparisonLocked()
}

func (k *Clocks) comparisonLocked() clock.Comparison {
	return clock.Comparison{Members: k.config.Members(), Ahead: slices.Collect(maps.Values(k.offsets))}
}

// Agrees says whether this node's clock is near enough to those that were heard to serve and to sweep.
func (k *Clocks) Agrees() bool { return k.agrees.Load() }

// Highest is the highest of all clocks, as they stand now.
func (k *Clocks) Highest() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	ahead := int64(0)
	for _, o := range k.offsets {
		ahead = max(ahead, o)
	}
	return k.config.Now() + ahead
}

// Of is how far one node's clock is ahead of this one's.
func (k *Clocks) Of(id ring.NodeID) (ahead int64, heard bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ahead, heard = k.offsets[id]
	return ahead, heard
}

// gatherWithin is how long gather waits for clocks that are not heard.
const gatherWithin = 3 * time.Second

// Gather asks the other members for their clocks, until so many are heard as could put this node's forward, or all others
// where they are fewer, but for no longer than gatherWithin: they may be down. others tells the gRPC addresses of the other
// members.
func (k *Clocks) Gather(ctx context.Context, others func() map[ring.NodeID]string) {
	ctx, cancel := context.WithTimeout(ctx, gatherWithin)
	defer cancel()
	for ctx.Err() == nil {
		at := others()
		k.round(ctx, at)
		if heard := len(k.Comparison().Ahead); heard >= min(ring.Majority(len(at)+1), len(at)) {
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

// Forget forgets all clocks that were heard.
func (k *Clocks) Forget() {
	k.change(func() { clear(k.offsets) })
}
