package rpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/exemplar"
	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/internal/traced"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A gathered is the checks and settlements of one message of a stream. They share one deadline: a timer for each would cost as much as
// deciding.
type gathered struct {
	*pb.StreamIn

	server  *Server
	ctx     context.Context //nolint:containedctx // of its checks
	cancel  context.CancelFunc
	started int
	denials bool            // are wanted as errors
	done    []atomic.Bool   // by place: answered, or given up
	wanted  atomic.Int64    // are not
	room    []pb.Answer     // for the answer to each, those to settlements behind those to checks
	settled []limit.Settled // to which these point
	checks  *sync.WaitGroup // the goroutines of the stream
	answers chan<- *pb.Answer
}

// left is how many checks and settlements are not started.
func (m *gathered) left() int { return len(m.room) - m.started }

// start starts the next n checks and settlements. Those that this node decides go there together, and none waits for another. Each of the
// others has a goroutine.
func (m *gathered) start(n int) {
	o := ours{begin: time.Now()}
	checks, to := len(m.Requests), m.started+n
	m.startChecks(&o, m.started, min(to, checks))
	m.startSettlements(&o, max(m.started-checks, 0), to-checks)
	m.started = to
	if o.here != nil {
		o.here.Each(
			m.ctx, o.checks.requests, func(place int, r limit.Result) { m.answer(o.checks.places[place], r, o.begin) },
			o.settlements, func(place int, settled limit.Settled, err error) {
				m.answerSettlement(o.places[place], settled, err, o.begin)
			},
		)
	}
}

// ours are the checks and settlements that this node decides.
type ours struct {
	begin       time.Time
	here        limit.EachLimiter // which decides; nil if there are none
	checks      share
	settlements []limit.Settlement
	places      []int // of the settlements in the message
}

// startChecks starts the checks of these places, or adds them to o.
func (m *gathered) startChecks(o *ours, from, to int) {
	if n := to - from; n > 0 {
		o.checks = share{requests: make([]limit.Request, 0, n), places: make([]int, 0, n)}
	}
	for i := from; i < to; i++ {
		r := &m.Requests[i]
		at, err := m.server.place(m.ctx, r.Key, toFirst(r))
		trace := m.trace(i)
		if each, ok := at.(limit.EachLimiter); ok && trace == "" {
			o.here = each
			o.checks.add(i, *r)
			continue
		}
		if err != nil {
			m.answer(i, limit.Result{Err: err}, o.begin)
			continue
		}
		m.checks.Go(func() {
			d, err := m.server.checkSafely(m.ctx, at, r, trace)
			m.answer(i, limit.Result{Decision: d, Err: err}, o.begin)
		})
	}
}

// trace is the span that waits for check i, as a text; empty if there is none, or this node makes none.
func (m *gathered) trace(i int) string {
	if m.Traces == nil || m.server.limiter.tracer == nil {
		return ""
	}
	return m.Traces[i]
}

// exemplar names the trace of check i; nil for none. The stream itself is in no trace: it outlives all of them.
func (m *gathered) exemplar(i int) prometheus.Labels {
	if text := m.trace(i); text != "" {
		return exemplar.Of(traced.UnderText(m.ctx, text))
	}
	return nil
}

// startSettlements starts the settlements of these places, or adds them to o. They go where checks with an id go: see [Router.Settle].
func (m *gathered) startSettlements(o *ours, from, to int) {
	if n := to - from; n > 0 {
		o.settlements, o.places = make([]limit.Settlement, 0, n), make([]int, 0, n)
	}
	for i := from; i < to; i++ {
		in := &m.Settlements[i]
		if in.Wrong != nil {
			m.answerSettlement(i, limit.Settled{}, in.Wrong, o.begin)
			continue
		}
		at, err := m.server.place(m.ctx, in.Settlement.Hold.Key, true)
		if each, ok := at.(limit.EachLimiter); ok {
			o.here = each
			o.settlements, o.places = append(o.settlements, in.Settlement), append(o.places, i)
			continue
		}
		if err != nil {
			m.answerSettlement(i, limit.Settled{}, err, o.begin)
			continue
		}
		m.checks.Go(func() {
			settled, err := m.server.settleSafely(m.ctx, at, in.Settlement)
			m.answerSettlement(i, settled, err, o.begin)
		})
	}
}

// answer hands over the answer to check i.
func (m *gathered) answer(i int, r limit.Result, begin time.Time) {
	if r.Err != nil && !m.done[i].Load() { // it was not given up
		m.server.limiter.undecided.count(m.ctx, &m.Requests[i], r.Err)
	}
	m.room[i] = pb.Answer{ID: m.IDs[i], Result: denialOr(m.denials, m.Requests[i].Key, r)}
	m.handOver(i, r.Err, begin, m.exemplar(i))
}

// answerSettlement hands over the answer to settlement i.
func (m *gathered) answerSettlement(i int, settled limit.Settled, err error, begin time.Time) {
	if err != nil {
		err = asMessage(err)
	}
	place := len(m.Requests) + i
	m.settled[i] = settled
	m.room[place] = pb.Answer{ID: m.Settlements[i].ID, Result: limit.Result{Err: err}, Settled: &m.settled[i]}
	m.handOver(place, err, begin, nil)
}

// handOver hands over the answer in that place. Errors are answers too. It never waits, for the answers of all that is
// started have room, and may be called when the stream has ended.
func (m *gathered) handOver(place int, err error, begin time.Time, of prometheus.Labels) {
	s := m.server
	s.metrics.observe(pb.Limiter_CheckStream_FullMethodName, err, begin, of)
	s.logFault(m.ctx, pb.Limiter_CheckStream_FullMethodName, err)
	m.finish(place)
	m.answers <- &m.room[place]
}

// finish notes that what is in a place is answered, or that nobody waits for its answer. With the last of them ends the context of all.
func (m *gathered) finish(place int) {
	if !m.done[place].Swap(true) && m.wanted.Add(-1) == 0 {
		m.cancel()
	}
}

// giveUp notes that nobody waits any more for the answers with these ids that are m's.
func (m *gathered) giveUp(ids map[uint64]struct{}) {
	for i, id := range m.IDs {
		if _, given := ids[id]; given {
			m.finish(i)
		}
	}
	for i := range m.Settlements {
		if _, given := ids[m.Settlements[i].ID]; given {
			m.finish(len(m.Requests) + i)
		}
	}
}

// place says who answers a request about key, which may be for the first healthy replica; see [Router].
func (s *Server) place(ctx context.Context, key string, first bool) (limit.Limiter, error) {
	decides := s.limiter.Limiter
	if r, ok := decides.(*Router); ok {
		return r.place(ctx, key, first)
	}
	return decides, nil
}

// checkSafely is by's Check, with a panic as an error, and under that span if there is one.
func (s *Server) checkSafely(ctx context.Context, by limit.Checker, r *limit.Request, trace string) (d limit.Decision, err error) {
	defer fault.Rescue(s.metrics.panics, &err)
	if trace != "" {
		return s.limiter.checkAt(traced.UnderText(ctx, trace), by, r)
	}
	return by.Check(ctx, *r)
}

// settleSafely is by's Settle, with a panic as an error.
func (s *Server) settleSafely(ctx context.Context, by limit.Settler, settlement limit.Settlement) (settled limit.Settled, err error) {
	defer fault.Rescue(s.metrics.panics, &err)
	return by.Settle(ctx, settlement)
}
