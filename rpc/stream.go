package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// maxUnanswered is how many checks and settlements of one stream may be under way. A full message fits.
const maxUnanswered = limit.MaxBatch

// A checkStream is one call of CheckStream, which may last and bring many messages:
//
//	client ─▶ read ─▶ messages ─▶ run ─▶ what this node decides: Each ─────────────────────┬─▶ answers ─▶ run ─▶ client
//	                                └──▶ else a goroutine for each check or settlement ────┘
//
// run takes a message only when it has started every check and settlement of the one before, and starts one only while fewer than
// maxUnanswered are. So a client that does not read its answers is not read either, and has to wait. Each message has a deadline of its own,
// and ends before it when the client has given up all of it that is not answered.
type checkStream struct {
	grpc.ServerStream

	server   *Server
	denials  bool              // are wanted as errors
	version  atomic.Uint64     // of this node's table, for the next answers; 0 when there is nothing to tell
	messages chan *pb.StreamIn // closed by read at its end
	broken   error             // why read ended; nil when the client was done. Read it after messages was closed
	answers  chan *pb.Answer   // maxUnanswered fit, so none waits to be handed over
	checks   sync.WaitGroup    // the goroutines of checks and settlements
	underWay []*gathered       // messages of which something may be unanswered
}

// checkStream answers CheckStream.
func (s *Server) checkStream(stream grpc.ServerStream) error {
	denials, err := denialsAsErrors(stream.Context())
	if err != nil {
		return err
	}
	c := &checkStream{
		denials:      denials,
		ServerStream: stream,
		server:       s,
		messages:     make(chan *pb.StreamIn),
		answers:      make(chan *pb.Answer, maxUnanswered),
	}
	ctx, cancel := context.WithCancel(ofConnection(withMarks(stream.Context())))
	if m := marksOf(ctx); m != nil {
		m.version = &c.version
	}
	defer c.checks.Wait()
	defer cancel()
	s.readers.Go(func() { c.read(ctx) })
	return c.run(ctx)
}

// read hands the messages of the client over to run. It ends when the client does, or when the call has.
func (c *checkStream) read(ctx context.Context) {
	defer close(c.messages)
	for {
		m := new(pb.StreamIn)
		err := c.RecvMsg(m)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = validMessage(m)
		}
		if err != nil {
			c.broken = err
			return
		}
		select {
		case c.messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// run starts what read brings and sends what was decided, until there is no more of either.
func (c *checkStream) run(ctx context.Context) error {
	var (
		messages   = c.messages // nil when no more are wanted
		stopping   = c.server.stopping
		last       = &gathered{} // the one of which some checks may not be started
		unanswered int
		end        error
	)
	for messages != nil || last.left() > 0 || unanswered > 0 {
		if n := min(last.left(), maxUnanswered-unanswered); n > 0 {
			unanswered += n
			last.start(n)
		}
		incoming := messages
		if last.left() > 0 {
			incoming = nil
		}
		select {
		case m, ok := <-incoming:
			if !ok && c.broken != nil {
				return c.broken
			}
			if !ok {
				messages = nil
				continue
			}
			c.giveUp(m.GivenUp)
			last = c.gathered(ctx, m)
		case first := <-c.answers:
			out := c.ready(first)
			if err := c.SendMsg(out); err != nil {
				return err
			}
			if unanswered -= len(out.Answers); unanswered+last.left() == 0 {
				c.underWay = nil // a stream that rests keeps no messages
			}
		case <-stopping:
			messages, stopping, end = nil, nil, transport.ErrStopping
		}
	}
	return end
}

// validMessage says what is wrong with a message as a whole.
func validMessage(m *pb.StreamIn) error {
	if m.Within < 0 {
		return &limit.FieldError{Field: "within_ns", Problem: "is negative: how long the answers are waited for is 0 or more"}
	}
	if len(m.GivenUp) > limit.MaxBatch {
		return &limit.FieldError{Field: "given_up", Problem: fmt.Sprintf("more than %d ids are too many: no stream has more that is unanswered", limit.MaxBatch)}
	}
	return atMostABatch(m.Len)
}

// gathered are the checks and settlements of a message, of which none is started.
func (c *checkStream) gathered(ctx context.Context, in *pb.StreamIn) *gathered {
	m := &gathered{StreamIn: in, server: c.server, denials: c.denials, room: make([]pb.Answer, in.Len), checks: &c.checks, answers: c.answers}
	m.settled = make([]limit.Settled, len(in.Settlements))
	if in.Within > 0 {
		m.ctx, m.cancel = context.WithTimeout(ctx, min(in.Within, maxTime))
	} else {
		m.ctx, m.cancel = timed(ctx)
	}
	if in.Len == 0 {
		m.cancel()
		return m
	}
	m.done = make([]atomic.Bool, in.Len)
	m.wanted.Store(int64(in.Len))
	c.underWay = append(slices.DeleteFunc(c.underWay, func(m *gathered) bool { return m.wanted.Load() == 0 }), m)
	return m
}

// giveUp notes that nobody waits any more for the answers with these ids.
func (c *checkStream) giveUp(ids []uint64) {
	if len(ids) == 0 {
		return
	}
	given := make(map[uint64]struct{}, len(ids))
	for _, id := range ids {
		given[id] = struct{}{}
	}
	for _, m := range c.underWay {
		m.giveUp(given)
	}
}

// ready is the message of first and of the other answers that are there.
func (c *checkStream) ready(first *pb.Answer) *pb.StreamOut {
	out := &pb.StreamOut{Answers: make([]*pb.Answer, 1, 1+len(c.answers))}
	out.Answers[0] = first
	for more := true; more; {
		select {
		case a := <-c.answers:
			out.Answers = append(out.Answers, a)
		default:
			more = false
		}
	}
	for _, a := range out.Answers {
		if a.Result.Err != nil && !out.Refuses {
			_, out.Refuses = errors.AsType[refusesError](a.Result.Err)
		}
	}
	out.Table = c.version.Swap(0)
	return out
}
