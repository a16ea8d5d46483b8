package extauthz

import (
	"errors"
	"net/http"
)

// maxBody bounds the body of an answer, in bytes. A document makes none that is longer.
const maxBody = 64 << 10

var errBodyTooLong = errors.New("extauthz: the body of the answer is too long")

// A recorder is an http.ResponseWriter that keeps the answer in memory. A body that is too long is left out.
type recorder struct {
	header  http.Header // as the handler changes it
	sent    http.Header // as it was when the handler wrote the status
	status  int         // 0 until then
	body    []byte
	tooLong bool
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. The first final status counts.
func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.tooLong = w.tooLong || len(w.body)+len(p) > maxBody; w.tooLong {
		w.body = nil
		return 0, errBodyTooLong
	}
	w.body = append(w.body, p...)
	return len(p), nil
}
