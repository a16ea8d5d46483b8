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

// A gathered is the checks of one message of a stream. They share one deadline: a timer for each would cost as much as
// deciding.
type gathered struct {
	*pb.StreamIn

	server  *Server
	ctx     context.Context //nolint:containedctx // of its checks
	cancel  context.CancelFunc
	started int
	denials bool // are wanted as errors
	decided atomic.Int64
	room    []pb.Answer     // for the answer to each
	checks  *sync.WaitGroup // the goroutines of the stream's checks
	answers chan<- *pb.Answer
}

// left is how many checks are not started.
func (m *gathered) left() int { return len(m.room) - m.started }

// start starts the next n checks. Those that this node decides go there together, and none waits for another. Each of the
// others has a goroutine.
func (m *gathered) start(n int) {
	var (
		s     = m.server
		begin = time.Now()
		here  limit.EachChecker
		ours  = share{requests: make([]limit.Request, 0, n), places: make([]int, 0, n)}
	)
	for i := m.started; i < m.started+n; i++ {
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
	m.started += n
	if here != nil {
		here.CheckEach(m.ctx, ours.requests, func(place int, r limit.Result) { m.answer(ours.places[place], r, begin) })
	}
}

// answer hands over the answer to check i. Errors are answers too. It never waits, for the answers of all checks that are
// started have room, and may be called when the stream has ended.
func (m *gathered) answer(i int, r limit.Result, begin time.Time) {
	s := m.server
	s.metrics.observe(pb.Limiter_CheckStream_FullMethodName, r.Err, begin)
	s.logFault(m.ctx, pb.Limiter_CheckStream_FullMethodName, r.Err)
	m.room[i] = pb.Answer{ID: m.IDs[i], Result: denialOr(m.denials, m.Requests[i].Key, r)}
	if m.decided.Add(1) == int64(len(m.room)) {
		m.cancel()
	}
	m.answers <- &m.room[i]
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
