package gateway_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
)

// A line of callers is a cluster with one bucket of a token a second, whose places are given up and taken again. The tests of owners
// have the real one.
type callers struct {
	begun    time.Time
	taken    map[uint64]bool // by second
	returned chan uint64
}

// Check implements [limit.Checker].
func (c *callers) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	for at := uint64(time.Since(c.begun) / time.Second); ; at++ {
		wait := time.Until(c.begun.Add(time.Duration(at) * time.Second))
		if wait > r.Wait {
			return limit.Decision{Limits: []limit.Outcome{{Name: "queue", Limit: 1, RetryAfter: wait - r.Wait}}}, nil
		}
		if !c.taken[at] {
			c.taken[at] = true
			return limit.Decision{
				Allowed: true, Wait: max(wait, 0), Limits: []limit.Outcome{{Name: "queue", Allowed: true, Limit: 1}},
				Receipts: []limit.Receipt{{Limit: "queue", Serial: at}},
			}, nil
		}
	}
}

// Return implements [limit.Returner].
func (c *callers) Return(_ context.Context, _ string, receipts []limit.Receipt) ([]bool, error) {
	for _, r := range receipts {
		delete(c.taken, r.Serial)
		c.returned <- r.Serial
	}
	return make([]bool, len(receipts)), nil
}

const holding = "identity: {key: [all]}\nroutes: [{name: all, path: /, checks: [{limits: [queue], wait: 3s}]}]\n"

// visitors are the handler of a gateway in front of a line of callers, and what is sent to it.
func visitors(t *testing.T) (*callers, *gateway.Gateway, func(context.Context) (status int, after time.Duration)) {
	t.Helper()
	c := &callers{begun: time.Now(), taken: map[uint64]bool{}, returned: make(chan uint64, 10)}
	doc, err := config.Parse([]byte(holding), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := limit.ParseDocument([]byte("limits: {queue: {capacity: 1, refill: 1/s, wait: 3s}}"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Document: doc, Checker: c, Limits: func() *limit.Document { return stored }})
	if err != nil {
		t.Fatal(err)
	}
	handler := gateway.Middleware(g)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	return c, g, func(ctx context.Context) (int, time.Duration) {
		w, since := httptest.NewRecorder(), time.Now()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://example.com/", nil))
		return w.Code, time.Since(since)
	}
}

// Requests are held until their tokens are there. One that would be held too long is denied at once.
func TestRequestsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, g, visit := visitors(t)
		defer g.Close()
		said := make(chan string, 5)
		for range 5 {
			go func() {
				status, after := visit(t.Context())
				said <- fmt.Sprint(status, " after ", after)
			}()
			synctest.Wait()
		}
		for _, want := range []string{"200 after 0s", "429 after 0s", "200 after 1s", "200 after 2s", "200 after 3s"} {
			if got := <-said; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
}

// Requests begin when their checks may, by limits of every algorithm that lets checks wait.
func TestRequestsOfEveryAlgorithmAreHeld(t *testing.T) {
	const longest = 3 * time.Second
	for _, algorithm := range limit.Spending() {
		synctest.Test(t, func(t *testing.T) {
			queue := limittest.Of(algorithm, "queue", 2, limit.Refill{Tokens: 3, Per: time.Second})
			queue.MaxWait = longest
			stored, err := limit.NewDocument(queue)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := config.Parse([]byte(holding), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			now := func() int64 { return time.Now().UnixNano() }
			g, err := gateway.New(gateway.Config{Document: doc, Checker: conformance.NewModel(stored, now), Limits: func() *limit.Document { return stored }})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			handler := gateway.Middleware(g)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			rule, _ := stored.Rule("queue")
			waits, _ := conformance.Turns(rule, now(), longest)
			came := time.Now()
			answered := make(chan string, len(waits)+1)
			for range cap(answered) {
				go func() {
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com/", nil))
					answered <- fmt.Sprint(w.Code, " after ", time.Since(came))
				}()
				synctest.Wait()
			}
			want := map[string]int{"429 after 0s": 1}
			for _, wait := range waits {
				want[fmt.Sprint("200 after ", wait)]++
			}
			got := map[string]int{}
			for range cap(answered) {
				got[<-answered]++
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", algorithm, got, want)
			}
		})
	}
}

// An operator is told how long a denied request would have waited: as long as the limit allows. A gateway that does not know the limits
// asks without the wait that is too long for them.
func TestDenialsTellOfTheWait(t *testing.T) {
	for _, c := range []struct {
		waits          string
		known, unknown time.Duration
	}{{"wait: 5s", 2 * time.Second, 0}, {"wait: 1s", time.Second, time.Second}, {"cost: 1", 0, 0}} {
		for _, unknown := range []bool{false, true} {
			r := newRig(t, "identity: {key: [all]}\nroutes: [{name: all, path: /, checks: [{limits: [patient], "+c.waits+"}]}]\n")
			r.get("/")
			r.unknown.Store(unknown)
			a := r.ask(request(t, http.MethodGet, "/"))
			record, err := r.gateway.Recall(strings.TrimPrefix(problem(t, a)["instance"].(string), "urn:jeton:denial:"))
			if err != nil {
				t.Fatal(err)
			}
			want := c.known
			if unknown {
				want = c.unknown
			}
			if record.Wait != want {
				t.Errorf("%s, limits unknown %v: a denial tells of a wait of %v, want %v", c.waits, unknown, record.Wait, want)
			}
		}
	}
}

// While half of the requests that may be under way are held, others are denied at once, and the next one is held when there is room.
func TestHeldRequestsLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, g, visit := visitors(t)
		defer g.Close()
		few, err := config.Parse([]byte(holding+"cluster: {max_in_flight: 4, max_in_flight_per_client: 4}\n"), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Load(few); err != nil {
			t.Fatal(err)
		}
		said := make(chan string, 5)
		ask := func() {
			go func() {
				status, after := visit(t.Context())
				said <- fmt.Sprint(status, " after ", after)
			}()
			synctest.Wait()
		}
		for range 4 {
			ask()
		}
		for _, want := range []string{"200 after 0s", "429 after 0s", "200 after 1s"} {
			if got := <-said; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		ask()
		for _, want := range []string{"200 after 2s", "200 after 2s"} {
			if got := <-said; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
}

// When the server stops, a request that is held is answered, and gives its place up. It is no client that has left.
func TestStoppingAnswersWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, g, visit := visitors(t)
		defer g.Close()
		visit(t.Context())
		serving, stop := context.WithCancelCause(t.Context())
		go func() {
			<-time.After(500 * time.Millisecond)
			stop(gateway.ErrStopping)
		}()
		if status, after := visit(serving); status != http.StatusServiceUnavailable || after != 500*time.Millisecond {
			t.Errorf("%d after %v, want 503 as soon as the server stops", status, after)
		}
		synctest.Wait()
		select {
		case <-c.returned:
		default:
			t.Error("the place is not given up")
		}
	})
}

// A client that leaves gives its place up, also after another document has come into force. The next one has it.
func TestWhoLeavesGivesItsPlaceUp(t *testing.T) {
	for _, reload := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, g, visit := visitors(t)
			defer g.Close()
			if status, _ := visit(t.Context()); status != http.StatusOK {
				t.Fatalf("the first one gets %d", status)
			}
			leaving, leave := context.WithCancel(t.Context())
			left := make(chan time.Duration)
			go func() {
				_, after := visit(leaving)
				left <- after
			}()
			<-time.After(500 * time.Millisecond)
			if reload {
				doc, err := config.Parse([]byte(holding+"cluster: {decide_within: 70ms}\n"), t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Load(doc); err != nil {
					t.Fatal(err)
				}
			}
			leave()
			if after := <-left; after != 500*time.Millisecond {
				t.Errorf("who leaves after 500ms is held for %v", after)
			}
			synctest.Wait()
			select {
			case serial := <-c.returned:
				if serial != 1 {
					t.Errorf("the place %d is given up, want 1", serial)
				}
			default:
				t.Error("no place is given up")
			}
			if status, after := visit(t.Context()); status != http.StatusOK || after != 500*time.Millisecond {
				t.Errorf("the next one gets %d after %v, want the place of the one that has left", status, after)
			}
		})
	}
}
