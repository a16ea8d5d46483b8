package nodes

import (
	"context"
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Return implements [limit.Returner] for a client: it asks one node, which asks all replicas. When a receipt was not taken
// back where an answer came from, but may have been where none did, the error says so.
func (s *Set) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	c := s.call(ctx, key)
	c.sticky = true
	m := &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(receipts)}
	var lost error
	returned, err := do(c, func(ctx context.Context, n *Node) ([]bool, error) {
		m, err := ask(ctx, n, m, pb.LimiterClient.Return) // without a mark: any node will do
		if err != nil {
			lost = n.Explain(false, err)
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

// ReturnEverywhere implements [limit.Returner] for a node: all replicas that can be reached are asked at once. Only the owner that
// made a receipt can take it back, and any replica may have been the owner.
func (s *Set) ReturnEverywhere(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	c := s.call(ctx, key)
	c.sticky = true
	replicas := reachable(c.seats())
	if len(replicas) == 0 {
		return nil, c.outcome()
	}
	m := &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(receipts)}
	answers := make(chan returnAnswer, len(replicas))
	askAt := func(n *Node) {
		at := c
		at.only = n
		returned, err := do(at, func(ctx context.Context, n *Node) ([]bool, error) {
			if n.local != nil {
				return n.local.Return(ctx, key, receipts)
			}
			m, err := ask(s.marked(ctx), n, m, pb.LimiterClient.Return)
			return m.GetReturned(), err
		})
		answers <- returnAnswer{returned, err}
	}
	for _, replica := range replicas {
		if replica.local == nil {
			go askAt(replica.Node)
		}
	}
	for _, replica := range replicas {
		if replica.local != nil { // in this goroutine: a panic there must reach the caller
			askAt(replica.Node)
		}
	}
	returned := make([]bool, len(receipts))
	var final, unknown error
	for range replicas {
		switch a := <-answers; {
		case a.err == nil:
			a.addTo(returned)
		case c.movable(a.err) || c.ended():
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

// A returnAnswer is what one replica says of a return.
type returnAnswer struct {
	returned []bool
	err      error
}

// addTo notes what the replica took back.
func (a returnAnswer) addTo(returned []bool) {
	for i := range min(len(returned), len(a.returned)) {
		returned[i] = returned[i] || a.returned[i]
	}
}

// reachable are the seats of nodes that can be expected to answer; all of them if none can. What a node that cannot be
// reached is not asked, it cannot have done.
func reachable(seats []Seat) []Seat {
	var found []Seat
	for _, s := range seats {
		if s.Good() {
			found = append(found, s)
		}
	}
	if found == nil {
		return seats
	}
	return found
}

// doubt is the error of a return that a replica may have carried out without answering; nil when other replicas took all receipts
// back.
func doubt(returned []bool, err error) error {
	for _, done := range returned {
		if !done {
			return fmt.Errorf("some receipts may not have been taken back: %w", err)
		}
	}
	return nil
}
