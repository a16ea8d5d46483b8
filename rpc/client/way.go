package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc/connectivity"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The pause before all nodes are tried once more is drawn from these.
const (
	leastRest = time.Millisecond
	mostRest  = 20 * time.Millisecond
)

// rounds is how many times a call tries each node.
const rounds = 2

// errNowhere ends the calls of a client inside a node that has no table yet.
var errNowhere = fmt.Errorf("%w: no node is known that could decide: the table is not there yet", limit.ErrUnavailable)

// A way is how one call goes from node to node, until one of them has the answer:
//
//	the key's replicas in the table's order, those first that are good and not leaving; each once
//	  └─ a short random pause ─▶ each once more, by the table of then
type way struct {
	client   *Client
	ctx      context.Context //nolint:containedctx // of the call, which a way is a part of
	deadline time.Time       // of the call; that of ctx may be later
	hash     uint64
	any      bool  // any node will do
	only     *node // it and no other; nil for all
	sticky   bool  // no second try while one is under way: what is asked may be done once only
	skipsBad bool  // nodes known to be bad are not asked: probes find out when they are back

	tried    []*node // in this round
	round    int
	failures []failure
	room     [3]*node // for tried
}

// A failure is why a node had no answer.
type failure struct {
	node *node
	err  error
}

// ended says whether the call has: what it met then is final.
func (w *way) ended() bool { return w.ctx.Err() != nil || !time.Now().Before(w.deadline) }

// movable says whether another node may have the answer that one did not have: it could not be reached, or could not
// decide.
func (w *way) movable(err error) bool {
	if err == nil || !errors.Is(err, limit.ErrUnavailable) && !errors.Is(err, context.Canceled) {
		return false // Canceled: the connection was closed
	}
	return !w.ended()
}

// seats are the nodes to choose from.
func (w *way) seats() []seat {
	switch {
	case w.any:
		return w.client.everywhere()
	case w.only != nil:
		return []seat{{node: w.only}}
	}
	return w.client.table.Load().of(w.hash)
}

// next is the node to try next; nil when all have been tried.
func (w *way) next() *node { return pick(w.seats(), w.tried, w.skipsBad) }

// more says whether another node may be tried while one is silent.
func (w *way) more() bool { return !w.sticky && w.next() != nil }

// later says whether all nodes will be tried once more: one that was silent may not be so any more.
func (w *way) later() bool { return !w.sticky && w.only == nil && w.round+1 < rounds }

// try notes that n is being tried.
func (w *way) try(n *node) {
	if w.tried == nil {
		w.tried = w.room[:0]
	}
	w.tried = append(w.tried, n)
}

// pick is the first of seats to be asked that has not been tried. Bad ones come last, or are skipped.
func pick(seats []seat, tried []*node, skipsBad bool) *node {
	var best *node
	least := 3
	for _, s := range seats {
		rank := 0
		switch {
		case slices.Contains(tried, s.node) || skipsBad && s.bad():
			continue
		case !s.good():
			rank = 2
		case s.leaving:
			rank = 1
		}
		if rank == 0 {
			return s.node
		}
		if rank < least {
			best, least = s.node, rank
		}
	}
	return best
}

// fork is the way of a second try while n is silent: it goes on from here.
func (w *way) fork(ctx context.Context, n *node) way {
	fork := *w
	fork.ctx = ctx
	fork.tried, fork.failures = slices.Clone(w.tried), slices.Clone(w.failures)
	fork.failed(n, errSilent)
	return fork
}

// failed notes that n had no answer.
func (w *way) failed(n *node, err error) {
	w.look(n, err)
	err = n.explain(w.ended(), err)
	for i, f := range w.failures {
		if f.node == n {
			w.failures[i].err = err
			return
		}
	}
	w.failures = append(w.failures, failure{n, err})
}

// rest waits until the next round may begin. It says no when there is none, or no time for it.
func (w *way) rest() bool {
	if w.hopeless() {
		return false
	}
	pause := leastRest + rand.N(mostRest-leastRest)
	if w.round++; w.round >= rounds || time.Until(w.deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
		return false
	case <-w.client.life.Done():
		return false
	}
	w.tried = w.tried[:0]
	return true
}

// conclude is the error with which the call ends at n, if it does, after what it met before.
func (w *way) conclude(n *node, err error) error {
	if _, ok := errors.AsType[*outcomeError](err); ok || err == nil {
		return err
	}
	w.look(n, err)
	ended := w.ended()
	if err = n.explain(ended, err); !ended || len(w.failures) == 0 {
		return err
	}
	w.failed(n, err)
	return w.outcome()
}

// outcome is the error of a call that no node had an answer to.
func (w *way) outcome() error {
	err := w.ctx.Err()
	if err == nil && len(w.failures) == 0 {
		if w.hopeless() {
			return w.client.unsent(w.hash)
		}
		err = errNowhere
	}
	for _, f := range slices.Backward(w.failures) {
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

// An outcomeError is all that the nodes on a way met.
type outcomeError struct{ error }

func (e *outcomeError) Unwrap() error { return e.error }

// An explainedError says already which node it is from.
type explainedError struct{ error }

func (e *explainedError) Unwrap() error { return e.error }

// explained says whether err need not be said where it is from: it is known, or does not matter.
func explained(err error) bool {
	if _, ok := errors.AsType[*explainedError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*outcomeError](err); ok {
		return true
	}
	_, ok := errors.AsType[*limit.FieldError](err)
	return ok || errors.Is(err, limit.ErrUnknownLimit)
}

// explain says of an error which node it was, and turns what the connection is to blame for into limit.ErrUnavailable.
// ended says whether the call has.
func (n *node) explain(ended bool, err error) error {
	if err == nil || n.local != nil || explained(err) {
		return err
	}
	if errors.Is(err, context.Canceled) && !ended {
		err = fmt.Errorf("%w: %s", limit.ErrUnavailable, err.Error())
	}
	if state, down := n.down(); down && state != connectivity.Shutdown && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no connection in time (%s)", limit.ErrUnavailable, state)
	}
	if wrong := n.suspicion.found.Load(); wrong != nil {
		return &explainedError{&MisdirectedError{*wrong, err}}
	}
	return &explainedError{fmt.Errorf("jeton at %s: %w", n.address, err)}
}

// look finds out whether n speaks something else, if there is time for that.
func (w *way) look(n *node, err error) {
	if n.local == nil && !w.ended() && !explained(err) {
		ctx, cancel := context.WithDeadline(w.ctx, w.deadline)
		defer cancel()
		n.suspect(ctx, err)
	}
}
