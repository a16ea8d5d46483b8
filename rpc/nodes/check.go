package nodes

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/together"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Check has a request decided by the first of the key's replicas that can. Checks that are made at the same time travel together.
//
// A check that holds is asked of no other replica beside one that is merely slow: both might take a hold, of which nobody would settle
// one, and the settlement of the other would go to the wrong one of them.
//
// Nor is a report of what an edge admitted: both might charge it.
//
// With FailFast, a replica that is known to be bad is not asked, and where all are, the check is refused at once. Otherwise such a
// replica is asked last, for as long as the call may take.
func (s *Set) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	c := s.callCheck(ctx, r.Key, once(&r))
	if down := c.hopeless(); down != nil {
		return limit.Decision{}, c.unsent(down)
	}
	return c.check(&r)
}

// check asks for a decision.
func (c call) check(r *limit.Request) (limit.Decision, error) {
	d, err := do(c, func(ctx context.Context, n *Node) (limit.Decision, error) { return n.check(ctx, r) })
	c.watch.end(r, &d, err)
	return d, err
}

// CheckElsewhere is Check after the own node was asked and could not decide, for the reason why.
func (s *Set) CheckElsewhere(ctx context.Context, r limit.Request, why error) (limit.Decision, error) {
	c := s.callCheck(ctx, r.Key, once(&r))
	c.beginsAfter(s.own, why)
	return c.check(&r)
}

// CheckAll implements [limit.AllChecker] for a client: it asks the owners of the keys one after another. All checks together may take
// as long as one call.
func (s *Set) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	ctx, cancel := context.WithDeadline(ctx, s.Deadline(ctx))
	defer cancel()
	return together.CheckAll(ctx, s, rs, s.Go)
}

// beginsAfter notes what the call met at n before it began.
func (c *call) beginsAfter(n *Node, why error) {
	c.try(n)
	c.failed(n, why)
}

// Inspect implements [limit.Inspector].
func (s *Set) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	if err := limit.ValidateKey(key); err != nil {
		return limit.Inspection{}, err
	}
	return do(s.call(ctx, key), func(ctx context.Context, n *Node) (limit.Inspection, error) {
		if n.local != nil {
			return n.local.Inspect(ctx, key, ref, plan)
		}
		m, err := askAsOperator(s.marked(ctx), n, &pb.InspectRequest{Key: key, Limit: pb.EncodeRef(ref), Plan: plan}, pb.LimiterClient.Inspect)
		if err != nil {
			return limit.Inspection{}, err
		}
		return pb.DecodeInspection(m.GetInspection())
	})
}

// Reset implements [limit.Resetter].
func (s *Set) Reset(ctx context.Context, key string, ref limit.Ref) error {
	if err := limit.ValidateKey(key); err != nil {
		return err
	}
	_, err := do(s.call(ctx, key), func(ctx context.Context, n *Node) (struct{}, error) {
		if n.local != nil {
			return struct{}{}, n.local.Reset(ctx, key, ref)
		}
		_, err := askAsOperator(s.marked(ctx), n, &pb.ResetRequest{Key: key, Limit: pb.EncodeRef(ref)}, pb.LimiterClient.Reset)
		return struct{}{}, err
	})
	return err
}
