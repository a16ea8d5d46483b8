package gateway_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/gateway"
)

// A caller is a service of gRPC behind the proxy, and a client in front of it.
type caller struct {
	*rig
	health healthpb.HealthClient
	conn   *grpc.ClientConn
	left   chan struct{} // gets something when the service notices that a client has left a stream
}

// talker is a service of gRPC with one call, /test.Talk/Talk, that answers each message until its client says no more.
func (c *caller) talker() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "test.Talk", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Talk", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			_ = s.SetHeader(metadata.Pairs("said-first", "hello"))
			s.SetTrailer(metadata.Pairs("said-last", "goodbye"))
			for {
				var m healthpb.HealthCheckRequest
				switch err := s.RecvMsg(&m); {
				case errors.Is(err, io.EOF):
					return status.Error(codes.OutOfRange, "no more: 100 %, ü")
				case err != nil:
					c.left <- struct{}{}
					return err
				}
				if err := s.SendMsg(&healthpb.HealthCheckRequest{Service: "you said " + m.GetService()}); err != nil {
					return err
				}
			}
		}}},
	}
}

// checker answers health checks: of "wait" at the deadline, which is NOT_SERVING without one; of "stuck" at its own end; of
// "wrong" that nobody is known.
type checker struct {
	healthpb.UnimplementedHealthServer
	end chan struct{}
}

// Check implements the service.
func (s checker) Check(ctx context.Context, q *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	switch q.GetService() {
	case "wait":
		if _, ok := ctx.Deadline(); !ok {
			return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	case "stuck":
		<-s.end
	case "wrong":
		return nil, status.Error(codes.Unauthenticated, "a wrong password")
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// newCaller puts a proxy with these routes in front of a service. The client speaks h2c, or TLS.
func newCaller(t *testing.T, secure bool, routes string) *caller {
	t.Helper()
	c := &caller{}
	address := c.start(t)
	c.serve(t, secure, fmt.Sprintf("proxy: {upstreams: {app: {urls: [h2c://%s]}}}\nroutes:\n%s", address, routes))
	return c
}

// start starts the service and returns its address.
func (c *caller) start(t *testing.T, options ...grpc.ServerOption) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.left = make(chan struct{}, 10)
	service := grpc.NewServer(options...)
	end := make(chan struct{})
	healthpb.RegisterHealthServer(service, checker{end: end})
	service.RegisterService(c.talker(), nil)
	done := make(chan error, 1)
	go func() { done <- service.Serve(l) }()
	t.Cleanup(func() {
		close(end)
		service.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// serve puts a proxy in front, with this document.
func (c *caller) serve(t *testing.T, secure bool, document string) {
	t.Helper()
	c.rig = newRig(t, document)
	s := httptest.NewUnstartedServer(c.gateway.Proxy())
	with := insecure.NewCredentials()
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		with = credentials.NewTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	} else {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	t.Cleanup(s.Close)
	conn, err := grpc.NewClient(s.Listener.Addr().String(), grpc.WithTransportCredentials(with), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c.conn, c.health = conn, healthpb.NewHealthClient(conn)
}

func (c *caller) check(ctx context.Context, what string, options ...grpc.CallOption) error {
	_, err := c.health.Check(ctx, &healthpb.HealthCheckRequest{Service: what}, options...)
	return err
}

// talk opens the stream.
func (c *caller) talk(ctx context.Context) grpc.ClientStream {
	c.Helper()
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Talk/Talk")
	if err != nil {
		c.Fatal(err)
	}
	return s
}

// say sends a message and waits for the answer to it.
func (c *caller) say(s grpc.ClientStream, text string) {
	c.Helper()
	if err := s.SendMsg(&healthpb.HealthCheckRequest{Service: text}); err != nil {
		c.Fatal(err)
	}
	var m healthpb.HealthCheckRequest
	if err := s.RecvMsg(&m); err != nil || m.GetService() != "you said "+text {
		c.Fatalf("%q, %v", m.GetService(), err)
	}
}

const everyCall = "- {name: all, path: /, checks: [{limits: [sixty]}]}"

// Calls and streams go through the proxy both ways, with what is said before them and after them.
func TestCalls(t *testing.T) {
	for what, secure := range map[string]bool{"h2c": false, "TLS": true} {
		t.Run(what, func(t *testing.T) {
			c := newCaller(t, secure, everyCall)
			var header metadata.MD
			if err := c.check(t.Context(), "", grpc.Header(&header)); err != nil || len(header.Get("ratelimit")) != 1 {
				t.Errorf("%v, header %v", err, header)
			}
			s := c.talk(t.Context())
			for i := range 3 { // each is answered before the next one is sent
				c.say(s, fmt.Sprint(i))
			}
			if err := s.CloseSend(); err != nil {
				t.Fatal(err)
			}
			var m healthpb.HealthCheckRequest
			err := s.RecvMsg(&m)
			if got := status.Convert(err); got.Code() != codes.OutOfRange || got.Message() != "no more: 100 %, ü" {
				t.Errorf("the stream ends with %v", err)
			}
			header, _ = s.Header()
			if got := fmt.Sprint(header.Get("said-first"), s.Trailer().Get("said-last")); got != "[hello] [goodbye]" {
				t.Errorf("said: %s", got)
			}
			if err := c.check(t.Context(), "wrong"); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "a wrong password") {
				t.Errorf("an error of the service: %v", err)
			}
			if _, err := c.health.Watch(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A call that is denied ends with a status of gRPC, and says when to come back.
func TestCallsAreDenied(t *testing.T) {
	c := newCaller(t, false, "- {name: all, path: /, checks: [{limits: [two]}], answer: {status: 503, body: busy}}")
	for range 2 {
		if err := c.check(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	var trailer metadata.MD
	err := c.check(t.Context(), "", grpc.Trailer(&trailer))
	if got := status.Convert(err); got.Code() != codes.ResourceExhausted || !strings.HasPrefix(got.Message(), "too many requests: the limit two is exhausted; try again in ") {
		t.Errorf("the third one: %v", err)
	}
	for name, want := range map[string]string{"grpc-retry-pushback-ms": "60000", "retry-after": "60", "ratelimit": `"two";r=0;t=60`} {
		if got := trailer.Get(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	s := c.talk(t.Context())
	var m healthpb.HealthCheckRequest
	if err := s.RecvMsg(&m); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a stream: %v", err)
	}
	if got := c.count("jeton_gateway_requests_total", "route", "all", "outcome", "denied"); got != 2 {
		t.Errorf("%v are counted as denied", got)
	}
}

// Who makes no call of gRPC is answered as ever; so is a proxy that asks, to which 200 would be a yes.
func TestNoCallIsAnsweredAsOne(t *testing.T) {
	r := newRig(t, "forward_auth: {trusted: [192.0.2.1]}\nroutes: [{name: all, path: /, checks: [{limits: [strict]}]}]")
	r.wants("/", nil, 204)
	for what, c := range map[string]struct {
		major          int
		method, type_  string
		wants, inquiry int
	}{
		"a call":             {2, http.MethodPost, "application/grpc+proto", 200, 429},
		"of HTTP/1":          {1, http.MethodPost, "application/grpc", 429, 429},
		"a GET":              {2, http.MethodGet, "application/grpc", 429, 429},
		"gRPC-Web":           {2, http.MethodPost, "application/grpc-web+proto", 429, 429},
		"something else":     {2, http.MethodPost, "application/json", 429, 429},
		"nothing is said":    {2, http.MethodPost, "", 429, 429},
		"with a parameter":   {2, http.MethodPost, "application/grpc;charset=x", 200, 429},
		"what begins alike":  {2, http.MethodPost, "application/grpcs", 429, 429},
		"of a method of its": {2, "PUT", "application/grpc", 429, 429},
	} {
		q := request(t, c.method, "/", "Content-Type: "+c.type_)
		q.ProtoMajor = c.major
		if a := r.ask(q); a.StatusCode != c.wants || (a.Header.Get("Grpc-Status") == "8") != (c.wants == 200) {
			t.Errorf("%s: %s, %v", what, a.Status, a.Header)
		}
		for _, path := range []string{"/auth", "/nothing", "/denied/nothing"} {
			q := request(t, c.method, path, "Content-Type: "+c.type_, "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Uri: /", "X-Forwarded-Method: "+c.method)
			q.ProtoMajor = c.major
			w := httptest.NewRecorder()
			r.gateway.ForwardAuth().ServeHTTP(w, q)
			if w.Code < 400 || path == "/auth" && w.Code != c.inquiry {
				t.Errorf("%s, a proxy asks %s: %d", what, path, w.Code)
			}
		}
	}
}

// What the gateway answers for a service that does not is a status of gRPC too.
func TestCallsWithoutCredentials(t *testing.T) {
	gone := newDead(t)
	c := &caller{}
	c.serve(t, false, "proxy: {upstreams: {app: {urls: [h2c://"+gone.address+"]}}}\nroutes: [{name: all, path: /grpc.health.v1.Health, checks: [{limits: [ten]}]}]")
	if err := c.check(t.Context(), ""); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("nobody is there: %v", err)
	}
	c.returns("done", 1)
	s := c.talk(t.Context())
	var m healthpb.HealthCheckRequest
	if err := s.RecvMsg(&m); status.Code(err) != codes.Unimplemented {
		t.Errorf("no route: %v", err)
	}
}

// The service is told how long the client waits, and when it leaves.
func TestCallsEnd(t *testing.T) {
	c := newCaller(t, false, everyCall)
	for _, what := range []string{"wait", "stuck"} {
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := c.check(short, what)
		cancel()
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: %v\n%s", what, err, c.logs)
		}
	}
	for deadline := time.Now().Add(time.Minute); c.count("jeton_gateway_requests_in_flight") != 0; {
		if time.Now().After(deadline) {
			t.Fatal("a call whose time is over holds a place")
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	s := c.talk(ctx)
	c.say(s, "something")
	leave()
	<-c.left
}

// What a call ended with says whether it costs, as the status of HTTP that stands for it.
func TestCallsCharge(t *testing.T) {
	c := newCaller(t, false, `
- {name: login, path: /grpc.health.v1.Health, charge_when: [401], checks: [{limits: [five]}]}
- {name: talk, path: /test.Talk, refund: [4xx], checks: [{limits: [two]}]}
`)
	for i := range 5 {
		if err := c.check(t.Context(), "right"); err != nil {
			t.Fatal(err)
		}
		c.returns("done", float64(i+1))
	}
	for i := range 6 {
		want := codes.Unauthenticated
		if i == 5 {
			want = codes.ResourceExhausted
		}
		if err := c.check(t.Context(), "wrong"); status.Code(err) != want {
			t.Errorf("wrong password %d: %v, want %v", i+1, err, want)
		}
	}
	s := c.talk(t.Context())
	c.say(s, "hello")
	if got := c.remaining("ip:127.0.0.1", "two"); got != 1 {
		t.Errorf("%d of two remain during a stream", got)
	}
	_ = s.CloseSend()
	var m healthpb.HealthCheckRequest
	if err := s.RecvMsg(&m); status.Code(err) != codes.OutOfRange { // which is 400
		t.Error(err)
	}
	c.returns("done", 6)
	if got := c.remaining("ip:127.0.0.1", "two"); got != 2 {
		t.Errorf("%d of two remain after it", got)
	}
}

// The interceptors know what their handlers return.
func TestInterceptorsCharge(t *testing.T) {
	r := newRig(t, "routes: [{name: all, path: /, charge_when: [401], checks: [{key: ['host:{host}'], limits: [ten]}]}]")
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(":authority", "h"))
	unary := func(handler grpc.UnaryHandler) error {
		_, err := gateway.UnaryInterceptor(r.gateway)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, handler)
		return err
	}
	stream := func(handler grpc.UnaryHandler) error {
		return gateway.StreamInterceptor(r.gateway)(nil, aStream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/a/b"},
			func(_ any, s grpc.ServerStream) error {
				_, err := handler(s.Context(), nil)
				return err
			})
	}
	left, back := int64(10), 0.0
	for _, c := range []struct {
		err           error
		panics, costs bool
	}{
		{nil, false, false},
		{status.Error(codes.Unauthenticated, "no"), false, true},
		{errors.New("a bug"), false, false},
		{nil, true, false},
	} {
		for _, ask := range []func(grpc.UnaryHandler) error{unary, stream} {
			func() {
				defer func() {
					if (recover() != nil) != c.panics {
						t.Errorf("%v: it panics: %v", c.err, !c.panics)
					}
				}()
				err := ask(func(context.Context, any) (any, error) {
					if c.panics {
						panic("a bug")
					}
					return nil, c.err
				})
				if !errors.Is(err, c.err) {
					t.Errorf("%v, want %v", err, c.err)
				}
			}()
			if c.costs {
				left--
			} else {
				back++
			}
			r.returns("done", back)
			if got := r.remaining("host:h", "ten"); got != left {
				t.Errorf("%v: %d remain, want %d", c.err, got, left)
			}
		}
	}
	if got := r.count("jeton_gateway_requests_in_flight"); got != 0 {
		t.Errorf("%v are under way", got)
	}
}

// An aStream is a stream in a context, and nothing else.
type aStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has one
}

// Context implements grpc.ServerStream.
func (s aStream) Context() context.Context { return s.ctx }
