package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// handled is the answer that a handler behind the middleware writes. It tells the status as soon as there is one.
type handled struct {
	http.ResponseWriter

	told   bool
	status func(int) // called once
}

// tell tells the status, if it was not told before.
func (h *handled) tell(status int) {
	if !h.told {
		h.told = true
		h.status(status)
	}
}

// WriteHeader implements [http.ResponseWriter].
func (h *handled) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols { // the others come before the answer
		h.tell(status)
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (h *handled) Write(b []byte) (int, error) {
	h.tell(http.StatusOK)
	return h.ResponseWriter.Write(b)
}

// ReadFrom implements [io.ReaderFrom], by which net/http sends files.
func (h *handled) ReadFrom(from io.Reader) (int64, error) {
	h.tell(http.StatusOK)
	return io.Copy(h.ResponseWriter, from)
}

// Flush implements [http.Flusher].
func (h *handled) Flush() { _ = h.FlushError() }

// FlushError is what [http.ResponseController] flushes by.
func (h *handled) FlushError() error {
	h.tell(http.StatusOK)
	return http.NewResponseController(h.ResponseWriter).Flush()
}

// Hijack implements [http.Hijacker]: whoever takes the connection over speaks another protocol on it.
func (h *handled) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err == nil {
		h.tell(http.StatusSwitchingProtocols)
	}
	return c, rw, err
}

// Unwrap is what [http.ResponseController] finds everything else by.
func (h *handled) Unwrap() http.ResponseWriter { return h.ResponseWriter }
