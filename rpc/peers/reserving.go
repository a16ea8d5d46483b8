package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
	reg "github.com/jeton-dev/jeton/storage/register"
)

const (
	// maxAsked is how many reservations may be unanswered by one other node. More are answered with an error at once.
	maxAsked = 1 << 16
	// maxAskedBytes is about how many bytes of reservations go in one message; one reservation may have more.
	maxAskedBytes = 1 << 20
	// answerWithin is how long something may be unanswered while nothing is heard of the node for silentWithin: then it is
	// frozen, and the stream is broken up.
	answerWithin = 2 * time.Second
	silentWithin = time.Second
	// pingPeerEvery is how often a node without anything to reserve is asked whether it still answers.
	pingPeerEvery = 5 * time.Second
)

var (
	errSilent  = errors.New("the node does not answer: it may be frozen")
	errEnded   = errors.New("the node has ended the stream")
	errTooMuch = fmt.Errorf("%w: too much is unanswered by the node", limit.ErrOverloaded)
)

// A messageStream is what is needed of a grpc.ClientStream.
type messageStream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// A reserving is one stream of reservations to another node, from its opening to its end:
//
//	reserve ─▶ queue ─▶ send: one message of all that waits ─▶ node
//	done ◀─ answers ◀─ hear: finds the message by its number ◀─┘
//	                    └▶ again ─▶ send: the whole, where the node does not know what a difference is from
//
// Every reservation that was taken is answered once: by the node, or with an error when the stream has broken. After
// that, nothing reads the reservations of the caller.
type reserving struct {
	stream  messageStream
	breakUp context.CancelCauseFunc // ends the stream
	now     func() int64
	metrics remoteMetrics
	within  time.Duration // answerWithin, but in tests
	wake    chan struct{} // holds a token when the queue is not empty

	mu         sync.Mutex
	queue      []*asked
	again      []*message // to be sent before the queue
	unanswered int        // reservations
	pending    map[uint64]*message
	heard      time.Time // when the node said something last
	ended      error     // why nothing is taken any more
	watching   *time.Timer
	watched    bool // the timer is running

	// Of send; of serve when send has ended.
	sending []*asked // taken out of the queue, not yet wholly in messages
	lastID  uint64
	buffer  []byte
	differing
}

func newReserving(stream messageStream, breakUp context.CancelCauseFunc, now func() int64, metrics remoteMetrics) *reserving {
	return &reserving{
		stream: stream, breakUp: breakUp, now: now, metrics: metrics, within: answerWithin,
		wake: make(chan struct{}, 1), pending: map[uint64]*message{}, heard: time.Now(),
	}
}

// reserve takes reservations. Unless it returns an error, done will be called once.
func (r *reserving) reserve(rs []reg.Reservation, done func([]reg.Answer, error)) error {
	if len(rs) == 0 {
		done(nil, nil)
		return nil
	}
	ask := &asked{rs: rs, done: done, at: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended != nil:
		return r.ended
	case r.unanswered > 0 && r.unanswered+len(rs) > maxAsked:
		return errTooMuch
	}
	r.unanswered += len(rs)
	r.queue = append(r.queue, ask)
	r.watchLocked()
	notify(r.wake)
	return nil
}

// end is why nothing is taken any more; nil while the stream is open.
func (r *reserving) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// serve runs the stream until it breaks, answers what is unanswered then, and returns why it broke.
func (r *reserving) serve(ctx context.Context) error {
	var sender sync.WaitGroup
	sender.Go(func() {
		if err := r.send(ctx); err != nil {
			r.breakUp(err)
		}
	})
	err := r.hear()
	why := causeOr(ctx, pb.DecodeError(err))
	r.mu.Lock()
	r.ended = why
	r.mu.Unlock()
	r.breakUp(why)
	sender.Wait()
	r.fail(why)
	return why
}

// fail answers everything that is unanswered. Nothing else is at work any more.
func (r *reserving) fail(why error) {
	r.mu.Lock()
	if r.watching != nil {
		r.watching.Stop()
	}
	left := slices.Concat(r.sending, r.queue)
	for _, m := range slices.AppendSeq(r.again, maps.Values(r.pending)) {
		for _, p := range m.parts {
			left = append(left, p.of)
		}
	}
	r.queue, r.again, r.pending = nil, nil, nil
	r.mu.Unlock()
	for _, ask := range left {
		if !ask.over {
			ask.over = true
			ask.done(nil, why)
		}
	}
}

// send puts what is queued into messages and sends them. It ends with ctx.
func (r *reserving) send(ctx context.Context) error {
	pings := time.NewTicker(pingPeerEvery)
	defer pings.Stop()
	for {
		select {
		case <-r.wake:
			if err := r.sendAll(); err != nil {
				return err
			}
		case <-pings.C:
			if r.idle() {
				if err := r.sendMessage(&message{at: time.Now()}); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *reserving) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) == 0 && len(r.queue) == 0 && len(r.again) == 0
}

// sendAll sends everything that is queued, and what is queued meanwhile.
func (r *reserving) sendAll() error {
	for {
		r.mu.Lock()
		r.sending, r.queue = r.queue, r.sending[:0]
		forget(r.wake) // what is to be sent again is taken next
		r.mu.Unlock()
		for m := r.nextAgain(); m != nil; m = r.nextAgain() {
			if err := r.sendMessage(m); err != nil {
				return err
			}
		}
		if len(r.sending) == 0 {
			return nil
		}
		for len(r.sending) > 0 {
			if err := r.sendMessage(r.cut()); err != nil {
				return err
			}
		}
	}
}

func (r *reserving) nextAgain() *message {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.again) == 0 {
		return nil
	}
	m := r.again[0]
	r.again = r.again[1:]
	return m
}

// cut makes one message of what is to be sent: as much of it as fits, and is of one writer.
func (r *reserving) cut() *message {
	first := r.sending[0]
	m := &message{at: first.at, writer: first.rs[first.sent].Writer}
	bytes, whole := 0, 0
	for _, ask := range r.sending {
		p := part{of: ask, from: ask.sent, to: ask.sent}
		for p.to < len(ask.rs) && m.len < pb.MaxReservations {
			next := &ask.rs[p.to]
			size := pb.ReservationRoom(next)
			if m.len > 0 && (bytes+size > maxAskedBytes || next.Writer != m.writer) {
				break
			}
			bytes += size
			p.to++
			m.len++
		}
		if p.to > p.from {
			m.parts = append(m.parts, p)
		}
		if ask.sent = p.to; ask.sent < len(ask.rs) {
			break
		}
		whole++
	}
	// What is left moves to the front, so that the queue goes on in the same room.
	left := copy(r.sending, r.sending[whole:])
	clear(r.sending[left:])
	r.sending = r.sending[:left]
	return m
}

// sendMessage stamps a message and sends it. Its answer is expected only once its bytes have been written, for the caller
// may use its reservations again when it has heard.
func (r *reserving) sendMessage(m *message) error {
	r.lastID++
	m.asked = make([][]reg.Reservation, len(m.parts))
	for i, p := range m.parts {
		m.asked[i] = p.of.rs[p.from:p.to]
	}
	out := pb.ReserveOut{ID: r.lastID, Now: r.now(), Writer: m.writer, Reservations: m.asked}
	out.Difference = func(of *reg.Reservation) []byte { return r.difference(of, m.whole, &r.metrics) }
	buffer, err := out.AppendWire(r.buffer[:0])
	if err != nil {
		return err
	}
	r.buffer = buffer
	m.sent = time.Now()
	r.mu.Lock()
	r.pending[r.lastID] = m
	r.watchLocked()
	r.mu.Unlock()
	if m.len > 0 {
		r.metrics.batch.Observe(float64(m.len))
	}
	return r.stream.SendMsg(written(buffer))
}

// hear gives the node's answers to who asked, until the stream breaks, and returns how.
func (r *reserving) hear() error {
	for {
		in := new(pb.ReservedIn)
		if err := r.stream.RecvMsg(in); errors.Is(err, io.EOF) {
			return errEnded
		} else if err != nil {
			return err
		}
		m, err := r.answered(in)
		if err != nil {
			return err
		}
		if m.len > 0 {
			r.metrics.seconds.Observe(time.Since(m.sent).Seconds())
		}
		m.answer(in)
	}
}

// answered finds the message that was answered, and completes its answers. The error says what is wrong with them.
func (r *reserving) answered(in *pb.ReservedIn) (*message, error) {
	r.mu.Lock()
	m, ok := r.pending[in.ID]
	r.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("the node answered message %d, which is not open", in.ID)
	}
	if in.Error != "" {
		in.Answers = nil
	} else if err := r.complete(m, in); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, in.ID)
	r.unanswered -= m.len
	r.heard = time.Now()
	if again := m.again(in.Answers); again != nil {
		r.unanswered += again.len
		r.again = append(r.again, again)
		r.metrics.otherBase.Add(float64(again.len))
		notify(r.wake)
	}
	return m, nil
}

// complete makes the answers to all reservations of a message of those that the node has sent. What it does not say itself is read from the
// reservations, which their caller leaves alone until they are answered.
func (r *reserving) complete(m *message, in *pb.ReservedIn) error {
	for i := range in.Answers {
		switch v := in.Answers[i].Verdict; {
		case v < reg.Accepted || v > reg.OtherBase:
			return fmt.Errorf("the node sent the unknown verdict %d: it may run a newer version", v)
		case v == reg.OtherBase && (m.whole || r.sent == nil):
			return errors.New("the node asked for the whole of what it was sent whole")
		}
	}
	return in.Complete(m.asked)
}

// watchLocked sees to it that the stream is broken up if the node does not answer. The timer runs only while something is
// unanswered, and is touched at most every second.
func (r *reserving) watchLocked() {
	switch {
	case r.watched || r.ended != nil:
		return
	case r.watching == nil:
		r.watching = time.AfterFunc(r.within, r.watch)
	default:
		r.watching.Reset(r.within)
	}
	r.watched = true
}

// watch breaks the stream up if the node is frozen, else looks again when it could be.
func (r *reserving) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watched = false
	oldest, found := r.oldestLocked()
	if !found || r.ended != nil {
		return
	}
	left := max(time.Until(oldest.Add(r.within)), time.Until(r.heard.Add(silentWithin)))
	if left <= 0 {
		r.ended = errSilent
		r.breakUp(errSilent)
		return
	}
	r.watched = true
	r.watching.Reset(left)
}

// oldestLocked is when what is unanswered for the longest time was asked.
func (r *reserving) oldestLocked() (oldest time.Time, found bool) {
	if len(r.queue) > 0 {
		oldest, found = r.queue[0].at, true
	}
	for _, m := range slices.AppendSeq(slices.Clone(r.again), maps.Values(r.pending)) {
		if !found || m.at.Before(oldest) {
			oldest, found = m.at, true
		}
	}
	return oldest, found
}

// causeOr is the cause of the end of ctx if it has one, else err.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// notify puts a token into a channel that holds one.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// forget takes the token out of a channel that holds one, if there is one: what it stands for has been taken.
func forget(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}
