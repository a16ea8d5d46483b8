package nodes

import (
	"context"
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Return implements [limit.Returner] for a client: it asks one node, which asks those that can take back. When a receipt was not taken
// back where an answer came from, but may have been where none did, the error says so.
func (s *Set) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	m := &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(receipts)}
	return s.returnToOne(ctx, key, func(ctx context.Context, n *Node) ([]bool, error) {
		answer, err := ask(ctx, n, m, pb.LimiterClient.Return) // without a mark: any node will do
		return answer.GetReturned(), err
	})
}

// ReturnEverywhere implements [limit.Returner] for a node. The key's owner takes permits back, as it decides checks. Of other receipts
// only the owner that made one can take it back, and any replica may have been the owner.
func (s *Set) ReturnEverywhere(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	var permits, others portion
	for i := range receipts {
		if receipts[i].Permit {
			permits.add(i, receipts[i])
		} else {
			others.add(i, receipts[i])
		}
	}
	switch {
	case len(permits.receipts) == 0:
		return s.returnToAll(ctx, key, receipts)
	case len(others.receipts) == 0:
		return s.returnToOwner(ctx, key, receipts)
	}
	out, err := s.returnToOwner(ctx, key, permits.receipts)
	if err != nil {
		return nil, err
	}
	all, err := s.returnToAll(ctx, key, others.receipts)
	if err != nil {
		return nil, err
	}
	returned := make([]bool, len(receipts))
	permits.put(returned, out)
	others.put(returned, all)
	return returned, nil
}

// A portion is some of the receipts of a return, with their places in it.
type portion struct {
	receipts []limit.Receipt
	places   []int
}

func (p *portion) add(place int, r limit.Receipt) {
	p.receipts, p.places = append(p.receipts, r), append(p.places, place)
}

// put puts what became of the receipts in their places.
func (p *portion) put(returned, of []bool) {
	for i, took := range of[:min(len(of), len(p.places))] {
		returned[p.places[i]] = took
	}
}

// returnToOwner asks the key's owner, or where it has no answer the next replica.
func (s *Set) returnToOwner(ctx context.Context, key string, permits []limit.Receipt) ([]bool, error) {
	m := &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(permits)}
	return s.returnToOne(ctx, key, func(ctx context.Context, n *Node) ([]bool, error) { return s.returnAt(ctx, n, m, permits) })
}

// returnToOne asks one node after the other, until one has an answer.
func (s *Set) returnToOne(ctx context.Context, key string, ask func(context.Context, *Node) ([]bool, error)) ([]bool, error) {
	c := s.call(ctx, key)
	c.hedging = never
	var lost error
	returned, err := do(c, func(ctx context.Context, n *Node) ([]bool, error) {
		returned, err := ask(ctx, n)
		if err != nil {
			lost = n.Explain(false, err)
		}
		return returned, err
	})
	if err == nil && lost != nil {
		err = doubt(returned, lost)
	}
	if err != nil {
		return nil, err
	}
	return returned, nil
}

// returnAt asks one node, and no other.
func (s *Set) returnAt(ctx context.Context, n *Node, m *pb.ReturnRequest, receipts []limit.Receipt) ([]bool, error) {
	if n.local != nil {
		return n.local.Return(ctx, m.GetKey(), receipts)
	}
	answer, err := ask(s.marked(ctx), n, m, pb.LimiterClient.Return)
	return answer.GetReturned(), err
}

// returnToAll asks all replicas that can be reached, at once.
func (s *Set) returnToAll(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	c := s.call(ctx, key)
	c.hedging = never
	replicas := reachable(c.seats())
	if len(replicas) == 0 {
		return nil, c.outcome()
	}
	m := &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(receipts)}
	answers := make(chan returnAnswer, len(replicas))
	askAt := func(n *Node) {
		at := c
		at.only = n
		returned, err := do(at, func(ctx context.Context, n *Node) ([]bool, error) { return s.returnAt(ctx, n, m, receipts) })
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
