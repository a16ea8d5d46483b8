package rpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/fault"
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
	denials bool // are wanted as errors
	decided atomic.Int64
	room    []pb.Answer     // for the answer to each, those to settlements behind those to checks
	checks  *sync.WaitGroup // the goroutines of the stream
	answers chan<- *pb.Answer
}

// left is how many checks and settlements are not started.
func (m *gathered) left() int { return len(m.room) - m.started }

// start starts the next n checks and settlements. Those that this node decides go there together, and none waits for another. Each of the
// others has a goroutine.
func (m *gathered) start(n int) {
	begin, from, to := time.Now(), m.started, m.started+n
	m.started = to
	checks := len(m.Requests)
	if from < checks {
		m.startChecks(from, min(to, checks), begin)
	}
	if to > checks {
		m.startSettlements(max(from-checks, 0), to-checks, begin)
	}
}

// startChecks starts the checks of these places.
func (m *gathered) startChecks(from, to int, begin time.Time) {
	var (
		s    = m.server
		here limit.EachChecker
		ours = share{requests: make([]limit.Request, 0, to-from), places: make([]int, 0, to-from)}
	)
	for i := from; i < to; i++ {
		r := m.Requests[i]
		at, err := s.place(m.ctx, r.Key, r.ID != "")
		if each, ok := at.(limit.EachChecker); ok {
			here = each
			ours.add(i, r)
			continue
		}
		if err != nil {
			m.answer(i, limit.Result{Err: err}, begin)
			continue
		}
		m.checks.Go(func() {
			d, err := s.checkSafely(m.ctx, at, r)
			m.answer(i, limit.Result{Decision: d, Err: err}, begin)
		})
	}
	if here != nil {
		here.CheckEach(m.ctx, ours.requests, func(place int, r limit.Result) { m.answer(ours.places[place], r, begin) })
	}
}

// startSettlements starts the settlements of these places. They go where checks with an id go: see [Router.Settle].
func (m *gathered) startSettlements(from, to int, begin time.Time) {
	var (
		s      = m.server
		here   limit.EachSettler
		ours   = make([]limit.Settlement, 0, to-from)
		places = make([]int, 0, to-from)
	)
	for i := from; i < to; i++ {
		in := &m.Settlements[i]
		if in.Wrong != nil {
			m.answerSettlement(i, limit.Settled{}, in.Wrong, begin)
			continue
		}
		at, err := s.place(m.ctx, in.Settlement.Hold.Key, true)
		if each, ok := at.(limit.EachSettler); ok {
			here = each
			ours, places = append(ours, in.Settlement), append(places, i)
			continue
		}
		if err != nil {
			m.answerSettlement(i, limit.Settled{}, err, begin)
			continue
		}
		m.checks.Go(func() {
			settled, err := s.settleSafely(m.ctx, at, in.Settlement)
			m.answerSettlement(i, settled, err, begin)
		})
	}
	if here != nil {
		here.SettleEach(m.ctx, ours, func(place int, settled limit.Settled, err error) {
			m.answerSettlement(places[place], settled, err, begin)
		})
	}
}

// answer hands over the answer to check i.
func (m *gathered) answer(i int, r limit.Result, begin time.Time) {
	m.room[i] = pb.Answer{ID: m.IDs[i], Result: denialOr(m.denials, m.Requests[i].Key, r)}
	m.handOver(i, r.Err, begin)
}

// answerSettlement hands over the answer to settlement i.
func (m *gathered) answerSettlement(i int, settled limit.Settled, err error, begin time.Time) {
	if err != nil {
		err = asMessage(err)
	}
	place := len(m.Requests) + i
	m.room[place] = pb.Answer{ID: m.Settlements[i].ID, Result: limit.Result{Err: err}, Settled: &settled}
	m.handOver(place, err, begin)
}

// handOver hands over the answer in that place. Errors are answers too. It never waits, for the answers of all that is
// started have room, and may be called when the stream has ended.
func (m *gathered) handOver(place int, err error, begin time.Time) {
	s := m.server
	s.metrics.observe(pb.Limiter_CheckStream_FullMethodName, err, begin)
	s.logFault(m.ctx, pb.Limiter_CheckStream_FullMethodName, err)
	if m.decided.Add(1) == int64(len(m.room)) {
		m.cancel()
	}
	m.answers <- &m.room[place]
}

// place says who answers a request about key, which may have an id; see [Router].
func (s *Server) place(ctx context.Context, key string, named bool) (limit.Limiter, error) {
	if r, ok := s.limiter.(*Router); ok {
		return r.place(ctx, key, named)
	}
	return s.limiter, nil
}

// checkSafely is by's Check, with a panic as an error.
func (s *Server) checkSafely(ctx context.Context, by limit.Checker, r limit.Request) (d limit.Decision, err error) {
	defer fault.Rescue(s.metrics.panics, &err)
	return by.Check(ctx, r)
}

// settleSafely is by's Settle, with a panic as an error.
func (s *Server) settleSafely(ctx context.Context, by limit.Settler, settlement limit.Settlement) (settled limit.Settled, err error) {
	defer fault.Rescue(s.metrics.panics, &err)
	return by.Settle(ctx, settlement)
}
