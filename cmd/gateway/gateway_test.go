package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
)

// One gateway process as clients, other proxies and operators meet it.
func TestAGatewayServes(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	r.heard(t)
	if err := r.Ready(); err != nil {
		t.Errorf("the limits are known, and it is not ready: %v", err)
	}
	for _, bucket := range []string{"two/ip:127.0.0.1", "four/k"} { // the node may have served an earlier run
		if a := r.send(t, http.MethodDelete, "http://"+r.AdminAddr()+"/v1/buckets/"+bucket, ""); a.status != http.StatusNoContent {
			t.Fatalf("%s: %+v", bucket, a)
		}
	}
	if a := r.get(t, r.ProxyAddr(), "/open/door"); a.status != http.StatusOK || a.body != "upstream /open/door" {
		t.Errorf("a request without a limit: %+v", a)
	}
	for i := range 3 {
		want := []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests}[i]
		if a := r.get(t, r.ProxyAddr(), "/items"); a.status != want || a.header.Get("RateLimit") == "" {
			t.Errorf("request %d: %+v, want %d and RateLimit", i+1, a, want)
		}
	}
	a := r.get(t, r.ForwardAuthAddr(), "/auth", "X-Forwarded-Method: GET", "X-Forwarded-Host: api", "X-Forwarded-Uri: /items", "X-Forwarded-For: 127.0.0.1")
	if a.status != http.StatusTooManyRequests {
		t.Errorf("the same client through another proxy: %+v, want 429", a)
	}

	var body struct{ Instance string }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimPrefix(body.Instance, "urn:jeton:denial:")
	var record denial.Record
	if a := r.get(t, r.AdminAddr(), "/v1/denials/"+id); a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &record) != nil ||
		record.ID != id || record.Route != "items" || len(record.Limits) != 1 || record.Limits[0].Outcome.Name != "two" {
		t.Errorf("the denial %s: %+v", id, a)
	}
	if a := r.readyz(t, ""); a.status != http.StatusOK ||
		!strings.HasPrefix(a.body, "ready\ncluster: every key can be decided, as reported by test at "+aNode+"\nconfiguration: 2 routes, in force since ") {
		t.Errorf("/readyz: %+v", a)
	}
	if a := r.send(t, http.MethodPost, "http://"+r.AdminAddr()+"/v1/check", `{"key":"k","limits":["four"]}`); a.status != http.StatusOK ||
		!strings.Contains(a.body, `"remaining":3`) {
		t.Errorf("the JSON API: %+v", a)
	}
	if a := r.get(t, r.AdminAddr(), "/v1/buckets/two/ip:127.0.0.1"); a.status != http.StatusOK || !strings.Contains(a.body, `"tokens":0`) {
		t.Errorf("the bucket: %+v", a)
	}
	if a := r.get(t, r.AdminAddr(), "/v1/limits"); a.status != http.StatusOK || !strings.Contains(a.body, `"two"`) {
		t.Errorf("the limits: %+v", a)
	}
	if a := r.send(t, http.MethodPut, "http://"+r.AdminAddr()+"/v1/limits", twoLimit); a.status != http.StatusMethodNotAllowed ||
		!strings.Contains(a.body, "PUT /v1/limits at a node") {
		t.Errorf("changing limits at a gateway: %+v", a)
	}
	for _, name := range []string{"jeton_gateway_config_current 1", "jeton_client_calls_total", "jeton_http_seconds", "go_goroutines"} {
		if a := r.get(t, r.AdminAddr(), "/metrics"); !strings.Contains(a.body, name) {
			t.Errorf("/metrics has no %s:\n%s", name, a.body)
		}
	}
}

// Before the cluster has answered, a gateway lives and says that it is not ready.
func TestNoCluster(t *testing.T) {
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // nobody ever accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() //nolint:errcheck // nothing was written
	address := silent.Addr().String()
	r := open(t, Config{Servers: []string{address}}, aDocument(anUpstream(t).URL))
	for path, want := range map[string]answer{
		"/livez":     {status: http.StatusOK, body: "ok"},
		"/readyz":    {status: http.StatusServiceUnavailable, body: "not ready: no node has sent the limits of the cluster yet: asked [" + address + "]"},
		"/v1/limits": {status: http.StatusServiceUnavailable, body: "no node has sent the limits of the cluster yet"},
	} {
		if a := r.get(t, r.AdminAddr(), path); a.status != want.status || !strings.Contains(a.body, want.body) {
			t.Errorf("%s: %d %s, want %d %s", path, a.status, a.body, want.status, want.body)
		}
	}
	if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusOK {
		t.Errorf("a request without a limit needs no cluster: %+v", a)
	}
}

func TestDenialsThatAreNotHere(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	for id, want := range map[string]struct {
		status int
		says   string
	}{
		"test-1-aaaaaaaaaaaaaaaa":  {http.StatusNotFound, "denial-forgotten"},
		"other-1-aaaaaaaaaaaaaaaa": {http.StatusMisdirectedRequest, "ask other"},
		"nonsense":                 {http.StatusBadRequest, "malformed-id"},
		"a/b":                      {http.StatusNotFound, ""},
	} {
		a := r.get(t, r.AdminAddr(), "/v1/denials/"+id)
		if a.status != want.status || !strings.Contains(a.body, want.says) {
			t.Errorf("%s: %d %s, want %d %s", id, a.status, a.body, want.status, want.says)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing was written
	dir := t.TempDir()
	good := aDocument("http://127.0.0.1:9")
	for _, tt := range []struct {
		name, document string
		cfg            Config
		want           []string
	}{
		{name: "no document", cfg: Config{Path: " "}, want: []string{"no such file"}},
		{name: "no path", want: []string{"config: name the document"}},
		{name: "all problems", document: "admin: {listen: '0.0.0.0:0'}\nroutes: [{name: r, path: x}]\n", want: []string{"admin.token_file", "routes[0].path"}},
		{
			name: "address in use", document: strings.Replace(good, "proxy:\n  listen: 127.0.0.1:0", "proxy:\n  listen: "+taken.Addr().String(), 1),
			want: []string{"proxy.listen: " + taken.Addr().String() + " is in use"},
		},
		{
			name: "the last address in use", document: strings.Replace(good, `admin: {listen: "127.0.0.1:0"}`, fmt.Sprintf("admin: {listen: %q}", taken.Addr()), 1),
			want: []string{"admin.listen: " + taken.Addr().String() + " is in use"},
		},
		{name: "a bad variable", document: strings.Replace(good, "{limits: [two]}", `{limits: [two], key: ["{nope}"]}`, 1), want: []string{"nope"}},
		{
			name: "nobody sees the answers", document: "admin: {listen: '127.0.0.1:0'}\nroutes: [{name: r, path: /, refund: [5xx], checks: [{limits: [two]}]}]\n",
			want: []string{"routes[0].refund: needs the proxy"},
		},
		{name: "half of TLS", document: good, cfg: Config{TLSCert: "x"}, want: []string{"tls-cert, tls-key, tls-ca"}},
		{name: "no TLS files", document: good, cfg: Config{TLSCert: "x", TLSKey: "x", TLSCA: "x"}, want: []string{"tls-cert: open x"}},
		{name: "a bad server", document: good, cfg: Config{Servers: []string{"nonsense"}}, want: []string{"cluster.servers[0]", "nonsense"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			if tt.document != "" {
				cfg.Path = filepath.Join(dir, "gateway.yaml")
				write(t, cfg.Path, tt.document)
			}
			e, err := Open(cfg)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it opens"), e.Close(t.Context())))
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
		})
	}
}

// A listener that breaks is a failure of the gateway, which Run returns.
func TestAListenerFails(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	if err := r.Err(); err != nil {
		t.Errorf("a gateway that serves has failed: %v", err)
	}
	if err := r.proxy.listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Run(ctx, nil); err == nil || !strings.HasPrefix(err.Error(), "proxy on 127.0.0.1:") {
		t.Errorf("Run returns %v", err)
	}
	<-r.Failed()
	if err := r.Err(); err == nil {
		t.Error("Err says nothing")
	}
}

// A node that is alone tells nobody of its limits: it is asked, and asked again.
func TestANodeThatIsAlone(t *testing.T) {
	n, err := node.Open(node.Config{Data: t.TempDir(), ListenGRPC: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	n.SetLimits(known(t, twoLimit))
	r := open(t, Config{Servers: []string{n.GRPCAddr()}}, aDocument(anUpstream(t).URL))
	if err := r.Ready(); err == nil {
		t.Error("it is ready before it has heard of any limit")
	}
	c := r.clusters[0]
	r.until(t, "it is ready once it has heard of the limits", func() bool {
		c.fetchLimits(t.Context())
		return r.Ready() == nil
	})
	first := c.limits()
	if c.fetchLimits(t.Context()); c.limits() != first {
		t.Error("limits that have not changed are others")
	}
	if a := r.get(t, r.ProxyAddr(), "/items"); a.status != http.StatusOK || !strings.Contains(a.header.Get("RateLimit-Policy"), `q=2`) {
		t.Errorf("%+v", a)
	}
	n.SetLimits(known(t, "limits: {two: {capacity: 3, refill: 1/h}}"))
	r.until(t, "it has heard of the change", func() bool {
		c.fetchLimits(t.Context())
		rule, ok := c.limits().Rule("two")
		return ok && rule.Capacity == 3
	})
}

// What docs/gateway.md says of restarts is what a gateway does.
func TestWhatCannotChangeIsDocumented(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	var fields []string
	for _, s := range r.now.Load().settings() {
		fields = append(fields, s.field)
	}
	documented := config.Fixed()
	slices.Sort(fields)
	slices.Sort(documented)
	if !slices.Equal(fields, documented) {
		t.Errorf("a running gateway refuses to change\n%v, and it is documented of\n%v", fields, documented)
	}
}
