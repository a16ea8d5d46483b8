package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
	"github.com/jeton-dev/jeton/storage/difference"
	reg "github.com/jeton-dev/jeton/storage/register"
)

const (
	// maxReserved is how many reservations of one stream may be unanswered; a KiB of their ledgers counts as one. A full message fits
	// several times.
	maxReserved = 16 * pb.MaxReservations
	// maxLedgers is how many bytes the ledgers of one message may have, those included that its differences make.
	maxLedgers = transport.MaxMessage
	// silentFor is how long a stream may be without a message until its node counts as gone: three pings.
	silentFor = 3 * pingPeerEvery
)

// A reserveStream is one call of Reserve, at the replica:
//
//	owner ─▶ read ─▶ store.Reserve, in order ─▶ committer, fsync ─▶ answered ─▶ ready ─▶ run ─▶ owner
//
// read takes a message only while fewer than maxReserved reservations are unanswered. So an owner that is ahead of the disk,
// or does not read its answers, is not read either, and has to wait.
type reserveStream struct {
	grpc.ServerStream

	service *Service
	counts  bool          // the owner takes a count of what was accepted
	wake    chan struct{} // holds a token when there is something for run
	room    chan struct{} // holds a token when there may be room for read

	mu         sync.Mutex
	ready      []*reserved
	unanswered int       // reservations whose answers have not been sent; a message of none counts as one
	closed     bool      // nothing more is handed in
	done       bool      // read has ended
	broken     error     // why; nil when the owner was done
	heard      time.Time // when the owner spoke, or was answered, last
}

// reserved is an answer that can be sent.
type reserved struct {
	pb.ReservedOut

	cost int // what it counts in unanswered
}

// reserve answers Reserve.
func (s *Service) reserve(stream grpc.ServerStream) error {
	leave, err := s.enter(stream.Context())
	if err != nil {
		return err
	}
	defer leave()
	if err := stream.SendHeader(metadata.Pairs(differencesHeader, differencesVersion)); err != nil { // says that the stream is open
		return err
	}
	r := &reserveStream{
		ServerStream: stream, service: s, heard: time.Now(),
		counts: slices.Contains(metadata.ValueFromIncomingContext(stream.Context(), countsHeader), countsVersion),
		wake:   make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	s.readers.Go(func() { r.read(ctx) })
	return r.run(ctx)
}

// read hands in what the owner sends. It ends when the owner does, or when the call has.
func (r *reserveStream) read(ctx context.Context) {
	err := r.readAll(ctx)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.broken = true, err
	notify(r.wake)
}

func (r *reserveStream) readAll(ctx context.Context) error {
	for {
		m := new(pb.ReserveIn)
		if err := r.RecvMsg(m); err != nil {
			return err
		}
		if now := r.service.cfg.Now; now != nil {
			for i, arrived := 0, now(); i < len(m.Reservations); i++ {
				m.Reservations[i].Arrived = arrived
			}
		}
		cost := max(m.Len, 1) + min(ledgerBytes(m), maxLedgers)>>10
		if !r.waitForRoom(ctx, cost) {
			return nil
		}
		if err := r.hand(m, cost); err != nil {
			return err
		}
	}
}

// waitForRoom counts a message in, when there is room for it. It says whether the message is wanted still.
func (r *reserveStream) waitForRoom(ctx context.Context, cost int) bool {
	for {
		admitted, closed := r.admit(cost)
		if admitted || closed {
			return admitted
		}
		select {
		case <-r.room:
		case <-ctx.Done():
			return false
		}
	}
}

// admit counts a message in if there is room for it now.
func (r *reserveStream) admit(cost int) (admitted, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = time.Now()
	if r.closed || r.unanswered > 0 && r.unanswered+cost > maxReserved {
		return false, r.closed
	}
	r.unanswered += cost
	return true, false
}

// hand gives a message to the store. The error is a bug of the store.
func (r *reserveStream) hand(m *pb.ReserveIn, cost int) error {
	if problem := reserveProblem(m); problem != "" || m.Len == 0 {
		r.answered(&reserved{ReservedOut: pb.ReservedOut{ID: m.ID, Error: problem}, cost: cost})
		return nil
	}
	return fault.Safely(r.service.cfg.Panics, func() error {
		r.service.cfg.Store.Reserve(m.Reservations, func(answers []reg.Answer, err error) {
			out := &reserved{ReservedOut: pb.ReservedOut{ID: m.ID, Answers: answers}, cost: cost}
			if err != nil {
				out.ReservedOut = pb.ReservedOut{ID: m.ID, Error: err.Error()}
			} else if r.counts {
				out.Asked = m.Reservations
			}
			r.answered(out)
		})
		return nil
	})
}

// reserveProblem is what is wrong with a message, empty if nothing is.
func reserveProblem(m *pb.ReserveIn) string {
	switch {
	case m.Len > pb.MaxReservations:
		return fmt.Sprintf("reservations: %d in one message are too many: at most %d", m.Len, pb.MaxReservations)
	case len(m.Writer) != len(reg.Writer{}):
		return fmt.Sprintf("writer: has %d bytes, not %d", len(m.Writer), len(reg.Writer{}))
	case m.Now == 0: // the clock difference could not be judged
		return "now_ns: is missing"
	case ledgerBytes(m) > maxLedgers:
		return fmt.Sprintf("reservations: their ledgers have %d bytes, which are too many for one message: at most %d", ledgerBytes(m), maxLedgers)
	}
	return ""
}

// ledgerBytes is how many bytes the ledgers of a message have, or will have once they are made of its differences.
func ledgerBytes(m *pb.ReserveIn) (sum int) {
	for i := range m.Reservations {
		r := &m.Reservations[i]
		sum += len(r.Ledger) + min(difference.Length(r.Difference), reg.MaxLedger) // a longer one makes nothing
	}
	return sum
}

// answered is called by the store, with what run is to send.
func (r *reserveStream) answered(out *reserved) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = append(r.ready, out)
	notify(r.wake)
}

// run sends what is answered until there is no more, and the owner or this node wants no more.
func (r *reserveStream) run(ctx context.Context) error {
	var (
		stopping = r.service.stopping
		silence  = time.NewTicker(pingPeerEvery)
		spare    []*reserved
		end      error
	)
	defer silence.Stop()
	for {
		select {
		case <-r.wake:
		case <-stopping:
			r.close()
			stopping, end = nil, transport.ErrStopping
		case now := <-silence.C:
			if r.silentSince(now.Add(-silentFor)) {
				return fmt.Errorf("%w: no message for %v", limit.ErrUnavailable, silentFor)
			}
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
		ready := r.take(spare)
		for i, out := range ready {
			if err := r.SendMsg(&out.ReservedOut); err != nil {
				return err
			}
			r.sent(out.cost)
			ready[i] = nil
		}
		spare = ready
		if over, broken := r.over(); broken != nil {
			return broken
		} else if over {
			return end
		}
	}
}

// close makes read hand nothing in any more.
func (r *reserveStream) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	notify(r.room)
}

// take is what can be sent. It leaves the room of spare for more.
func (r *reserveStream) take(spare []*reserved) []*reserved {
	r.mu.Lock()
	defer r.mu.Unlock()
	ready := r.ready
	r.ready = spare[:0]
	forget(r.wake) // whether read has ended is looked at after this, too
	return ready
}

// sent makes room. From now on it is the owner's turn to say something.
func (r *reserveStream) sent(cost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unanswered -= cost
	r.heard = time.Now()
	notify(r.room)
}

// over says whether everything has been answered, and nothing more will come; or what broke the stream.
func (r *reserveStream) over() (over bool, broken error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return (r.done || r.closed) && r.unanswered == 0, r.broken
}

// silentSince says whether nothing has come since then, though the owner was listened to.
func (r *reserveStream) silentSince(then time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unanswered == 0 && r.heard.Before(then)
}
