package console

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/rpc/activity"
)

// A stream gets a view at once, without rates, and then those of what was done since. It outlives the time that a request may take to
// arrive, which is 100 ms here.
func TestEvents(t *testing.T) {
	r := newRig(t, false)
	f := r.follow()
	if h := f.response.Header; f.response.StatusCode != http.StatusOK || h.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", f.response.StatusCode, h)
	}
	for i := range 3 {
		name, view := f.next()
		if seconds := min(1, float64(i)); name != "view" || view.Seconds != seconds || view.At.Unix() != int64(i+1) || view.Asked != "a<b>\n" {
			t.Errorf("event %d: %s %+v", i, name, view)
		}
	}
}

// All streams share one look a second, and without streams there is none.
func TestOneLookForAllStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &toy{}
		c := newCollector(Config{Source: source, Streams: 100}, newMetrics())
		var all []*stream
		for range 50 {
			s, err := c.join()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		<-time.After(10*lookEach + lookEach/2)
		if got := source.looks.Load(); got != 11 {
			t.Errorf("%d looks in 10.5 s for 50 streams, want 11", got)
		}
		late, err := c.join()
		if err != nil || len(late.events) != 1 {
			t.Errorf("who comes later waits: %v", err)
		}
		for _, s := range append(all, late) {
			if len(s.events) != 1 { // the newest, in the place of all before
				t.Errorf("a stream that is not read has %d events", len(s.events))
			}
			c.leave(s)
		}
		synctest.Wait()
		<-time.After(10 * lookEach)
		if got := source.looks.Load(); got != 11 {
			t.Errorf("%d looks, and nobody follows", got-11)
		}
		again, err := c.join()
		if err != nil {
			t.Fatal(err)
		}
		if first := string(<-again.events); !strings.Contains(first, `"seconds":0,`) {
			t.Errorf("the first view after a pause compares with one long ago: %s", first)
		}
		c.stop()
		if _, err := c.join(); !errors.Is(err, errStopping) {
			t.Errorf("after stop: %v", err)
		}
		c.leave(again)
	})
}

// Where a node does not answer, a look takes half a second. Each second has a view with rates all the same.
func TestViewsWhileANodeIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context, _ json.RawMessage) []activity.Told {
			<-ctx.Done()
			<-time.After(time.Millisecond) // what is answered is read
			return []activity.Told{{Name: "b", Error: "it has not answered in time"}}
		}
		here := func(context.Context) (activity.Node, error) { return activity.Node{}, nil }
		c := newCollector(Config{Source: activity.NewSource(activity.SourceConfig{Name: "a", Here: here, Others: silent}), Streams: 1}, newMetrics())
		s, err := c.join()
		if err != nil {
			t.Fatal(err)
		}
		<-s.events // the first, which has no rates
		for range 5 {
			if view := string(<-s.events); strings.Contains(view, `"seconds":0,`) {
				t.Errorf("a view without rates: %s", view)
			}
		}
		c.stop()
		c.leave(s)
	})
}

// What cannot be looked at is told, and the stream goes on.
func TestLooksThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &toy{}
		c := newCollector(Config{Source: source, Streams: 1, Logger: discard}, newMetrics())
		s, err := c.join()
		if err != nil {
			t.Fatal(err)
		}
		<-s.events
		failure := errors.New("it is <dark>\nhere")
		source.err.Store(&failure)
		if got := string(<-s.events); !strings.HasPrefix(got, "event: problem\ndata: {") || strings.Count(got, "\n") != 3 || strings.Contains(got, "<dark>") {
			t.Errorf("got %q", got)
		}
		source.err.Store(nil)
		if got := string(<-s.events); !strings.HasPrefix(got, "event: view\n") {
			t.Errorf("got %q", got)
		}
		c.leave(s)
		c.stop()
	})
}

// A token that is revoked counts no more in streams that are open: nothing is sent after that.
func TestRevokedTokensEndStreams(t *testing.T) {
	r := newRig(t, true)
	f := r.follow(r.signIn(), "Sec-Fetch-Site: same-origin")
	other := r.follow("Authorization: Bearer " + oneToken)
	for _, f := range []*following{f, other} {
		if name, _ := f.next(); name != "view" {
			t.Fatal("there is no stream")
		}
	}
	r.counts.Store(false)
	for _, f := range []*following{f, other} {
		for range 2 { // one may have been on its way
			if name, _ := f.next(); name == "" {
				break
			}
		}
		if name, _ := f.next(); name != "" {
			t.Error("a stream goes on with a token that does not count")
		}
	}
}

// When the server stops, streams end at once.
func TestStreamsEndWithTheServer(t *testing.T) {
	r := newRig(t, false)
	f := r.follow()
	f.next()
	stopped := make(chan error)
	go func() { stopped <- r.server.Config.Shutdown(t.Context()) }()
	for name := "view"; name != ""; {
		name, _ = f.next()
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Of 1,000 browsers 100 follow, and the others are told so. The port answers all the while.
func TestAThousandStreams(t *testing.T) {
	const browsers = 1000
	r := newRig(t, false)
	var mu sync.Mutex
	answers := map[int]int{}
	var all sync.WaitGroup
	open := make(chan net.Conn, browsers)
	for range browsers {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.server.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			open <- conn
			status, header := firstLines(t, conn)
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
			if status == http.StatusServiceUnavailable && (header.Get("Retry-After") == "" || header.Get("Content-Type") != "application/problem+json" || header.Get("Connection") != "close") {
				t.Errorf("refused with %v", header)
			}
		})
	}
	all.Wait()
	close(open)
	if answers[http.StatusOK] != MostStreams || answers[http.StatusServiceUnavailable] != browsers-MostStreams {
		t.Errorf("answers by status: %v", answers)
	}
	if a := r.ask(http.MethodGet, "/console/me", ""); a.StatusCode != http.StatusOK {
		t.Errorf("meanwhile the port answers %d", a.StatusCode)
	}
	if streams, refused := r.metric("jeton_console_streams"), r.metric("jeton_console_streams_refused_total"); streams != MostStreams || refused != browsers-MostStreams {
		t.Errorf("%v streams and %v refused are counted", streams, refused)
	}
	for conn := range open {
		conn.Close() //nolint:errcheck // the server sees it
	}
}

// A browser that does not read is left: what waits for it is one event, and its stream ends.
func TestUnreadStreamsEnd(t *testing.T) {
	large := strings.Repeat("x", 4<<20) // more than the buffers in between hold
	r := newRig(t, false)
	r.asked = large
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the server has left
	if status, _ := firstLines(t, conn); status != http.StatusOK {
		t.Fatalf("no stream: %d", status)
	}
	for ctx := t.Context(); ctx.Err() == nil; {
		r.console.collector.mu.Lock()
		left := len(r.console.collector.streams)
		r.console.collector.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
