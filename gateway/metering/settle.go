package metering

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm"
)

// errNoSettler is the end of settlements where the checker takes none.
var errNoSettler = &limit.FieldError{Field: "hold", Problem: "the cluster takes no settlements"}

// A permit is a place in a limit of streams.
type permit struct {
	at      *Cluster
	key     string
	receipt limit.Receipt
}

// settle settles a hold in the background, of an answer by that model.
func (x *Exchange) settle(i int, charge llm.Charge, answered string) {
	h := &x.holds[i]
	rates := h.Rates
	if h.Prices != nil {
		rates = h.Prices.OfAnswer(x.model, answered)
	}
	s := limit.Settlement{Hold: h.Hold, Used: min(rates.Cost(charge.Usage), limit.MaxCount)}
	var settled limit.Settled
	h.At.queue.add(job{
		ctx: x.ctx,
		try: func(ctx context.Context) (err error) {
			x.running.Wait() // an extension that comes after the settlement would say that the hold goes on
			if h.At.settler == nil {
				return errNoSettler
			}
			settled, err = h.At.settler.Settle(ctx, s)
			return err
		},
		end: func(err error) {
			result := resultOf(&settled, err)
			x.meter.metrics.settlements[result].Inc()
			x.traced("jeton.settle", result, s.Used)
			x.settled(i, s.Used, &settled, result, err)
		},
	})
}

// resultOf is what a settlement came to.
func resultOf(s *limit.Settled, err error) string {
	switch {
	case errors.Is(err, errFull):
		return resultDropped
	case errors.Is(err, limit.ErrUnknownHold):
		return resultUnknown
	case err != nil:
		return resultFailed
	}
	result := resultDone
	for i := range s.Limits {
		switch s.Limits[i].State {
		case limit.HoldUnknown:
			return resultUnknown
		case limit.HoldLost:
			result = resultLost
		default:
		}
	}
	return result
}

// settled notes what a settlement came to.
func (x *Exchange) settled(i int, used int64, s *limit.Settled, result string, err error) {
	h := &x.holds[i]
	why := ""
	if err != nil {
		why = err.Error()
	}
	if result != resultDone {
		x.meter.log.LogAttrs(x.ctx, slog.LevelWarn, "a hold was not settled as it was used", slog.String("result", result),
			slog.String("key", h.ShownKey), slog.String("counts", h.Counts), slog.Int64("held", h.Granted), slog.Int64("used", used), slog.String("error", why))
	}
	x.noteSettled(i, func(held *denial.Held) {
		held.Charged, held.Returned, held.Debt, held.Why = s.Charged, s.Returned, s.Debt, why
		if held.State = result; result == resultDone {
			held.State = string(limit.HoldSettled)
		}
	})
	x.done()
}

// noteSettled changes what is remembered of a hold.
func (x *Exchange) noteSettled(i int, f func(*denial.Held)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.started {
		x.change(func(e *denial.ModelRequest) { f(&e.Holds[i]) })
	}
}

// giveBack returns a permit in the background.
func (x *Exchange) giveBack(i int) {
	var took []bool
	x.permits[i].at.queue.add(job{
		ctx: x.ctx,
		try: func(ctx context.Context) (err error) {
			x.running.Wait() // an extension replaces the receipt
			p := x.permitAt(i)
			if p.at.returner == nil {
				return errNoSettler
			}
			took, err = p.at.returner.Return(ctx, p.key, []limit.Receipt{p.receipt})
			return err
		},
		end: func(err error) {
			result := resultDone
			switch {
			case errors.Is(err, errFull):
				result = resultDropped
			case err != nil:
				result = resultFailed
			case len(took) != 1 || !took[0]:
				result = resultUnknown
			}
			x.meter.metrics.returns[result].Inc()
			x.done()
		},
	})
}

func (x *Exchange) permitAt(i int) permit {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.permits[i]
}

// done notes that one settlement or return has ended.
func (x *Exchange) done() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unsettled--; x.unsettled == 0 && x.started {
		x.publish()
	}
}

// publish logs an exchange that is settled.
func (x *Exchange) publish() {
	e := x.record.Exchange
	if !x.logged || e.Used == nil {
		return
	}
	attrs := []slog.Attr{
		slog.String("exchange", x.record.ID), slog.String("route", x.record.Route), slog.Int("status", x.record.Status), slog.String("model", e.Model),
		slog.String("basis", e.Basis), slog.Int64("input", e.Used.Input), slog.Int64("output", e.Used.Output),
	}
	if e.Unread != "" {
		attrs = append(attrs, slog.String("unread", e.Unread))
	}
	for i := range e.Holds {
		h := &e.Holds[i]
		attrs = append(attrs, slog.Group(h.Counts, slog.String("key", h.Key), slog.String("state", h.State), slog.Int64("held", h.Granted),
			slog.Int64("charged", h.Charged), slog.Int64("returned", h.Returned), slog.Int64("debt", h.Debt)))
	}
	x.meter.log.LogAttrs(x.ctx, slog.LevelInfo, "exchange", attrs...)
}

// traced makes a span of something that has ended.
func (x *Exchange) traced(name, result string, used int64) {
	if x.meter.tracer == nil {
		return
	}
	_, span := x.meter.tracer.Start(x.ctx, name, trace.WithSpanKind(trace.SpanKindInternal))
	span.SetAttributes(attribute.String("jeton.exchange", x.record.ID), attribute.String("jeton.result", result), attribute.Int64("jeton.used", used))
	if result != resultDone {
		span.SetStatus(codes.Error, result)
	}
	span.End()
}

// change replaces what is remembered of the exchange: a record that others may read never changes.
func (x *Exchange) change(f func(*denial.ModelRequest)) {
	e := *x.record.Exchange
	e.Holds = append([]denial.Held(nil), e.Holds...)
	f(&e)
	x.record.Exchange = &e
	next := x.record
	x.meter.memory.Replace(&next)
}
