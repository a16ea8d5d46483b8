package extauthz_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/doors/extauthz"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// storedLimits are in force in every rig.
const storedLimits = `limits:
  two: {capacity: 2, refill: 1/m}
  five: {capacity: 5, refill: 1/h}
  ten: {capacity: 10, refill: 1/s}
  hundred: {capacity: 100, refill: 1/s}
  strict: {capacity: 1000, refill: 1/s, on_unavailable: deny}
`

// A rig is a gateway on a model of the cluster, at a time of its own.
type rig struct {
	*testing.T
	gateway *gateway.Gateway
	model   *conformance.Model
	nanos   atomic.Int64
	down    atomic.Bool // every check fails

	returned chan struct{} // a value for each return
}

// newRig makes a gateway by a document, which may name the files secret and tokens.
func newRig(t *testing.T, document string) *rig {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "a secret of all the gateways", "tokens": "an-internal-token-of-ours"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := config.Parse([]byte(document), dir)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := limit.ParseDocument([]byte(storedLimits))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, returned: make(chan struct{}, 1000)}
	r.nanos.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	r.model = conformance.NewModel(limits, r.nanos.Load)
	r.gateway, err = gateway.New(gateway.Config{
		Document: d, Checker: r, Limits: func() *limit.Document { return limits }, Now: func() time.Time { return time.Unix(0, r.nanos.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.gateway.Close)
	return r
}

// Check implements [limit.Checker].
func (r *rig) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	if r.down.Load() {
		return limit.Decision{}, limit.ErrUnavailable
	}
	d, err := r.model.Check(ctx, q)
	d.Node = "node-1:7700"
	return d, err
}

// Return implements [limit.Returner].
func (r *rig) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	back, err := r.model.Return(ctx, key, receipts)
	r.returned <- struct{}{}
	return back, err
}

// remaining looks how many tokens of a limit a key has left.
func (r *rig) remaining(key, name string) int64 {
	r.Helper()
	in, err := r.model.Inspect(r.Context(), key, limit.Named(name), "")
	if err != nil {
		r.Fatal(err)
	}
	return in.Tokens
}

// client serves the door in front of the rig's gateway, and is a client of it.
func (r *rig) client() authv3.AuthorizationClient {
	r.Helper()
	return serve(r.T, extauthz.Config{Handler: r.gateway.ForwardAuth()})
}

// serve serves a door on 127.0.0.1 and connects to it.
func serve(t *testing.T, cfg extauthz.Config) authv3.AuthorizationClient {
	t.Helper()
	d, err := extauthz.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(transport.NewCodec()), grpc.MaxRecvMsgSize(transport.MaxMessage))
	d.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(at) }()
	conn, err := grpc.NewClient(at.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return authv3.NewAuthorizationClient(conn)
}

// ask makes a CheckRequest as Envoy does for a request "METHOD path" to www.example.com from 198.51.100.1, with headers "Name: value", in
// header_map. "From: address" is another client, "Host: name" another host.
func ask(request string, headers ...string) *authv3.CheckRequest {
	method, path, _ := strings.Cut(request, " ")
	h := &authv3.AttributeContext_HttpRequest{
		Id: "1", Method: method, Path: path, Host: "www.example.com", Scheme: "https", Protocol: "HTTP/2", HeaderMap: &corev3.HeaderMap{},
	}
	from := "198.51.100.1"
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "From":
			from = value
		case "Host":
			h.Host = value
		default:
			h.HeaderMap.Headers = append(h.HeaderMap.Headers, &corev3.HeaderValue{Key: strings.ToLower(name), RawValue: []byte(value)})
		}
	}
	for name, value := range map[string]string{":method": h.GetMethod(), ":path": h.GetPath(), ":authority": h.GetHost(), ":scheme": h.GetScheme()} {
		h.HeaderMap.Headers = append(h.HeaderMap.Headers, &corev3.HeaderValue{Key: name, RawValue: []byte(value)})
	}
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Source: &authv3.AttributeContext_Peer{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
			SocketAddress: &corev3.SocketAddress{Address: from, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 4711}},
		}}},
		Request: &authv3.AttributeContext_Request{Http: h},
	}}
}

// merged is r as Envoy sends it without encode_raw_headers: in headers, lines with the same name merged by a comma.
func merged(r *authv3.CheckRequest) *authv3.CheckRequest {
	h := r.GetAttributes().GetRequest().GetHttp()
	h.Headers = map[string]string{}
	for _, v := range h.GetHeaderMap().GetHeaders() {
		if before, there := h.Headers[v.GetKey()]; there {
			h.Headers[v.GetKey()] = before + "," + string(v.GetRawValue())
		} else {
			h.Headers[v.GetKey()] = string(v.GetRawValue())
		}
	}
	h.HeaderMap = nil
	return r
}

// An answer is what Envoy makes of a CheckResponse.
type answer struct {
	status int         // 200 for a request that passes
	header http.Header // that the client gets
	body   string
	remove []string // headers that the upstream does not get
}

// read reads a CheckResponse as Envoy does.
func read(t *testing.T, r *authv3.CheckResponse) answer {
	t.Helper()
	a := answer{status: http.StatusOK, header: http.Header{}}
	options := r.GetOkResponse().GetResponseHeadersToAdd()
	if r.GetOkResponse() == nil {
		d := r.GetDeniedResponse()
		a.status, a.body, options = int(d.GetStatus().GetCode()), d.GetBody(), d.GetHeaders()
	}
	if passes := r.GetStatus().GetCode() == 0; passes != (a.status == http.StatusOK) {
		t.Errorf("the status says %v and the answer %d", r.GetStatus(), a.status)
	}
	if n := len(r.GetOkResponse().GetHeaders()); n != 0 {
		t.Errorf("%d headers go to the upstream", n)
	}
	a.remove = r.GetOkResponse().GetHeadersToRemove()
	for _, o := range options {
		adds := o.GetAppendAction() == corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		if old := o.GetAppend(); old == nil || old.GetValue() != adds { //nolint:staticcheck // Envoy reads it
			t.Errorf("append and append_action contradict each other: %v", o)
		}
		if adds {
			a.header.Add(o.GetHeader().GetKey(), o.GetHeader().GetValue())
		} else {
			a.header.Set(o.GetHeader().GetKey(), o.GetHeader().GetValue())
		}
	}
	return a
}

// asks makes a request and reads the answer.
func asks(t *testing.T, c authv3.AuthorizationClient, r *authv3.CheckRequest) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without a deadline it is the door's, which a slow machine may miss
	defer cancel()
	w, err := c.Check(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, w)
}

// wants fails the test unless the next answers to the same request have these statuses.
func wants(t *testing.T, c authv3.AuthorizationClient, r *authv3.CheckRequest, statuses ...int) {
	t.Helper()
	for i, want := range statuses {
		if a := asks(t, c, r); a.status != want {
			t.Errorf("%v, request %d: %d, want %d: %s", r.GetAttributes().GetRequest().GetHttp(), i+1, a.status, want, a.body)
		}
	}
}

// handlerFunc is a forward-auth handler of a test, with a registry of metrics.
func handlerFunc(f http.HandlerFunc) extauthz.Config {
	return extauthz.Config{Handler: f, Registerer: prometheus.NewRegistry()}
}

// oneRoute is a document with one route, which has these checks.
func oneRoute(checks string) string {
	return fmt.Sprintf("forward_auth: {}\nroutes: [{name: all, path: /, checks: [%s]}]\n", checks)
}
