package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
)

// judgedSegments is how many segments of a path the keys of a mirror hold.
const judgedSegments = 4

// A mirror is a gateway as it is served, whose keys say what its rules have read of each request, before an upstream that
// records the bytes it gets. What was judged and what arrived can be compared.
type mirror struct {
	testing.TB

	gateway  *gateway.Gateway
	server   *httptest.Server
	upstream net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	judged   []string // keys of checks
	received []string // heads of requests, as they came; "beyond: …" for bytes after one
}

func newMirror(tb testing.TB, secure bool) *mirror {
	tb.Helper()
	upstream, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	m := &mirror{TB: tb, upstream: upstream}
	m.serving.Go(m.receive)
	tb.Cleanup(func() {
		_ = upstream.Close()
		m.serving.Wait()
	})
	var document strings.Builder
	fmt.Fprintf(&document, "cluster: {decide_within: 30s}\nexempt: {paths: [/free]}\n"+
		"proxy: {upstreams: {app: {urls: [http://%s], keep_host: true}}, body_pause: 100ms}\nroutes:\n", upstream.Addr())
	path, key := "/", "{method}:{host}"
	for depth := range judgedSegments + 1 {
		fmt.Fprintf(&document, "- {name: d%d, path: %q, checks: [{key: [\"%d:%s\"], limits: [some]}]}\n", depth, path, depth, key)
		path, key = fmt.Sprintf("%s/{s%d}", strings.TrimSuffix(path, "/"), depth), fmt.Sprintf("%s:{path.s%d}", key, depth)
	}
	d, err := config.Parse([]byte(document.String()), tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	m.gateway, err = gateway.New(gateway.Config{Document: d, Checker: m, Limits: func() *limit.Document { return nil }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.gateway.Close)
	m.server = httptest.NewUnstartedServer(m.gateway.Proxy())
	m.server.Config.DisableGeneralOptionsHandler = true
	if secure {
		m.server.EnableHTTP2 = true
		m.server.StartTLS()
	} else {
		m.server.Config.ReadHeaderTimeout = 100 * time.Millisecond // of a header that a client has not ended
		m.server.Start()
	}
	tb.Cleanup(m.server.Close)
	return m
}

// Check implements [limit.Checker]: it records, and lets pass.
func (m *mirror) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.judged = append(m.judged, r.Key)
	return limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: "some", Allowed: true, Limit: 10, Remaining: 9}}}, nil
}

// receive is the upstream: one request for each connection.
func (m *mirror) receive() {
	for {
		c, err := m.upstream.Accept()
		if err != nil {
			return
		}
		m.serving.Go(func() {
			defer c.Close()                                //nolint:errcheck // all is said
			_ = c.SetDeadline(time.Now().Add(time.Minute)) // a gateway that is broken is to fail the test, not to hang
			var raw bytes.Buffer
			in := bufio.NewReader(io.TeeReader(c, &raw))
			if first, err := in.Peek(1); err == nil && first[0] == 22 {
				return // a hello of TLS, by which the gateway finds out what it speaks to after something went wrong
			}
			r, err := http.ReadRequest(in)
			if err != nil {
				m.note("malformed: " + raw.String())
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return // the client has broken its upload off
			}
			head, _, _ := strings.Cut(raw.String(), "\r\n\r\n")
			m.note(head)
			if rest, _ := in.Peek(in.Buffered()); len(rest) > 0 {
				m.note("beyond: " + string(rest))
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		})
	}
}

func (m *mirror) note(head string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received = append(m.received, head)
}

// tell sends bytes to the gateway as they are, and returns all that is answered.
func (m *mirror) tell(text string) string {
	m.Helper()
	c, err := (&net.Dialer{}).DialContext(m.Context(), "tcp", m.server.Listener.Addr().String())
	if err != nil {
		m.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // all is said
	_, _ = io.WriteString(c, text)
	answers, _ := io.ReadAll(c) // ends with an error where not all of the text was read
	return string(answers)
}

// compare fails the test if the upstream has got a request that is not what was judged, and forgets both.
func (m *mirror) compare(sent string) {
	m.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	judged := m.judged
	for _, head := range m.received {
		got, segments, problem := readNaively(head)
		if problem != "" {
			m.Errorf("%q makes the upstream get %q: %s", sent, head, problem)
			continue
		}
		if len(segments) > 0 && segments[0] == "free" {
			continue // exempt
		}
		at := slices.IndexFunc(judged, func(key string) bool { return readKey(m, key) == got })
		if at < 0 {
			m.Errorf("%q makes the upstream get\n%q, which is\n%q to it; judged was\n%q", sent, head, got, m.judged)
			continue
		}
		judged = judged[at+1:]
	}
	m.judged, m.received = nil, nil
}

// readKey is a key of a mirror with its escapes taken out.
func readKey(tb testing.TB, key string) string {
	tb.Helper()
	parts := strings.Split(key, ":")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil {
			tb.Fatalf("%q: %v", key, err)
		}
		parts[i] = plain
	}
	return strings.Join(parts, "\x00")
}

// readNaively is what a simple server makes of a head: the same form as that of readKey.
func readNaively(head string) (key string, segments []string, problem string) {
	lines := strings.Split(head, "\r\n")
	words := strings.Split(lines[0], " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" {
		return "", nil, "the request line has not three words"
	}
	var hosts []string
	for _, line := range lines[1:] {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Host") {
			hosts = append(hosts, strings.TrimSpace(value))
		}
	}
	if len(hosts) != 1 {
		return "", nil, "it has not one host"
	}
	if !strings.HasPrefix(words[1], "/") || strings.HasPrefix(words[1], "//") {
		return "", nil, "its target is no path"
	}
	path, query, _ := strings.Cut(words[1], "?")
	ends := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }
	if strings.ContainsFunc(query, ends) || strings.ContainsFunc(path, func(r rune) bool { return ends(r) || r > 0x7f || r == '\\' }) {
		return "", nil, "its target has bytes that none has"
	}
	for segment := range strings.SplitSeq(path, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "." || plain == ".." || strings.ContainsAny(plain, "/\\\x00") {
			return "", nil, "its path can be read in several ways"
		}
		if plain != "" {
			segments = append(segments, plain)
		}
	}
	shown := segments[:min(len(segments), judgedSegments)]
	host := hosts[0]
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:at]
	}
	parts := append([]string{fmt.Sprint(len(shown)), words[0], host}, shown...)
	for i, part := range parts {
		if len(part) > 128 { // as keys have it
			parts[i] = fmt.Sprintf("sha256-%x", sha256.Sum256([]byte(part)))
		}
	}
	return strings.Join(parts, "\x00"), segments, ""
}

// targets are request-targets of which some servers read something else than others.
var targets = []string{
	"/", "/a/b?x=1", "/a%2Fb", "/a//b", "//a/b", "//victim.example/free/x", "///a", "/free//../a", "/free/%2e%2e/a", "/a;x/b", "/;/a", "/a/b;",
	`/a\b`, "/a%5cb", "/a#/free", "/free#/../a", "/a?b#c", "/%61/%62", "/a%00", "/%c0%ae%c0%ae/a", "/\xff", "/%ff", "/ä", "/%C3%A4", "/a b",
	"/a|b", `/a"b<c>^{d}` + "`", "/a?x=1;y=2&z=%zz", "/a?", "/a??", "/a/./b", "/a/..", "*", "", "a", "?", "#", "/a/b/c/d/e/f", "/a/b/c/d//e",
	"http:http://victim.example/admin/x", "http:/a", "http:a", "http:///a", "http:", "http://", "http://victim.example", "http://victim.example/a",
	"http://h/a", "HTTP://H./a", "https://h/a", "ftp://h/a", "http://user@h/a", "http://h:80:80/a", "http://h@victim.example/a", "http://h/a#b",
	"http://[::1]/a", "http://[::1%25eth0]/a", "javascript:alert(1)", "//h/a", "h:80", "mailto:a@b", "/http://h/a", "/a/http://h/b", "/a%",
}

// hosts are ways to write hosts, some of which are none.
var hosts = []string{
	"h", "H", "h.", "h..", "h:80", "h:80:80", "h:", ":80", "", "h%2e", "limited.example", "LIMITED.example.", "limited.example..", "h/../a",
	"user@h", "h, g", "h g", "[::1]", "[::1]:80", "::1", "[::1%25eth0]", "[::ffff:1.2.3.4]", "127.0.0.1", "127.1", "0x7f.0.0.1", "017.0.0.1",
	"xn--bcher-kva.example", "bücher.example", "a_b", "-a", "h\x00", "h;x", "h#", "h?x", "h\\a", "*", "h:99999", "h:080", "h:0",
}

// What the rules have judged is byte for byte what the upstream gets, whatever a client sends.
func FuzzUpstreamGetsWhatWasJudged(f *testing.F) {
	for _, target := range targets {
		f.Add("GET", target, "h", "")
	}
	for _, host := range hosts {
		f.Add("GET", "/a", host, "")
	}
	for _, more := range []string{
		"Host: other\r\n", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nTrailer: Host\r\n",
		"X-Http-Method-Override: DELETE\r\n", "Upgrade: websocket\r\nConnection: upgrade\r\n", "Upgrade: h2c\r\nConnection: upgrade, host\r\n",
		"Expect: 100-continue\r\nContent-Length: 1\r\n", "X-Forwarded-Host: other\r\nX_Forwarded_Host: other\r\n", "Connection: Host\r\n",
		"\r\nGET /smuggled HTTP/1.1\r\nHost: s\r\n", "Content-Length: 40\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: s\r\n\r\n12345", " folded: x\r\n", "Host : other\r\n",
	} {
		f.Add("GET", "/a", "h", more)
		f.Add("POST", "/a", "h", more)
	}
	f.Add("CONNECT", "h:443", "h:443", "")
	f.Add("CONNECT", "/a", "h", "")
	f.Add("OPTIONS", "*", "h", "")
	f.Add("get", "/a", "h", "")
	f.Add("PRI", "*", "h", "")
	m := newMirror(f, false)
	f.Fuzz(func(t *testing.T, method, target, host, more string) {
		m.TB = t
		sent := method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n"
		m.tell(sent + "GET /end HTTP/1.1\r\nHost: end\r\nConnection: close\r\n\r\n")
		m.compare(sent)
	})
}
