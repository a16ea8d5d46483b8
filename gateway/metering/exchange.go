package metering

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm"
)

// A Holding is what one check holds for an exchange.
type Holding struct {
	limit.Hold
	// At is the cluster that has granted it.
	At *Cluster
	// Counts is what the check counts, ShownKey its key and ShownLimits its limits, as records have them.
	Counts, ShownKey string
	ShownLimits      []string
	// Rates are what a token of each kind costs: estimated, and used where Prices are nil.
	Rates llm.Rates
	// Prices are those of all models, of a hold of money: it is settled by the price of the model that answers.
	Prices llm.PriceList
	// Asked is the estimate at these rates.
	Asked int64
	// For is how long the hold lasts.
	For time.Duration
}

// An Exchange is one request to a model, from the moment at which its checks begin until all that it holds is settled. The goroutine of
// the request calls its methods; it extends what it holds in goroutines of its own.
type Exchange struct {
	meter    *Meter
	route    *Route
	model    string
	estimate llm.Usage
	logged   bool

	mu        sync.Mutex
	holds     []Holding
	permits   []permit
	record    denial.Record // as it was remembered last
	started   bool
	ended     bool
	ctx       context.Context    //nolint:containedctx // of the request, without its end
	timer     *time.Timer        // of the next extension; nil for none
	running   sync.WaitGroup     // an extension
	giveUp    context.CancelFunc // ends an extension; nil before the first
	unsettled int
}

// Begin begins an exchange with a model, of that estimate.
func (m *Meter) Begin(route *Route, model string, estimate llm.Usage) *Exchange {
	return &Exchange{meter: m, route: route, model: model, estimate: estimate}
}

// AddHold notes what a check holds.
func (x *Exchange) AddHold(h Holding) { x.holds = append(x.holds, h) }

// AddPermit notes a permit of a key, and the cluster that has given it.
func (x *Exchange) AddPermit(at *Cluster, key string, r limit.Receipt) {
	x.permits = append(x.permits, permit{at, key, r})
}

// Release gives back all that was taken for a request that is refused, in the background.
func (x *Exchange) Release(ctx context.Context) {
	x.ctx = context.WithoutCancel(ctx)
	x.end(llm.Charge{Basis: llm.ByNothing}, nil)
}

// Start begins the answer: from now on, what is held is extended. The record is remembered under the id that is returned; its Exchange says
// what is known of the request. Logged says whether the end of the exchange is logged, too.
func (x *Exchange) Start(ctx context.Context, record denial.Record, logged bool) (id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx, x.started, x.logged, x.record = context.WithoutCancel(ctx), true, logged, record
	x.record.Exchange = x.described(record.Exchange)
	if x.record.Exchange.Lowered > 0 {
		x.route.lowered.Inc()
	}
	shown := x.record
	id = x.meter.memory.Remember(&shown)
	x.record = shown
	if wait := x.period(); wait > 0 {
		x.timer = time.AfterFunc(wait, x.extend)
	}
	return id
}

// described is what is known of the request, with what is held for it.
func (x *Exchange) described(known *denial.ModelRequest) *denial.ModelRequest {
	e := *known
	e.Input, e.Output = x.estimate.Input, x.estimate.Output
	for i := range x.holds {
		h := &x.holds[i]
		e.Holds = append(e.Holds, denial.Held{
			Counts: h.Counts, Key: h.ShownKey, Limits: h.ShownLimits, Asked: h.Asked, Granted: h.Granted, State: string(limit.HoldOpen),
		})
	}
	return &e
}

// Watch reads the upstream's answer on its way to the client, and settles the exchange when it has ended. With removeUsage, the usage event
// that the client has not asked for is taken out.
func (x *Exchange) Watch(r *http.Response, format *llm.Format, removeUsage bool) {
	watch := llm.Watch{Format: format, RemoveUsage: removeUsage, Report: func(a llm.Answer) {
		x.mu.Lock()
		x.record.Status = a.Status
		x.mu.Unlock()
		x.end(a.Charge(x.estimate), &a)
	}}
	watch.Wrap(r)
}

// Unanswered settles an exchange without an answer, which the gateway answers with that status. It costs its estimate if it was in vain: the
// model may have worked for it, and it is the client's doing that there is no answer. It does nothing if there was an answer.
func (x *Exchange) Unanswered(status int, inVain bool) {
	x.mu.Lock()
	if !x.ended {
		x.record.Status = status
	}
	x.mu.Unlock()
	charge := llm.Charge{Basis: llm.ByNothing}
	if inVain {
		charge = llm.Charge{Usage: x.estimate, Basis: llm.ByEstimate}
	}
	x.end(charge, nil)
}

// end settles the exchange once.
func (x *Exchange) end(charge llm.Charge, a *llm.Answer) {
	if !x.stop(charge, a) {
		return
	}
	answered := ""
	if a != nil {
		answered = a.Model
	}
	for i := range x.holds {
		x.settle(i, charge, answered)
	}
	for i := range x.permits {
		x.giveBack(i)
	}
	x.done()
}

// stop ends the extensions, and notes the charge. It returns false if the exchange has ended before.
func (x *Exchange) stop(charge llm.Charge, a *llm.Answer) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return false
	}
	x.ended = true
	x.unsettled = len(x.holds) + len(x.permits) + 1 // the one is end itself
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.giveUp != nil {
		x.giveUp()
	}
	if x.started {
		x.note(charge, a)
	}
	return true
}

// note puts the charge into the record and the metrics.
func (x *Exchange) note(charge llm.Charge, a *llm.Answer) {
	understated := a != nil && a.Understated()
	x.route.count(charge, x.estimate, understated)
	x.change(func(e *denial.ModelRequest) {
		u := charge.Usage
		if a != nil {
			e.Unread = a.Missing
			if a.Model != e.Model {
				e.Answered = a.Model
			}
		}
		if charge.Basis == llm.ByEstimate {
			e.Unread = "there was none in time, or before its client left"
			if a != nil {
				e.Unread = a.Unknown()
			}
		}
		e.Basis, e.Understated, e.Ended = charge.Basis.String(), understated, x.meter.now()
		e.Used = &denial.Used{Input: u.Input, Output: u.Output, Cached: u.Cached, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning}
	})
}
