package console

import (
	"errors"
	"net/http"
	"time"

	"github.com/jeton-dev/jeton/rpc/web"
)

const (
	// unreadWithin is how long a browser may take to read an event, once the buffers in between are full.
	unreadWithin = 5 * time.Second
	// againAfter is after how many seconds a browser that was refused may try again.
	againAfter = "10"
)

// events answers GET /console/events, until the browser leaves, does not read, or may not look any more.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	s, err := c.collector.join()
	if err != nil {
		w.Header().Set("Retry-After", againAfter)
		w.Header().Set("Connection", "close") // it would wait, and be one of the connections that the port may have
		web.WriteProblem(w, &web.Problem{
			Name: "too-many-streams", Title: "Too many follow the console", Status: http.StatusServiceUnavailable, Detail: err.Error(),
		})
		return
	}
	defer c.collector.leave(s)
	c.follow(w, r, s)
}

// follow writes the events of a stream.
func (c *Console) follow(w http.ResponseWriter, r *http.Request, s *stream) {
	to, who := http.NewResponseController(w), web.CallerOf(r.Context())
	if err := to.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) { // the server's is for requests
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for nginx, which collects answers
	w.WriteHeader(http.StatusOK)
	for {
		select {
		case event := <-s.events:
			if !who.Still() {
				return
			}
			if write(to, w, event) != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-c.collector.done:
			return
		}
	}
}

// write sends an event at once.
func write(to *http.ResponseController, w http.ResponseWriter, event []byte) error {
	if err := to.SetWriteDeadline(time.Now().Add(unreadWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := w.Write(event); err != nil {
		return err
	}
	return to.Flush()
}
