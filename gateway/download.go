package gateway

import (
	"net/http"
	"time"
)

// A download is the answer to a request of HTTP/2. A client that does not read it gives no room to send more in, and no bound
// of its connection notices: so each piece of it has to be taken within pause. Between two pieces the answer may rest.
type download struct {
	http.ResponseWriter

	conn  *http.ResponseController
	pause time.Duration
}

// watch is w, if need be such that it does not wait for ever for who does not read. done is to be called at the end.
func watch(w http.ResponseWriter, r *http.Request, pause time.Duration) (_ http.ResponseWriter, done func()) {
	if r.ProtoMajor < 2 || pause <= 0 {
		return w, func() {}
	}
	d := &download{w, http.NewResponseController(w), pause}
	return d, d.begin // what is left is sent when the handler has returned
}

// Write implements [http.ResponseWriter].
func (d *download) Write(b []byte) (int, error) {
	d.begin()
	defer d.end()
	return d.ResponseWriter.Write(b)
}

// FlushError is what [http.ResponseController] flushes by.
func (d *download) FlushError() error {
	d.begin()
	defer d.end()
	return d.conn.Flush()
}

// Unwrap is what [http.ResponseController] finds everything else by.
func (d *download) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *download) begin() { _ = d.conn.SetWriteDeadline(time.Now().Add(d.pause)) } // what cannot have one is no connection

func (d *download) end() { _ = d.conn.SetWriteDeadline(time.Time{}) } // nor this
