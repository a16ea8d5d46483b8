package gateway

import (
	"net/http"
	"time"
)

// A timedWriter writes the answer to an HTTP/2 request. When a client stops reading it, flow control blocks the stream, which no
// bound of the connection notices. So each write has to end within timeout; between two writes any time may pass.
type timedWriter struct {
	http.ResponseWriter

	conn    *http.ResponseController
	timeout time.Duration
}

// withWriteTimeout bounds each write to w in HTTP/2. In HTTP/1.1 the listener does that. done is to be called at the end.
func withWriteTimeout(w http.ResponseWriter, r *http.Request, timeout time.Duration) (_ http.ResponseWriter, done func()) {
	if r.ProtoMajor < 2 || timeout <= 0 {
		return w, func() {}
	}
	t := &timedWriter{w, http.NewResponseController(w), timeout}
	return t, t.start // what is left is written when the handler has returned
}

// Write implements [http.ResponseWriter].
func (t *timedWriter) Write(b []byte) (int, error) {
	t.start()
	defer t.end()
	return t.ResponseWriter.Write(b)
}

// FlushError is what [http.ResponseController] flushes with.
func (t *timedWriter) FlushError() error {
	t.start()
	defer t.end()
	return t.conn.Flush()
}

// Unwrap lets [http.ResponseController] find everything else.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *timedWriter) start() { _ = t.conn.SetWriteDeadline(time.Now().Add(t.timeout)) } // what has no deadlines is no connection

func (t *timedWriter) end() { _ = t.conn.SetWriteDeadline(time.Time{}) }
