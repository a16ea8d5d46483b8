package edge

import (
	"context"
	"slices"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// Return implements [limit.Returner]. What was admitted here comes back here.
func (e *Edge) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if !slices.ContainsFunc(receipts, func(r limit.Receipt) bool { return r.Owner == e.id }) {
		return e.returnToCluster(ctx, key, receipts)
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
	back, err := e.returnToCluster(ctx, key, others)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		returned[place] = i < len(back) && back[i]
	}
	return returned, nil
}

// returnToCluster gives back what owners have admitted. What came back may pass: nothing is known of denials any more.
func (e *Edge) returnToCluster(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	back, err := e.cfg.Cluster.Return(ctx, key, receipts)
	if slices.Contains(back, true) {
		sh := e.shardOf(key)
		sh.mu.Lock()
		defer sh.mu.Unlock()
		for id, s := range sh.shares {
			if id.key == key && leases(s.Rule()) {
				s.Heard(lease.Heard{Outcome: limit.Outcome{Allowed: true}})
			}
		}
	}
	return back, err
}

// returnOwn puts back what a receipt of this edge proves.
func (e *Edge) returnOwn(key string, r *limit.Receipt) bool {
	now, jumps := e.clock.read()
	sh := e.shardOf(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.jumps != jumps {
		return false
	}
	p := sh.given.take(r.Serial)
	return p.share != nil && !p.share.gone && p.share.id.key == key && p.share.id.limit == r.Limit && p.share.Undo(p.piece, now)
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
			sh.dropLocked(s)
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

// Close gives back all that is held, and reports what is not reported, for half a second at most. It is to be called before what cfg.Go runs is stopped. The cluster decides all
// checks after it.
func (e *Edge) Close() {
	e.closed.Store(true)
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
				for _, ask := range of.Flush(now) {
					reports = append(reports, (&dueReport{s.asks(), s, ask}).request())
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
