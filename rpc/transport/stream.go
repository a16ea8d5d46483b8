package transport

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/fault"
)

const (
	// unreadWithin is how long the caller of a stream may leave an answer unread.
	unreadWithin = 10 * time.Second
	// streamCost is about what a stream costs besides its messages: goroutines, and what came and is not read yet.
	streamCost = 64 << 10
	// parsedCost is how many times as large as its bytes a message of a stream is, once it is read; and foreignCost what a field takes of one of another
	// project's, until the next one is asked for.
	parsedCost  = 4
	foreignCost = 200
	// keptMessages is how many messages of a stream may be there at once: one waits, one is at work, one is read.
	keptMessages = 3
)

// errUnread ends a stream whose caller does not read.
var errUnread = status.Error(codes.ResourceExhausted, fmt.Sprintf(
	"answers were not read for %v: read the answers of a stream while you send, or send less", unreadWithin))

// A boundedStream counts what a stream keeps, and notices when its answers are not read.
type boundedStream struct {
	grpc.ServerStream

	conn   *bound.Conn // nil: nothing is counted
	late   *time.Timer // runs while an answer waits to be sent
	unread chan struct{}

	read Received // of the goroutine that reads

	mu    sync.Mutex
	kept  [keptMessages]int // bytes that are held for the last messages
	more  int               // that are held beside them, for what the last one takes once it is read
	reads int
	over  bool // the handler has returned: nothing is held any more
}

// BoundStreams is an interceptor that bounds what a stream keeps, and ends it when its answers are not read. The handler runs on a
// goroutine of its own, for one that waits in SendMsg cannot end the stream. That goroutine is one of running; its panic counts in
// panics, and is an error.
func BoundStreams(running *sync.WaitGroup, panics prometheus.Counter) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return boundStream(running, panics, stream, func(b grpc.ServerStream) error { return next(srv, b) })
	}
}

func boundStream(running *sync.WaitGroup, panics prometheus.Counter, stream grpc.ServerStream, next func(grpc.ServerStream) error) error {
	b := &boundedStream{ServerStream: stream, conn: ConnOf(stream.Context()), unread: make(chan struct{})}
	b.late = time.AfterFunc(unreadWithin, func() { close(b.unread) })
	b.late.Stop()
	if b.conn != nil {
		b.conn.Hold(streamCost) // if that is too much, some connection ends, and with it its streams
	}
	ended := make(chan error, 1)
	running.Go(func() {
		err := fault.Safely(panics, func() error { return next(b) })
		b.late.Stop()
		b.release()
		ended <- err
	})
	select {
	case err := <-ended:
		return err
	case <-b.unread:
		return errUnread
	}
}

// release counts what was held no more.
func (b *boundedStream) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.conn == nil {
		return
	}
	sum := streamCost + b.more
	for _, n := range b.kept {
		sum += n
	}
	b.conn.Release(sum)
}

// forget counts no more what the last message took beside its bytes: its handler has handed it over, and asks for the next one.
func (b *boundedStream) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more > 0 && !b.over {
		b.conn.Release(b.more)
		b.more = 0
	}
}

// hold counts a message of so many bytes instead of the one that was read so many messages before, and what it takes beside them.
func (b *boundedStream) hold(bytes, more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn == nil || b.over {
		return
	}
	slot := &b.kept[b.reads%keptMessages]
	b.reads++
	b.conn.Release(*slot)
	*slot, b.more = bytes, more
	b.conn.Hold(bytes + more)
}

// SendMsg implements grpc.ServerStream.
func (b *boundedStream) SendMsg(m any) error {
	b.late.Reset(unreadWithin)
	defer b.late.Stop()
	return b.ServerStream.SendMsg(Held(m, b.conn))
}

// RecvMsg implements grpc.ServerStream.
func (b *boundedStream) RecvMsg(m any) error {
	b.forget()
	b.read.Message, b.read.Ctx = m, b.Context()
	err := b.ServerStream.RecvMsg(&b.read)
	b.read.Message = nil
	if err == nil {
		b.hold(b.read.bytes*parsedCost, max(b.read.fields*foreignCost-b.read.bytes*parsedCost, 0))
	}
	return err
}
