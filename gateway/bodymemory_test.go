package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// bodyMemory are bounds of which a client has room for two long bodies, and all together for five.
const bodyMemory = "max_body: 1048576, max_body_memory: 5242880, max_body_memory_per_client: 2097152, "

// countedOnly is a route to a model whose requests are counted, and not their tokens.
const countedOnly = "routes: [{name: chat, path: /, llm: {api: openai-chat}, checks: [{limits: [requests], key: ['org:a']}]}]\n"

// longBody is a body as long as bodyMemory allows.
func longBody() string {
	const start, end = `{"max_tokens":5,"pad":"`, `"}`
	return start + strings.Repeat("x", 1<<20-len(start)-len(end)) + end
}

// A sender sends the body of one request in pieces.
type sender struct {
	*testing.T
	conn net.Conn
}

// send begins a request of a client, which announces so many bytes and sends some.
func (r *modelRig) send(client string, length int, body string) *sender {
	r.Helper()
	conn, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", strings.TrimPrefix(r.address, "http://"))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = conn.Close() })
	s := &sender{r.T, conn}
	s.more(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n\r\n%s", fakemodel.ChatPath, client, length, body))
	return s
}

func (s *sender) more(text string) {
	s.Helper()
	if _, err := io.WriteString(s.conn, text); err != nil {
		s.Fatal(err)
	}
}

// wants expects an answer of that status. Its body may go on.
func (s *sender) wants(status int) {
	s.Helper()
	line, err := bufio.NewReader(s.conn).ReadString('\n')
	if want := fmt.Sprintf("HTTP/1.1 %d ", status); err != nil || !strings.HasPrefix(line, want) {
		s.Errorf("answered %q, want %q: %v", line, want, err)
	}
}

// wantBodies waits until bodies take so many bytes.
func (r *modelRig) wantBodies(want float64) {
	r.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		got := r.count("jeton_gateway_llm_body_bytes")
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("bodies take %v bytes, want %v", got, want)
		}
	}
}

// TestBodiesStayWithin sends long bodies at once: those of one client take no more than its part, and all together no more than there is.
func TestBodiesStayWithin(t *testing.T) {
	answers := make(chan struct{})
	r := newModelRigWith(t, bodyMemory, "identity: {trusted_proxies: [127.0.0.0/8]}\n"+countedOnly, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if _, err := io.Copy(io.Discard, q.Body); err == nil && q.ContentLength == 1<<20 {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-answers
		}
	}))
	answered := sync.OnceFunc(func() { close(answers) })
	defer answered()
	long, brief := longBody(), "{"+hello+`,"max_tokens":5}`
	hang := func(clients ...string) (senders []*sender) {
		for _, client := range clients {
			senders = append(senders, r.send(client, len(long), long[:len(long)-1]))
		}
		return senders
	}
	refused := func(client string, status int, bound, says string) {
		t.Helper()
		a, err := http.ReadResponse(bufio.NewReader(r.send(client, len(brief), brief).conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if a.StatusCode != status || a.Header.Get("Retry-After") != "1" || !strings.Contains(string(text), says) || !strings.Contains(string(text), `"error"`) {
			t.Errorf("%d %v %s, want %d", a.StatusCode, a.Header, text, status)
		}
		r.wantCount(1, "jeton_gateway_llm_bodies_refused_total", "bound", bound)
	}
	open := hang("192.0.2.1", "192.0.2.1")
	r.wantBodies(2 << 20)
	refused("192.0.2.1", http.StatusTooManyRequests, "client", "this address's requests take too much memory")
	open = append(open, hang("192.0.2.2", "192.0.2.2", "192.0.2.3")...)
	r.wantBodies(5 << 20)
	refused("192.0.2.4", http.StatusServiceUnavailable, "all", "all requests take too much memory")

	// A body that is sent takes no room while its answer goes on.
	for _, s := range open {
		s.more(long[len(long)-1:])
		s.wants(http.StatusOK)
	}
	r.wantBodies(0)
	r.send("192.0.2.1", len(brief), brief).wants(http.StatusOK)
	answered()

	// Neither does that of a client that has left, nor of one that is refused.
	leaving := hang("192.0.2.5", "192.0.2.5")
	r.wantBodies(2 << 20) // or their bodies would take the room of the next one
	for _, s := range leaving {
		_ = s.conn.Close()
	}
	r.wantBodies(0)
	r.send("192.0.2.5", len("{}!"), "{}!").wants(http.StatusBadRequest)
	r.wantBodies(0)
}

// TestAnnouncedBytesTakeNothing: to announce a long body costs a client nothing, and so it takes room only as it arrives.
func TestAnnouncedBytesTakeNothing(t *testing.T) {
	const clients = 50
	r := newModelRigWith(t, bodyMemory, "identity: {trusted_proxies: [127.0.0.0/8]}\n"+countedOnly, answering(usage8))
	for range clients {
		r.send("192.0.2.1", 1<<20, "{")
	}
	r.wantBodies(clients * 8 << 10)
	long := longBody()
	r.send("192.0.2.1", len(long), long).wants(http.StatusOK)
}

// TestSentBodiesAreLetGo: what a client has sent is garbage once the model has it, however long the answer takes.
func TestSentBodiesAreLetGo(t *testing.T) {
	const bodies, size = 10, 6 << 20
	answers := make(chan struct{})
	r := newModelRig(t, countedOnly, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-answers
	}))
	t.Cleanup(func() { close(answers) })
	client := r.client()
	heap := func() (bytes uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range bodies {
		// The gateway adds a field to it, and so changes what it forwards.
		body := io.MultiReader(strings.NewReader(`{"stream":true,"max_tokens":5,"pad":"`), io.LimitReader(letters{}, size), strings.NewReader(`"}`))
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address+fakemodel.ChatPath, body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Do(q)
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", a, err)
		}
		t.Cleanup(func() { _ = a.Body.Close() })
	}
	if after := heap(); after > before+bodies*size/2 {
		t.Errorf("%d bytes are in use after %d bodies of %d were sent, %d before", after, bodies, size, before)
	}
}

// letters are x without an end.
type letters struct{}

// Read implements [io.Reader].
func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
