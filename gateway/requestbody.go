package gateway

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// bodyPace is how long the gateway waits for a body: for pause in all, and a second longer for each rate bytes that have arrived.
// Without a rate (-1) it waits for pause each time.
type bodyPace struct {
	pause time.Duration
	rate  int64 // bytes a second
}

// bodyTooLarge says that a body has more than so many bytes, and what changes that.
func bodyTooLarge(most int64) string {
	return fmt.Sprintf("the body of the request has more than %d bytes, the most that this gateway takes: proxy.max_body in its document changes that", most)
}

// maxEarned is how many seconds the bytes of a body can earn: years, without an overflow.
const maxEarned = 1e9

// left is how much longer to wait for a body of which so many bytes have arrived, after waiting for so long.
func (p bodyPace) left(received int64, waited time.Duration) time.Duration {
	if p.rate <= 0 {
		return p.pause
	}
	earned := time.Duration(min(float64(received)/float64(p.rate), maxEarned) * float64(time.Second))
	return min(p.pause, p.pause+earned-waited)
}

// A requestBody is the body of a request that the proxy forwards. Only the time that a read waits for the client counts against
// the client, not the time that the upstream takes. Its reader may outlive the request; after Close it leaves the connection alone,
// on which the next request may be.
type requestBody struct {
	io.ReadCloser
	bodyPace

	conn   interface{ SetReadDeadline(at time.Time) error }
	now    func() time.Time
	room   *bodyRoom   // that it takes, of a request to a language model; nil for others
	broken atomic.Bool // it could not be read to its end
	late   atomic.Bool // because the client was too slow

	// Of the goroutine that reads.
	received int64 // bytes
	waited   time.Duration

	mu     sync.Mutex
	closed bool
}

// Read implements [io.Reader].
func (b *requestBody) Read(p []byte) (int, error) {
	start := b.now()
	b.setDeadline(start.Add(b.left(b.received, b.waited)))
	n, err := b.ReadCloser.Read(p)
	b.received += int64(n)
	b.waited += b.now().Sub(start)
	if err != nil {
		b.setDeadline(time.Time{}) // the answer may take longer
		b.late.Store(errors.Is(err, os.ErrDeadlineExceeded))
		b.broken.Store(!errors.Is(err, io.EOF))
	}
	return n, err
}

// setDeadline is when the client must have sent more.
func (b *requestBody) setDeadline(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		_ = b.conn.SetReadDeadline(at) // what has no deadlines is no connection, and blocks nothing
	}
}

// Close implements [io.Closer].
func (b *requestBody) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return b.ReadCloser.Close()
}
