package client

import (
	"context"
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Return implements [limit.Returner]. Only the owner that made a receipt can take it back, and any replica may have been
// the owner: a client outside hands the receipts to one node, and the client in there asks all replicas.
//
// When a receipt was not taken back where an answer came from, but may have been where none did, the error says so.
func (c *Client) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	w := c.start(ctx, key)
	w.sticky = true
	if c.self != nil {
		return returnEverywhere(&w, key, receipts)
	}
	m := &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(receipts)}
	var lost error
	returned, err := walk(w, func(ctx context.Context, n *node) ([]bool, error) {
		m, err := ask(ctx, n, m, pb.LimiterClient.Return)
		if err != nil {
			lost = n.explain(false, err)
		}
		return m.GetReturned(), err
	})
	if err == nil && lost != nil {
		err = doubt(returned, lost)
	}
	if err != nil {
		return nil, err
	}
	return returned, nil
}

// returnEverywhere asks all replicas that can be asked, at once.
func returnEverywhere(w *way, key string, receipts []limit.Receipt) ([]bool, error) {
	type answer struct {
		returned []bool
		err      error
	}
	m := &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(receipts)}
	replicas := reachable(w.seats())
	if len(replicas) == 0 {
		return nil, w.outcome()
	}
	answers := make(chan answer, len(replicas))
	askAt := func(n *node) {
		at := *w
		at.only = n
		returned, err := walk(at, func(ctx context.Context, n *node) ([]bool, error) {
			if n.local != nil {
				return n.local.Return(ctx, key, receipts)
			}
			m, err := ask(w.client.marked(ctx), n, m, pb.LimiterClient.Return)
			return m.GetReturned(), err
		})
		answers <- answer{returned, err}
	}
	for _, s := range replicas {
		if s.local == nil {
			go askAt(s.node)
		}
	}
	for _, s := range replicas {
		if s.local != nil { // here and not beside: a panic there would be nobody's
			askAt(s.node)
		}
	}
	returned := make([]bool, len(receipts))
	var unknown, final error
	for range replicas {
		a := <-answers
		switch {
		case a.err == nil:
			for i := range min(len(returned), len(a.returned)) {
				returned[i] = returned[i] || a.returned[i]
			}
		case w.movable(a.err) || w.ended():
			unknown = a.err
		default:
			final = a.err
		}
	}
	if final == nil && unknown != nil {
		final = doubt(returned, unknown)
	}
	if final != nil {
		return nil, final
	}
	return returned, nil
}

// reachable are the seats of nodes that can be expected to answer; all of them if none can. What a node that cannot be
// reached is not asked, it cannot have done.
func reachable(seats []seat) []seat {
	var found []seat
	for _, s := range seats {
		if s.good() {
			found = append(found, s)
		}
	}
	if found == nil {
		return seats
	}
	return found
}

// doubt is the error of a return that somebody may have made effective without saying so; nil when all receipts were
// taken back elsewhere.
func doubt(returned []bool, err error) error {
	for _, done := range returned {
		if !done {
			return fmt.Errorf("it is not known whether every receipt was taken back: %w", err)
		}
	}
	return nil
}
