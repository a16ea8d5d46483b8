package edge

import (
	"context"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// asked is a request of a batch of which the cluster is to decide the rest, or all.
type asked struct {
	place int // in the batch
	own   []choice
	took  []taken
}

// CheckBatch implements [limit.BatchChecker]. What is not decided here at once goes to the cluster in one batch.
func (e *Edge) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	if e.limits().rules == nil || len(rs) > limit.MaxBatch {
		return e.cfg.Cluster.CheckBatch(ctx, rs)
	}
	results := make([]limit.Result, len(rs))
	var rests []limit.Request
	var open []asked
	var room [limit.MaxLimits]choice
	for i := range rs {
		own := e.split(&rs[i], &room)
		if own == nil || rs[i].Validate() != nil {
			rests, open = append(rests, rs[i]), append(open, asked{place: i})
			continue
		}
		took := make([]taken, len(own))
		says, _ := e.take(&rs[i], own, took)
		rest := e.rest(&rs[i], took)
		if says == neither {
			rests, open = append(rests, *rest), append(open, asked{i, slices.Clone(own), took})
			continue
		}
		e.counts.decided(byEdge)
		results[i].Decision = e.decision(&rs[i], took, unasked(rest), says == admits)
	}
	if len(rests) == 0 {
		return results
	}
	sent, jumps := e.clock.read()
	for i, result := range e.cfg.Cluster.CheckBatch(ctx, rests) {
		a := &open[i]
		if a.own != nil {
			e.counts.decided(byOwner)
			result = e.finish(&rs[a.place], &rests[i], a, result, sent, jumps)
		}
		results[a.place] = result
	}
	return results
}

// finish is the result of a request of which the cluster has decided the rest.
func (e *Edge) finish(r, rest *limit.Request, a *asked, result limit.Result, sent int64, jumps uint64) limit.Result {
	if result.Err != nil {
		return limit.Result{Err: e.undecided(r, a.took, rest, result.Err)}
	}
	e.heard(rest, a.took, result.Decision, sent, jumps)
	if !result.Decision.Allowed {
		e.putBack(a.took)
	}
	return limit.Result{Decision: e.decision(r, a.took, result.Decision, result.Decision.Allowed)}
}
