package metering

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Each hold and permit is extended when half of its time is over, and, if that fails, again after an eighth of it: three tries more
// before it ends.
const (
	whenOver  = 2
	afterFail = 8
)

// shortest is how long the shortest of the holds and permits lasts; 0 if there are none.
func (x *Exchange) shortest() (d time.Duration) {
	for i := range x.holds {
		d = least(d, x.holds[i].For)
	}
	for i := range x.permits {
		r := &x.permits[i].receipt
		d = least(d, time.Duration(r.End-r.Start))
	}
	return d
}

// least is the shorter of two times, of which 0 is none.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// period is how long to wait until the next extension; 0 for none.
func (x *Exchange) period() time.Duration { return x.shortest() / whenOver }

// extend makes all that is held last longer, and plans the next time. The timer calls it in a goroutine of its own, for which every
// settlement waits.
func (x *Exchange) extend() {
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return
	}
	x.running.Add(1)
	ctx, cancel := context.WithTimeout(x.ctx, x.shortest()/afterFail)
	x.giveUp = cancel
	holds, permits := len(x.holds), len(x.permits)
	x.mu.Unlock()
	defer x.running.Done()
	defer cancel()
	var failed atomic.Bool
	var extending sync.WaitGroup // at once: a cluster that does not answer holds up no other
	for i := range holds {
		extending.Go(func() {
			if !x.extendHold(ctx, i) {
				failed.Store(true)
			}
		})
	}
	for i := range permits {
		extending.Go(func() {
			if !x.extendPermit(ctx, i) {
				failed.Store(true)
			}
		})
	}
	extending.Wait()

	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	wait := x.period()
	if failed.Load() {
		wait = x.shortest() / afterFail
	}
	x.timer.Reset(wait)
}

// extendHold extends one hold. It returns false if that is worth another try.
func (x *Exchange) extendHold(ctx context.Context, i int) bool {
	h := &x.holds[i] // its fields do not change any more
	if h.At.settler == nil {
		return true
	}
	settled, err := h.At.settler.Settle(ctx, limit.Settlement{Hold: h.Hold, Open: true, For: h.For})
	result := resultOf(&settled, err)
	x.meter.metrics.extensions[result].Inc()
	if result != resultDone {
		x.warn(result, h.Counts, h.ShownKey, err)
	}
	return result != resultFailed
}

// extendPermit extends one permit, and keeps its new receipt. It returns false if that is worth another try.
func (x *Exchange) extendPermit(ctx context.Context, i int) bool {
	p := x.permitAt(i)
	d, err := p.at.checker.Check(ctx, limit.Request{
		Key: p.key, Limits: []limit.Ref{limit.Named(p.receipt.Limit)}, Extend: p.receipt.Serial, Receipt: true,
	})
	result := resultDone
	switch {
	case err != nil:
		result = resultFailed
	case !d.Allowed:
		result = resultUnknown
	case len(d.Receipts) == 1:
		x.mu.Lock()
		x.permits[i].receipt = d.Receipts[0]
		x.mu.Unlock()
	}
	x.meter.metrics.extensions[result].Inc()
	if result != resultDone {
		x.warn(result, "streams", p.receipt.Limit, err)
	}
	return result != resultFailed
}

// warn logs that something was not extended. The answer goes on all the same.
func (x *Exchange) warn(result, counts, of string, err error) {
	if err == nil {
		err = errors.New("it has ended")
	}
	x.meter.log.LogAttrs(x.ctx, slog.LevelWarn, "what an exchange holds was not extended", slog.String("exchange", x.record.ID),
		slog.String("result", result), slog.String("counts", counts), slog.String("of", of), slog.String("error", err.Error()))
}
