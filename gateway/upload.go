package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// An upload is the body of a request that the proxy passes on. Its reader may outlive the request, and then does not touch
// the connection any more: the next request may be on it.
type upload struct {
	io.ReadCloser
	conn   *http.ResponseController
	pause  time.Duration // that the client may make
	broken atomic.Bool   // it could not be read to its end

	mu     sync.Mutex
	closed bool
}

// Read implements [io.Reader].
func (u *upload) Read(b []byte) (int, error) {
	u.endPause(time.Now().Add(u.pause))
	n, err := u.ReadCloser.Read(b)
	if err != nil {
		u.endPause(time.Time{}) // the answer may take its time
		u.broken.Store(!errors.Is(err, io.EOF))
	}
	return n, err
}

// endPause says when the client must have sent more.
func (u *upload) endPause(at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		_ = u.conn.SetReadDeadline(at) // what cannot have a deadline is no connection, and makes no pauses
	}
}

// Close implements [io.Closer].
func (u *upload) Close() error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	return u.ReadCloser.Close()
}
