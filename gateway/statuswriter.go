package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// A statusWriter writes the answer of a handler behind the middleware, and reports its status as soon as it is known.
type statusWriter struct {
	http.ResponseWriter

	reported bool
	report   func(status int) // called once
}

// reportOnce reports the status, unless one was reported before.
func (w *statusWriter) reportOnce(status int) {
	if !w.reported {
		w.reported = true
		w.report(status)
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols { // others are interim answers
		w.reportOnce(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *statusWriter) Write(b []byte) (int, error) {
	w.reportOnce(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// ReadFrom implements [io.ReaderFrom], with which net/http sends files.
func (w *statusWriter) ReadFrom(from io.Reader) (int64, error) {
	w.reportOnce(http.StatusOK)
	return io.Copy(w.ResponseWriter, from)
}

// Flush implements [http.Flusher].
func (w *statusWriter) Flush() { _ = w.FlushError() }

// FlushError is what [http.ResponseController] flushes with.
func (w *statusWriter) FlushError() error {
	w.reportOnce(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements [http.Hijacker]: the connection then carries another protocol.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.reportOnce(http.StatusSwitchingProtocols)
	}
	return c, rw, err
}

// Unwrap lets [http.ResponseController] find everything else.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
