package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/jeton-dev/jeton/gateway/config"
)

// proxied is a rig whose proxy is served, in front of upstreams; text comes after its routes.
func proxied(t *testing.T, routes, more string, upstreams ...string) (*rig, *httptest.Server) {
	t.Helper()
	r := newRig(t, fmt.Sprintf("proxy: {upstreams: {app: {urls: [%s], respond_within: 30s}}, max_body: 1000}\nroutes:\n%s\n%s",
		strings.Join(upstreams, ","), routes, more))
	s := httptest.NewServer(r.gateway.Proxy())
	t.Cleanup(s.Close)
	return r, s
}

// upstream is a server that is closed with the test.
func upstream(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// fetch asks a server, with headers "Name: value", and reads the answer's body.
func fetch(t *testing.T, method, url, body string, headers ...string) (answer, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		q.Header.Add(name, value)
		if name == "Host" {
			q.Host = value
		}
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	a, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{a.StatusCode, a.Status, a.Header, text}, string(text)
}

// echo answers with the request that it got, as JSON.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-From", "upstream")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "host": r.Host, "uri": r.RequestURI, "header": r.Header, "body": string(body),
	})
}

type echoed struct {
	Method, Host, URI, Body string
	Header                  http.Header
}

func readEcho(t *testing.T, text string) (e echoed) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return e
}

func TestProxyPassesOn(t *testing.T) {
	_, s := proxied(t, "- {name: all, path: /, checks: [{limits: [ten]}]}", "", upstream(t, echo))
	a, text := fetch(t, http.MethodPost, s.URL+"/v1/items?x=1&y=%2F", "hello", "X-Forwarded-For: 1.2.3.4", "Forwarded: for=1.2.3.4",
		"X-Real-Ip: 1.2.3.4", "X-Forwarded-Host: evil", "Connection: X-Hop", "X-Hop: mine", "X-Jeton-Denial: x", "Host: api.example.com",
		"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	e := readEcho(t, text)
	if a.StatusCode != http.StatusOK || e.Method != http.MethodPost || e.URI != "/v1/items?x=1&y=%2F" || e.Body != "hello" {
		t.Errorf("%s, %+v", a.Status, e)
	}
	if a.Header.Get("RateLimit-Policy") == "" || a.Header.Get("RateLimit") == "" || a.Header.Get("X-From") != "upstream" {
		t.Errorf("the answer's header: %v", a.Header)
	}
	for name, want := range map[string]string{
		"X-Forwarded-For": "127.0.0.1", "Forwarded": "", "X-Real-Ip": "", "X-Forwarded-Host": "api.example.com", "X-Forwarded-Proto": "http",
		"X-Hop": "", "X-Jeton-Denial": "", "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		if got := strings.Join(e.Header[name], "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// What an upstream says of limits of its own stands beside what the gateway says, where there is room for both.
func TestProxyTellsOfBothLimits(t *testing.T) {
	_, s := proxied(t, "- {name: all, path: /, checks: [{limits: [ten]}]}", "answer: {headers: [ratelimit, x-ratelimit]}",
		upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("RateLimit", `"theirs";r=5;t=1`)
			w.Header().Set("X-RateLimit-Limit", "77")
			w.Header().Set("RateLimit-Limit", "88")
		}))
	a, _ := fetch(t, http.MethodGet, s.URL, "")
	if got := a.Header["Ratelimit"]; len(got) != 2 {
		t.Errorf("RateLimit %q", got)
	}
	if got := a.Header["X-Ratelimit-Limit"]; len(got) != 1 || got[0] != "10" {
		t.Errorf("X-RateLimit-Limit %q", got)
	}
	if got := a.Header.Get("RateLimit-Limit"); got != "88" {
		t.Errorf("RateLimit-Limit %q", got)
	}
}

// What a trusted proxy says of the client goes on, with the proxy's address behind it.
func TestProxyBehindAProxy(t *testing.T) {
	r, s := proxied(t, "- {name: all, path: /, checks: [{limits: [two]}]}", "identity: {trusted_proxies: [127.0.0.1]}", upstream(t, echo))
	from := func(address string) (int, echoed) {
		a, text := fetch(t, http.MethodGet, s.URL, "", "X-Forwarded-For: "+address, "X-Forwarded-Proto: https", "X-Forwarded-Host: www.example.com")
		if a.StatusCode != http.StatusOK {
			return a.StatusCode, echoed{}
		}
		return a.StatusCode, readEcho(t, text)
	}
	_, e := from("198.51.100.1")
	if got := e.Header["X-Forwarded-For"]; len(got) != 1 || got[0] != "198.51.100.1, 127.0.0.1" {
		t.Errorf("X-Forwarded-For %q", got)
	}
	if e.Header.Get("X-Forwarded-Proto") != "https" || e.Header.Get("X-Forwarded-Host") != "www.example.com" {
		t.Errorf("%v", e.Header)
	}
	if status, _ := from("6.6.6.6, 198.51.100.1"); status != 200 {
		t.Error(status)
	}
	if status, _ := from("7.7.7.7, 198.51.100.1"); status != 429 {
		t.Errorf("a forged address goes around the limit: %d", status)
	}
	if got := r.remaining("ip:198.51.100.1", "two"); got != 0 {
		t.Errorf("%d left", got)
	}
}

// API keys and internal tokens are for the gateway, not for the upstream.
func TestProxyKeepsSecrets(t *testing.T) {
	r, s := proxied(t, "- {name: all, path: /}", "", upstream(t, echo))
	d := r.parse(fmt.Sprintf("proxy: {upstreams: {app: {urls: [%s]}}}\nroutes:\n- {name: all, path: /, checks: [{limits: [ten]}]}", upstream(t, echo)))
	d.Identity.APIKey = &config.APIKey{Query: "api_key", Header: "X-Api-Key", SecretFile: config.FileOf([]byte("a secret of the gateways")), Any: true}
	d.Identity.Key = []string{"key:{api_key}", "ip:{ip}"}
	d.Exempt.TokenFile = config.FileOf([]byte("an-internal-token"))
	if err := r.gateway.Load(d); err != nil {
		t.Fatal(err)
	}
	_, text := fetch(t, http.MethodGet, s.URL+"/a?api_key=hush-hush&b=1", "", "X-Api-Key: hush-hush", "X-Internal-Token: nobody-knows-this")
	if strings.Contains(text, "hush") || strings.Contains(text, "nobody-knows") {
		t.Errorf("the upstream gets secrets: %s", text)
	}
	if e := readEcho(t, text); e.URI != "/a?b=1" {
		t.Errorf("it asked for %s", e.URI)
	}
	fetch(t, http.MethodGet, s.URL+"/a", "", "X-Internal-Token: an-internal-token")
	if strings.Contains(r.logs.String(), "hush") || strings.Contains(r.logs.String(), "an-internal") {
		t.Errorf("the log has secrets: %s", r.logs)
	}
}

func TestProxyRefuses(t *testing.T) {
	gone := newDead(t)
	r, s := proxied(t, "- {name: known, path: /known, checks: [{limits: [ten]}]}", "", gone.url())
	for what, c := range map[string]struct {
		path, body, kind string
		status           int
	}{
		"no route":         {"/other", "", "urn:jeton:problem:not-found", 404},
		"nobody behind it": {"/known", "", "urn:jeton:problem:bad-gateway", 502},
		"a long body":      {"/known", strings.Repeat("x", 1001), "the body of the request has more than 1000 bytes, the most that this gateway takes: proxy.max_body", 413},
	} {
		t.Run(what, func(t *testing.T) {
			a, text := fetch(t, http.MethodPost, s.URL+c.path, c.body)
			if a.StatusCode != c.status || !strings.Contains(text, c.kind) {
				t.Errorf("%s: %s", a.Status, text)
			}
		})
	}
	r.returns("done", 1) // of the request that nobody was behind
	if got := r.remaining("ip:127.0.0.1", "ten"); got != 10 {
		t.Errorf("%d of 10 remain: a body that is too long was charged", got)
	}
	t.Run("a long body of unknown length", func(t *testing.T) {
		_, s := proxied(t, "- {name: all, path: /}", "", upstream(t, echo))
		body, write := io.Pipe()
		go func() {
			_, err := io.WriteString(write, strings.Repeat("x", 5000))
			write.CloseWithError(err)
		}()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		a, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		_ = body.Close()
		text, _ := io.ReadAll(a.Body)
		if a.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "more than 1000 bytes, the most that this gateway takes: proxy.max_body") {
			t.Errorf("%s: %s", a.Status, text)
		}
	})
}

// Of several instances, one that cannot be reached costs no request.
func TestProxyGoesToTheNextInstance(t *testing.T) {
	gone := newDead(t)
	_, s := proxied(t, "- {name: all, path: /}", "", gone.url(), upstream(t, echo))
	for range 6 {
		if a, _ := fetch(t, http.MethodGet, s.URL, ""); a.StatusCode != http.StatusOK {
			t.Error(a.Status)
		}
	}
}

func TestProxyStreams(t *testing.T) {
	more := make(chan struct{})
	_, s := proxied(t, "- {name: all, path: /, checks: [{limits: [two]}]}", "", upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-more
		}
	}))
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	for i := range 3 { // each event comes before the next one is made
		if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", i) {
			t.Fatalf("event %d: %q", i, lines.Text())
		}
		lines.Scan()
		more <- struct{}{}
	}
}

func TestProxyWebSocket(t *testing.T) {
	r, s := proxied(t, "- {name: all, path: /, checks: [{limits: [two]}]}", "", upstream(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		kind, text, err := c.Read(r.Context())
		if err == nil {
			err = c.Write(r.Context(), kind, append([]byte("you said "), text...))
		}
		if err == nil {
			_ = c.Close(websocket.StatusNormalClosure, "")
		}
	}))
	url := "ws" + strings.TrimPrefix(s.URL, "http")
	for range 2 {
		c, _, err := websocket.Dial(t.Context(), url, nil) //nolint:bodyclose // the connection is what it holds
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, text, err := c.Read(t.Context()); err != nil || string(text) != "you said hello" {
			t.Errorf("%q, %v", text, err)
		}
		_ = c.CloseNow()
	}
	if _, a, err := websocket.Dial(t.Context(), url, nil); err == nil || a.StatusCode != http.StatusTooManyRequests { //nolint:bodyclose // it has been read
		t.Errorf("the third one: %v", err)
	}
	if got := r.remaining("ip:127.0.0.1", "two"); got != 0 {
		t.Errorf("%d left", got)
	}
}

// A request that two servers could read differently is not passed on in any form.
func TestProxyIsNoSmuggler(t *testing.T) {
	var mu sync.Mutex
	var got []string
	_, s := proxied(t, "- {name: all, path: /}", "", upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Method+" "+r.RequestURI+" "+string(body))
	}))
	for what, text := range map[string]string{
		"both lengths":          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
		"two lengths":           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"a length with a sign":  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello",
		"a space before :":      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"an unknown encoding":   "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"two encodings":         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"two hosts":             "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"no host":               "GET / HTTP/1.1\r\n\r\n",
		"a folded header":       "GET / HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n",
		"a bare line feed":      "GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
		"a chunk size too long": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000001\r\n\r\n",
	} {
		t.Run(what, func(t *testing.T) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			stop := context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			defer stop()
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			answers, _ := io.ReadAll(conn)
			if strings.Count(string(answers), "HTTP/1.1 200") > 1 {
				t.Errorf("two requests were answered:\n%s", answers)
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	for _, one := range got {
		if strings.Contains(one, "smuggled") {
			t.Errorf("the upstream got %q", one)
		}
	}
}
