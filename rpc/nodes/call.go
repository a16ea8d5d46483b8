package nodes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// The pause before all nodes are asked once more is drawn from these.
const (
	minRest = time.Millisecond
	maxRest = 20 * time.Millisecond
)

// rounds is how many times a call asks each node.
const rounds = 2

// ErrNowhere ends the calls of a set without nodes.
var ErrNowhere = fmt.Errorf("%w: no node to ask: the table has not arrived yet", limit.ErrUnavailable)

// A call is on its way from node to node, until one of them has the answer:
//
//	the key's replicas in the table's order, those first that are good and not leaving; each once
//	  └─ a short random pause ─▶ each once more, by the table at that time
type call struct {
	set      *Set
	ctx      context.Context //nolint:containedctx // the caller's
	deadline time.Time       // that of ctx may be later
	hash     uint64          // of the key
	any      bool            // any node will do
	only     *Node           // it and no other; nil for all
	hedging  hedging         // when another node is asked than one that is silent
	skipsBad bool            // nodes known to be bad are not asked: probes find out when they are back
	watch    *watch          // its span; nil for none

	tried    []*Node // in this round
	round    int
	failures []failure
	room     [3]*Node // for tried
}

// A hedging says when a call asks another node than one that is silent. One that has failed is followed by another in any case.
type hedging uint8

const (
	beside hedging = iota // soon, beside the silent one
	inTurn                // once the silent one is known not to answer
	never                 // not at all: what is asked may be done once only
)

// A failure is why a node had no answer.
type failure struct {
	node *Node
	err  error
}

// call is one about key.
func (s *Set) call(ctx context.Context, key string) call {
	s.counts.calls.Add(1)
	s.budget.earn()
	return call{set: s, ctx: ctx, deadline: s.Deadline(ctx), hash: ring.Hash(key)}
}

// callCheck is a call to have a check decided: by one node after another, if once says so, and otherwise also by one beside another.
func (s *Set) callCheck(ctx context.Context, key string, once bool) call {
	c := s.call(ctx, key)
	c.skipsBad, c.watch = s.cfg.FailFast, s.watch(ctx)
	if once {
		c.hedging = inTurn
	}
	return c
}

// once says whether a check must not be asked of two nodes at the same time: it takes a hold, or reports what was admitted.
func once(r *limit.Request) bool { return r.Hold > 0 || r.Charge }

// withDeadline is the context of the call with its deadline.
func (c *call) withDeadline() (context.Context, context.CancelFunc) {
	if _, ok := c.ctx.Deadline(); ok {
		return c.ctx, func() {}
	}
	return context.WithDeadline(c.ctx, c.deadline)
}

// ended says whether the call has: what it met then is final.
func (c *call) ended() bool { return c.ctx.Err() != nil || !time.Now().Before(c.deadline) }

// movable says whether another node may have the answer that one did not have: it could not be reached, or could not
// decide.
func (c *call) movable(err error) bool {
	if err == nil || !errors.Is(err, limit.ErrUnavailable) && !errors.Is(err, context.Canceled) {
		return false // Canceled: the connection was closed
	}
	return !c.ended()
}

// seats are the nodes to choose from.
func (c *call) seats() []Seat {
	switch {
	case c.any:
		return c.set.Others()
	case c.only != nil:
		return []Seat{{Node: c.only}}
	}
	return c.set.table.Load().of(c.hash)
}

// next is the node to ask next; nil when all have been tried.
func (c *call) next() *Node { return pick(c.seats(), c.tried, c.skipsBad) }

// more says whether another node may be asked while one is silent.
func (c *call) more() bool { return c.hedging != never && c.next() != nil }

// later says whether all nodes will be asked once more: one that was silent may not be so any more.
func (c *call) later() bool { return c.hedging != never && c.only == nil && c.round+1 < rounds }

// try notes that n is being asked.
func (c *call) try(n *Node) {
	if c.tried == nil {
		c.tried = c.room[:0]
	}
	c.tried = append(c.tried, n)
}

// fork is the call of a hedge while n is silent: it goes on from here.
func (c *call) fork(ctx context.Context, n *Node) call {
	fork := *c
	fork.ctx = ctx
	fork.tried, fork.failures = slices.Clone(c.tried), slices.Clone(c.failures)
	fork.failed(n, errSilent)
	c.watch.hedged(n)
	return fork
}

// failed notes that n had no answer.
func (c *call) failed(n *Node, err error) {
	c.diagnose(n, err)
	err = n.Explain(c.ended(), err)
	for i, f := range c.failures {
		if f.node == n {
			c.failures[i].err = err
			return
		}
	}
	c.failures = append(c.failures, failure{n, err})
}

// rest waits until the next round may begin. It says no when there is none, or no time for it.
func (c *call) rest() bool {
	if c.hopeless() != nil {
		return false
	}
	pause := minRest + rand.N(maxRest-minRest)
	if c.round++; c.round >= rounds || time.Until(c.deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
		return false
	case <-c.set.life.Done():
		return false
	}
	c.tried = c.tried[:0]
	return true
}

// conclude is the error with which the call ends at n, if it does, after what it met before.
func (c *call) conclude(n *Node, err error) error {
	if _, ok := errors.AsType[*outcomeError](err); ok || err == nil {
		return err
	}
	c.diagnose(n, err)
	ended := c.ended()
	if err = n.Explain(ended, err); !ended || len(c.failures) == 0 {
		return err
	}
	c.failed(n, err)
	return c.outcome()
}

// outcome is the error of a call that no node had an answer to.
func (c *call) outcome() error {
	err := c.ctx.Err()
	if err == nil && len(c.failures) == 0 {
		if seats := c.seats(); len(seats) > 0 { // none of which was worth asking
			return c.unsent(seats)
		}
		err = ErrNowhere
	}
	for _, f := range slices.Backward(c.failures) {
		switch {
		case err == nil:
			err = f.err
		case !errors.Is(f.err, err):
			err = fmt.Errorf("%w; %w", f.err, err)
		default:
			err = f.err
		}
	}
	return &outcomeError{err}
}

// diagnose looks what is at n's address, if there is time for that.
func (c *call) diagnose(n *Node, err error) {
	if n.local == nil && !c.ended() && !explained(err) {
		ctx, cancel := context.WithDeadline(c.ctx, c.deadline)
		defer cancel()
		n.diagnose(ctx, err)
	}
}

// hopeless returns the nodes that could decide, if all of them are bad, so that none is left to ask; otherwise nil. A suspect node may
// still answer. With every node that is bad runs a recovery, which needs no calls to find out that the node is back.
func (c *call) hopeless() []Seat {
	seats := c.seats()
	if !c.skipsBad || slices.ContainsFunc(seats, func(s Seat) bool { return !s.bad() }) {
		return nil
	}
	return seats
}

// unsent counts a check that is refused at once, because these nodes are bad.
func (c *call) unsent(seats []Seat) error {
	c.set.counts.unsent.Add(1)
	return &unsentError{seats}
}
