package gateway

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/client"
)

// ownCluster is a cluster of one, for a test that does something to it. Member says whether it is one, or a node alone.
func ownCluster(t *testing.T, limits string, member bool) (n *node.Node, stop func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "limits.yaml")
	write(t, file, limits)
	cfg := node.Config{
		Data: filepath.Join(t.TempDir(), "data"), Limits: file, Name: "own", Logger: slog.New(slog.DiscardHandler), ListenGRPC: "127.0.0.1:0",
	}
	if member {
		cfg.ListenGossip, cfg.ListenRaft = "127.0.0.1:0", "127.0.0.1:0"
	}
	n, err := node.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := n.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return n, stop
}

// inFront is a gateway in front of a node.
func inFront(t *testing.T, n *node.Node) *rig {
	t.Helper()
	r := open(t, Config{}, fmt.Sprintf(aText, n.GRPCAddr(), anUpstream(t).URL))
	r.heard(t)
	return r
}

// apply puts limits in force, and waits until the gateway has heard of them.
func (r *rig) apply(t *testing.T, n *node.Node, limits string) {
	t.Helper()
	before := r.clusters[0].limits()
	c, err := client.New(client.Config{Server: n.GRPCAddr(), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is asked any more
	if _, err := c.ApplyLimits(t.Context(), client.Apply{Document: limits, Remove: true}); err != nil {
		t.Fatal(err)
	}
	r.until(t, "the gateway has heard of the limits", func() bool { return r.clusters[0].limits() != before })
}

// until waits until something holds.
func (r *rig) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it does not come true that %s", what)
		}
	}
}

// unseen is what /readyz says of a cluster that does not answer within half a second, as on a machine that is busy.
const unseen = "no node can be reached"

// readyz is what /readyz says when nodes answer in time.
func (r *rig) readyz(t *testing.T, query string) (a answer) {
	t.Helper()
	r.until(t, "/readyz sees the nodes", func() bool {
		a = r.readyzNow(t, query)
		return !strings.Contains(a.body, unseen)
	})
	return a
}

// readyzNow is what /readyz says.
func (r *rig) readyzNow(t *testing.T, query string) answer {
	t.Helper()
	return r.get(t, r.AdminAddr(), "/readyz"+query)
}

// TestUnknownLimit: a limit is taken out of the cluster's document by mistake. What its policy said goes on, /readyz and the
// log say what is amiss, and once it is back, that it is.
func TestUnknownLimit(t *testing.T) {
	n, _ := ownCluster(t, "limits: {two: {capacity: 2, refill: 1/h, on_unavailable: allow}}", true)
	r := inFront(t, n)
	r.watchLimits(t.Context())
	if a := r.readyz(t, "?strict"); a.status != http.StatusOK || !strings.HasPrefix(a.body, "ready\n") {
		t.Errorf("at first: %+v", a)
	}
	r.apply(t, n, "limits: {other: {capacity: 2, refill: 1/h}}")
	r.watchLimits(t.Context())
	r.watchLimits(t.Context())
	const missing = `limits: route items: unknown limit "two": the cluster does not have it; jeton limits get shows those that it has`
	if a := r.readyz(t, ""); a.status != http.StatusOK || !strings.HasPrefix(a.body, "degraded: "+missing+"\n") || strings.Count(a.body, missing) != 2 {
		t.Errorf("without the limit: %+v", a)
	}
	if a := r.readyz(t, "?strict"); a.status != http.StatusServiceUnavailable {
		t.Errorf("without the limit, strictly: %+v", a)
	}
	if told := r.log.count("a route does not fit the limits in force"); told != 1 {
		t.Errorf("the log was told %d times", told)
	}
	for range 5 {
		if a := r.get(t, r.ProxyAddr(), "/items"); a.status != http.StatusOK {
			t.Errorf("a request whose limit is gone, and was to let pass: %+v", a)
		}
	}
	r.apply(t, n, "limits: {two: {capacity: 2, refill: 1/h}}")
	r.watchLimits(t.Context())
	if a := r.readyz(t, "?strict"); a.status != http.StatusOK || r.log.count("a problem of a route with the limits in force is over") != 1 {
		t.Errorf("with the limit again: %+v", a)
	}
}

// TestReadyWithoutNodes: a gateway that has heard of the limits stays ready when the cluster goes, and says what it knows.
func TestReadyWithoutNodes(t *testing.T) {
	n, stop := ownCluster(t, twoLimit, true)
	r := inFront(t, n)
	stop()
	a := r.readyzNow(t, "")
	if a.status != http.StatusOK || !strings.HasPrefix(a.body, "degraded: cluster: no node can be reached: ") || !strings.Contains(a.body, n.GRPCAddr()) {
		t.Errorf("without nodes: %+v", a)
	}
	if a := r.readyzNow(t, "?strict"); a.status != http.StatusServiceUnavailable {
		t.Errorf("without nodes, strictly: %+v", a)
	}
}

// TestReadyWithANodeAlone: it has no cluster to tell of, and decides every key.
func TestReadyWithANodeAlone(t *testing.T) {
	n, _ := ownCluster(t, twoLimit, false)
	r := open(t, Config{}, fmt.Sprintf(aText, n.GRPCAddr(), anUpstream(t).URL))
	r.until(t, "the gateway knows the limits", func() bool { r.clusters[0].fetchLimits(t.Context()); return r.clusters[0].limits() != nil })
	if a := r.readyz(t, "?strict"); a.status != http.StatusOK || !strings.HasPrefix(a.body, "ready\ncluster: the node at "+n.GRPCAddr()+" answers\nconfiguration: 2 routes, in force since ") ||
		strings.Count(a.body, "\n") != 3 {
		t.Errorf("/readyz: %+v", a)
	}
}

// TestReadyTellsOfKeys: a key set that cannot be read is told of, and when it was read.
func TestReadyTellsOfKeys(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			http.Error(w, "not now", http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
	}))
	t.Cleanup(issuer.Close)
	document := aDocument(anUpstream(t).URL) + fmt.Sprintf("identity: {jwt: [{algorithms: [EdDSA], jwks_url: %q}]}\n", issuer.URL)
	r := open(t, Config{}, document)
	r.heard(t)
	a := r.readyz(t, "?strict")
	if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "\nkeys: "+issuer.URL+": no keys, so no token of this issuer is valid; fetching them failed ") ||
		!strings.Contains(a.body, "502 Bad Gateway") {
		t.Errorf("without keys: %+v", a)
	}
	broken.Store(false)
	r.until(t, "the keys are read", func() bool {
		return strings.Contains(r.readyz(t, "?strict").body, "\nkeys: "+issuer.URL+": 1 key, read ")
	})
	if a := r.readyz(t, "?strict"); a.status != http.StatusOK {
		t.Errorf("with keys: %+v", a)
	}
}

// TestReadyAtAWrongPort: the addresses of the cluster are those of HTTP.
func TestReadyAtAWrongPort(t *testing.T) {
	other := anUpstream(t)
	r := open(t, Config{Servers: []string{other.Listener.Addr().String()}}, aDocument(other.URL))
	r.until(t, "/readyz says what is wrong", func() bool {
		a := r.readyzNow(t, "")
		return a.status == http.StatusServiceUnavailable && strings.HasPrefix(a.body, "not ready: no node has sent the limits of the cluster yet") &&
			strings.Contains(a.body, "\ncluster: no node can be reached: "+other.Listener.Addr().String()+" speaks HTTP, not gRPC: nodes take checks at --listen-grpc")
	})
}

// TestReadyTellsOfAWrongURL: an upstream speaks HTTP/1.1, and its URL says otherwise. An instance that cannot be spoken to is away; one
// that takes connections is not, and is told of all the same.
func TestReadyTellsOfAWrongURL(t *testing.T) {
	at := anUpstream(t).Listener.Addr().String()
	for scheme, want := range map[string]string{
		"https": "\nupstream api: https://" + at + " is down: it accepts no connections, since ",
		"h2c":   "\nupstream api: h2c://" + at + " speaks HTTP/1.1 without TLS: write http://" + at + "\n",
	} {
		r := open(t, Config{}, aDocument(scheme+"://"+at))
		r.heard(t)
		if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusBadGateway {
			t.Errorf("%s: a request is answered %d", scheme, a.status)
		}
		a := r.readyz(t, "?strict")
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, want) ||
			!strings.Contains(a.body, scheme+"://"+at+" speaks HTTP/1.1 without TLS: write http://"+at) {
			t.Errorf("%s: %+v, want %s", scheme, a, want)
		}
	}
}

// A document without routes is good, and hardly meant: the proxy answers 404 to everything.
func TestReadyWithoutRoutes(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	r := open(t, Config{}, cut(t, good, "routes:"))
	r.heard(t)
	const said = "routes: there is none, so the proxy answers 404 to every request, and no request that forward_auth is asked about is limited"
	a := r.readyz(t, "")
	if a.status != http.StatusOK || !strings.HasPrefix(a.body, "degraded: "+said+"\n") || !strings.Contains(a.body, "\nconfiguration: 0 routes, in force since ") {
		t.Errorf("/readyz says %+v", a)
	}
	if n := r.log.count("level=WARN msg=\"the document has a probable mistake\""); n != 1 || r.log.count("field=routes problem=\"there is none") != 1 {
		t.Errorf("the log has %d warnings:\n%s", n, r.log.text.String())
	}
	write(t, r.path, good)
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	if body := r.readyz(t, "").body; !strings.HasPrefix(body, "ready\n") {
		t.Errorf("with routes, /readyz says %s", body)
	}
}

// A gateway that takes another one's proxy for a node hears an answer, and not that of a node.
func TestReadyAtAnotherGateway(t *testing.T) {
	other := open(t, Config{}, aDocument(anUpstream(t).URL))
	r := open(t, Config{Servers: []string{other.ProxyAddr()}}, aDocument(anUpstream(t).URL))
	r.until(t, "/readyz says what is wrong", func() bool {
		body := r.readyzNow(t, "").body
		if strings.Contains(body, "\ncluster: the node at") {
			t.Fatalf("it takes a gateway for a node:\n%s", body)
		}
		return strings.Contains(body, "\ncluster: no node can be reached: "+other.ProxyAddr()+" is not a jeton node: it answers gRPC with Unimplemented: ")
	})
}

// A node that does not know the gateway answers it, and decides nothing for it.
func TestReadyAtANodeThatRefusesTheGateway(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refuser := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.Unauthenticated, "this node requires TLS")
	}))
	var served sync.WaitGroup
	served.Go(func() { _ = refuser.Serve(l) })
	t.Cleanup(func() {
		refuser.Stop()
		served.Wait()
	})
	r := open(t, Config{Servers: []string{l.Addr().String()}}, aDocument(anUpstream(t).URL))
	r.until(t, "/readyz says what is wrong", func() bool {
		body := r.readyzNow(t, "").body
		if strings.Contains(body, "\ncluster: the node at") {
			t.Fatalf("a node that refuses every call counts as one that decides:\n%s", body)
		}
		return strings.Contains(body, "\ncluster: no node can be reached: "+l.Addr().String()+" refuses this gateway: ") && strings.Contains(body, "requires TLS")
	})
}

// A gateway that has heard of no node for a while says so once, with the addresses and why, before anybody asks.
func TestNoNodeIsSaid(t *testing.T) {
	r := open(t, Config{Servers: []string{"127.0.0.1:1"}}, aDocument(anUpstream(t).URL))
	const line = `level=WARN msg="no node has sent the limits of the cluster yet" servers=[127.0.0.1:1] error="no node can be reached: node at 127.0.0.1:1: `
	for _, step := range []struct {
		after time.Duration
		said  int
	}{{0, 0}, {limitsWithin - 1, 0}, {limitsWithin, 1}, {limitsWithin + time.Second, 1}, {time.Hour, 1}} {
		r.warnWithoutLimits(t.Context(), r.opened.Add(step.after))
		if n := r.log.count(line); n != step.said || r.log.count("level=WARN") != step.said {
			t.Errorf("after %v it is said %d times, want %d:\n%s", step.after, n, step.said, r.log.text.String())
		}
	}
	r = open(t, Config{}, aDocument(anUpstream(t).URL))
	r.heard(t)
	if r.warnWithoutLimits(t.Context(), r.opened.Add(time.Hour)); r.log.count("level=WARN") != 0 {
		t.Errorf("with a cluster it is said that\n%s", r.log.text.String())
	}
}

// An upstream that is frozen accepts connections, and answers nothing.
func TestReadyTellsOfASilentUpstream(t *testing.T) {
	frozen := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(frozen.Close)
	r := open(t, Config{}, strings.Replace(aDocument(frozen.URL), "api: {", "api: {respond_within: 50ms, ", 1))
	r.heard(t)
	for range 5 {
		if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusGatewayTimeout {
			t.Fatalf("a request is answered %d", a.status)
		}
	}
	a := r.readyz(t, "")
	if want := "degraded: upstream api: " + frozen.URL + " is unresponsive, since "; !strings.HasPrefix(a.body, want) || !strings.Contains(a.body, ": the last 5 requests timed out\n") {
		t.Errorf("/readyz says\n%s, want %s", a.body, want)
	}
}
