package gateway

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long the gateway waits for a body: for pause in all, and a second longer for every rate bytes that have
// come. Without a rate (-1) it waits for pause each time.
type patience struct {
	pause time.Duration
	rate  int64 // bytes a second
}

// maxEarned is how many seconds a body can come to: years, and no overflow.
const maxEarned = 1e9

// left is how much longer to wait for a body of which so many bytes have come, after waiting for so long.
func (p patience) left(came int64, waited time.Duration) time.Duration {
	if p.rate <= 0 {
		return p.pause
	}
	earned := time.Duration(min(float64(came)/float64(p.rate), maxEarned) * float64(time.Second))
	return min(p.pause, p.pause+earned-waited)
}

// An upload is the body of a request that the proxy passes on. Its reader may outlive the request, and then does not touch
// the connection any more: the next request may be on it. Only the time that a read waits for the client counts against it,
// not what the upstream takes.
type upload struct {
	io.ReadCloser
	patience

	conn   interface{ SetReadDeadline(at time.Time) error }
	now    func() time.Time
	broken atomic.Bool // it could not be read to its end
	late   atomic.Bool // because the client was too slow

	came   int64 // bytes; as waited, of the one who reads
	waited time.Duration

	mu     sync.Mutex
	closed bool
}

// Read implements [io.Reader].
func (u *upload) Read(b []byte) (int, error) {
	start := u.now()
	u.waitUntil(start.Add(u.left(u.came, u.waited)))
	n, err := u.ReadCloser.Read(b)
	u.came += int64(n)
	u.waited += u.now().Sub(start)
	if err != nil {
		u.waitUntil(time.Time{}) // the answer may take its time
		u.late.Store(errors.Is(err, os.ErrDeadlineExceeded))
		u.broken.Store(!errors.Is(err, io.EOF))
	}
	return n, err
}

// waitUntil says when the client must have sent more.
func (u *upload) waitUntil(at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		_ = u.conn.SetReadDeadline(at) // what cannot have a deadline is no connection, and does not keep anybody waiting
	}
}

// Close implements [io.Closer].
func (u *upload) Close() error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	return u.ReadCloser.Close()
}
