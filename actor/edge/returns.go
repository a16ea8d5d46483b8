package edge

import (
	"context"
	"slices"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// Return implements [limit.Returner]. What was admitted here comes back here.
func (e *Edge) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	own := 0
	for i := range receipts {
		if receipts[i].Owner == e.id {
			own++
		}
	}
	if own == 0 {
		return e.cfg.Cluster.Return(ctx, key, receipts)
	}
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	returned := make([]bool, len(receipts))
	var others []limit.Receipt
	var places []int
	for i := range receipts {
		if r := &receipts[i]; r.Owner == e.id {
			returned[i] = e.returnOwn(key, r)
			continue
		}
		others, places = append(others, receipts[i]), append(places, i)
	}
	if len(others) == 0 {
		return returned, nil
	}
	back, err := e.cfg.Cluster.Return(ctx, key, others)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		returned[place] = i < len(back) && back[i]
	}
	return returned, nil
}

// returnOwn puts back what a receipt of this edge proves. It does not say under which plan it was spent.
func (e *Edge) returnOwn(key string, r *limit.Receipt) bool {
	now, jumps := e.clock.read()
	at := e.limits()
	plans := []string{""}
	if at.of != nil {
		for _, p := range at.of.Plans(r.Limit) {
			plans = append(plans, p.Name)
		}
	}
	sh := e.shardOf(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.jumps != jumps {
		return false
	}
	for _, plan := range plans {
		if s := sh.shares[bucketID{key, r.Limit, plan}]; s != nil && s.PutBack(r.Serial, now) {
			return true
		}
	}
	return false
}

// Settle implements [limit.Settler]: holds are taken at owners.
func (e *Edge) Settle(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
	return e.cfg.Cluster.Settle(ctx, s)
}

// Inspect implements [limit.Inspector].
func (e *Edge) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	return e.cfg.Cluster.Inspect(ctx, key, ref, plan)
}

// Reset implements [limit.Resetter]. What this edge holds of the bucket is dropped; what others hold may be spent for [limit.LongestLease] at most.
func (e *Edge) Reset(ctx context.Context, key string, ref limit.Ref) error {
	sh := e.shardOf(key)
	sh.mu.Lock()
	for id, s := range sh.shares {
		if id.key == key && id.limit == ref.Name {
			s.release()
			delete(sh.shares, id)
		}
	}
	sh.mu.Unlock()
	return e.cfg.Cluster.Reset(ctx, key, ref)
}

// First is the address of the node that decides about key first, if the cluster knows.
func (e *Edge) First(key string) string {
	if c, ok := e.cfg.Cluster.(interface{ First(key string) string }); ok {
		return c.First(key)
	}
	return ""
}

// Close gives back all that is held, and reports what is not reported, for half a second at most. It is to be called before what cfg.Go runs is stopped. Checks after it go to the cluster as far as no new
// leases come.
func (e *Edge) Close() {
	now, _ := e.clock.read()
	tails := map[string][]limit.Receipt{}
	var reports []limit.Request
	for i := range e.shards {
		sh := &e.shards[i]
		sh.mu.Lock()
		for id, s := range sh.shares {
			switch of := s.Holding.(type) {
			case *lease.Share:
				tails[id.key] = append(tails[id.key], of.GiveBack(now, 0)...)
			case *lease.Counted:
				if tokens := of.Flush(); tokens > 0 {
					reports = append(reports, limit.Request{Key: id.key, Plan: id.plan, Limits: []limit.Ref{limit.Named(id.limit)}, Cost: tokens, Charge: true})
				}
			}
		}
		sh.forgetLocked()
		sh.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveBackWithin)
	defer cancel()
	for batch := range slices.Chunk(reports, limit.MaxBatch) {
		e.cfg.Cluster.CheckBatch(ctx, batch) // an edge that cannot report has admitted more than the owner knows: see docs/consistency.md
	}
	e.giveBackAll(ctx, tails)
}
