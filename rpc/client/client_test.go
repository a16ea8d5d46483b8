package client_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a node that asks limiter, on a port of its own or that address, until the test or stop ends it.
func serve(tb testing.TB, address string, cfg rpc.Config) (server string, stop func()) {
	tb.Helper()
	s, err := rpc.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	l := fakenodes.Listen(tb, address)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // clients are still there: cut them off
		_ = s.Stop(ctx)
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(stop)
	return l.Addr().String(), stop
}

// connect makes a client that ends with the test.
func connect(tb testing.TB, cfg client.Config) *client.Client {
	tb.Helper()
	c, err := client.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func document(tb testing.TB) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte("limits:\n  demo: {capacity: 10, refill: 10/1h}\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func check(key string) limit.Request {
	return limit.Request{Key: key, Limits: []limit.Ref{limit.Named("demo")}, Cost: 1}
}

// TestConformance holds the client, the wire and the server against the contract of a Limiter, all at once.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T, doc *limit.Document, now func() int64) limit.Limiter {
		t.Helper()
		server, _ := serve(t, "", rpc.Config{Limiter: conformance.NewModel(doc, now)})
		c := connect(t, client.Config{Server: server, Timeout: time.Minute})
		return conformance.Over(c, func() uint64 {
			_, hedges, retries := c.Tries()
			return hedges + retries
		})
	})
}

func TestNewWithout(t *testing.T) {
	for what, cfg := range map[string]client.Config{
		"no server":            {},
		"negative connections": {Server: "127.0.0.1:1", Connections: -1},
		"negative timeout":     {Server: "127.0.0.1:1", Timeout: -1},
		"an empty server":      {Servers: []string{"127.0.0.1:1", ""}},
	} {
		if _, err := client.New(cfg); err == nil {
			t.Errorf("%s: a client was made", what)
		}
	}
}

// A limiter is a model whose Check is a function.
type limiter struct {
	limit.Limiter
	check func(context.Context, limit.Request) (limit.Decision, error)
}

func (l limiter) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	return l.check(ctx, r)
}

func TestUnreachable(t *testing.T) {
	silent := fakenodes.Listen(t, "") // connections open, and that is all
	t.Cleanup(func() { _ = silent.Close() })
	for what, server := range map[string]string{"refused": nowhere, "silent": silent.Addr().String()} {
		t.Run(what, func(t *testing.T) {
			c := connect(t, client.Config{Server: server, Timeout: 100 * time.Millisecond})
			wantUnavailable := func(call string, err error) {
				t.Helper()
				if !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), server) {
					t.Errorf("%s: got %v, want %v with %s", call, err, limit.ErrUnavailable, server)
				}
			}
			start := time.Now()
			var wait sync.WaitGroup
			for range 20 { // more than go at once
				wait.Go(func() {
					_, err := c.Check(t.Context(), check("k"))
					wantUnavailable("check", err)
				})
			}
			wait.Wait()
			wantUnavailable("batch", c.CheckBatch(t.Context(), []limit.Request{check("k")})[0].Err)
			_, err := c.Return(t.Context(), "k", nil)
			wantUnavailable("return", err)
			_, err = c.Settle(t.Context(), limit.Settlement{Hold: limit.Hold{Key: "k"}})
			wantUnavailable("settle", err)
			_, err = c.Inspect(t.Context(), "k", limit.Named("demo"), "")
			wantUnavailable("inspect", err)
			wantUnavailable("reset", c.Reset(t.Context(), "k", limit.Named("demo")))
			_, err = c.StoredLimits(t.Context())
			wantUnavailable("limits", err)
			if took := time.Since(start); took > 20*time.Second { // 100 ms for each call
				t.Errorf("it took %v to notice", took)
			}
		})
	}
}

// TestFrozenNode asks a node that takes the check and never answers.
func TestFrozenNode(t *testing.T) {
	server, _ := serve(t, "", rpc.Config{Limiter: limiter{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		<-ctx.Done()
		return limit.Decision{}, ctx.Err()
	}}})
	c := connect(t, client.Config{Server: server, Timeout: 100 * time.Millisecond})
	for {
		_, err := c.Check(t.Context(), check("k"))
		if errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), server) {
			return
		}
		if !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), "no connection before the deadline") { // of a busy machine
			t.Fatalf("got %v, want %v with %s", err, context.DeadlineExceeded, server)
		}
	}
}

// TestNodeDiesAndReturns stops the node in the middle of checks, and starts another one in its place.
func TestNodeDiesAndReturns(t *testing.T) {
	entered := make(chan struct{}, 8)
	server, kill := serve(t, "", rpc.Config{Limiter: limiter{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return limit.Decision{}, ctx.Err()
	}}})
	c := connect(t, client.Config{Server: server, Timeout: time.Minute})
	var wait sync.WaitGroup
	for range cap(entered) {
		wait.Go(func() {
			if _, err := c.Check(t.Context(), check("k")); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("in the middle: got %v, want %v", err, limit.ErrUnavailable)
			}
		})
	}
	for range cap(entered) {
		<-entered
	}
	kill()
	wait.Wait()
	if _, err := c.Check(t.Context(), check("k")); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("after its death: got %v, want %v", err, limit.ErrUnavailable)
	}
	serve(t, server, rpc.Config{Limiter: conformance.NewModel(document(t), time.Now().UnixNano)})
	c.AwaitConnections(t.Context())
	if d, err := c.Check(t.Context(), check("k")); err != nil || !d.Allowed {
		t.Errorf("after its return: got %+v and %v", d, err)
	}
}

// TestCallerLeaves has a check that waits: when its caller leaves, the node lets it go.
func TestCallerLeaves(t *testing.T) {
	entered, left := make(chan struct{}), make(chan error, 10) // the node is asked again should it seem silent
	enter := sync.OnceFunc(func() { close(entered) })
	server, _ := serve(t, "", rpc.Config{Limiter: limiter{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		enter()
		<-ctx.Done()
		left <- ctx.Err()
		return limit.Decision{}, ctx.Err()
	}}})
	c := connect(t, client.Config{Server: server, Timeout: 20 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	waits := check("k")
	waits.Wait = 10 * time.Second
	if _, err := c.Check(ctx, waits); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the node learned of %v, want %v", err, context.Canceled)
	}
}

// A post counts messages, and holds each check until all have come.
type post struct {
	pb.UnimplementedLimiterServer
	messages atomic.Int64
	largest  atomic.Int64
	missing  atomic.Int64 // checks that are still to come; below 0 if some came again
	all      chan struct{}
}

func (p *post) arrive(checks int) {
	p.messages.Add(1)
	for most := p.largest.Load(); int64(checks) > most && !p.largest.CompareAndSwap(most, int64(checks)); most = p.largest.Load() {
	}
	if left := p.missing.Add(-int64(checks)); left <= 0 && left+int64(checks) > 0 {
		close(p.all)
	}
	<-p.all
}

func (p *post) Check(_ context.Context, m *pb.CheckRequest) (*pb.CheckResponse, error) {
	p.arrive(1)
	return &pb.CheckResponse{Decision: fakenodes.Decision(m.GetKey())}, nil
}

func (p *post) CheckStream(stream grpc.BidiStreamingServer[pb.CheckStreamRequest, pb.CheckStreamResponse]) error {
	return fakenodes.Converse(stream, func(_ context.Context, m *pb.CheckStreamRequest, out *pb.CheckStreamResponse) {
		p.arrive(len(m.GetChecks()))
		for _, c := range m.GetChecks() {
			result := &pb.CheckResult{Result: &pb.CheckResult_Decision{Decision: fakenodes.Decision(c.GetCheck().GetKey())}}
			out.Results = append(out.Results, &pb.StreamResult{Id: c.GetId(), Result: result})
		}
	})
}

// TestCallersShareMessages lets 64 callers check at once: they travel in a few messages, and each gets its own answer.
func TestCallersShareMessages(t *testing.T) {
	const callers = 64
	p := &post{all: make(chan struct{})}
	p.missing.Store(callers)
	server := grpc.NewServer()
	pb.RegisterLimiterServer(server, p)
	l := fakenodes.Listen(t, "")
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	c := connect(t, client.Config{Server: l.Addr().String(), Timeout: time.Minute})
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			d, err := c.Check(t.Context(), check(strconv.Itoa(i)))
			if err != nil || d.Limits[0].Remaining != int64(i) {
				t.Errorf("caller %d: got %+v and %v", i, d, err)
			}
		})
	}
	wait.Wait()
	t.Logf("%d checks in %d messages, the largest of %d", callers, p.messages.Load(), p.largest.Load())
	_, _, retries := c.Tries() // of a machine that stood still
	if p.messages.Load() > callers/2+int64(retries) || p.largest.Load() < 2 {
		t.Errorf("%d checks took %d messages, the largest of %d", callers, p.messages.Load(), p.largest.Load())
	}
}

// TestMessagesShareStreams asks again and again: all checks travel in one stream over each connection, but for those that may wait.
func TestMessagesShareStreams(t *testing.T) {
	var streams, calls atomic.Int64
	n := fakenodes.StartSpec(t, fakenodes.Spec{Admin: pb.UnimplementedAdminServer{}, Options: []grpc.ServerOption{grpc.StreamInterceptor(
		func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if info.FullMethod == pb.Limiter_CheckStream_FullMethodName {
				streams.Add(1)
			}
			return next(srv, stream)
		},
	), grpc.UnaryInterceptor(func(ctx context.Context, m any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		calls.Add(1)
		return next(ctx, m)
	})}})
	c := connect(t, client.Config{Server: n.Address, Connections: 2, Timeout: time.Minute})
	start := time.Now()
	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			for i := range 50 {
				if d, err := c.Check(t.Context(), check(strconv.Itoa(i))); err != nil || d.Limits[0].Remaining != int64(i) {
					t.Errorf("check %d: got %+v and %v", i, d, err)
				}
			}
		})
	}
	callers.Wait()
	_, _, retries := c.Tries() // of a machine that stood still
	if most := 2 + 2*int64(time.Since(start)/(5*time.Second)); streams.Load() > most || n.Checks.Load() < 500 || n.Checks.Load() > 500+int64(retries) {
		t.Errorf("%d checks took %d streams, want at most %d", n.Checks.Load(), streams.Load(), most)
	}
	waits, before := check("0"), calls.Load()
	waits.Wait = time.Second
	if d, err := c.Check(t.Context(), waits); err != nil || !d.Allowed || calls.Load() == before {
		t.Errorf("a check that may wait was no call by itself: %+v and %v", d, err)
	}
}

// TestSettlementsAmongChecks has callers check and settle at once over the streams of one server: each answer is that of its question.
func TestSettlementsAmongChecks(t *testing.T) {
	server, _ := serve(t, "", rpc.Config{Limiter: conformance.Stub{
		OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
			return limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: "demo", Allowed: true, Remaining: r.Cost}}}, nil
		},
		OnSettle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
			if s.Used%7 == 0 {
				return limit.Settled{}, limit.ErrUnknownHold
			}
			return limit.SumSettled([]limit.SettledLimit{{Name: "demo", State: limit.HoldSettled, Charged: s.Used}}), nil
		},
	}})
	c := connect(t, client.Config{Server: server, MaxMessages: 2, Timeout: 20 * time.Second})
	hold := limit.Hold{Key: "k", Granted: 5, Limits: []limit.Held{{Limit: "demo", Generation: 1, Owner: limit.OwnerID{15: 1}, ID: 7}}}
	var callers sync.WaitGroup
	for i := range int64(16) {
		callers.Go(func() {
			for n := 100*i + 1; n <= 100*i+50; n++ {
				r := check("k")
				r.Cost = n
				if d, err := c.Check(t.Context(), r); err != nil || d.Limits[0].Remaining != n {
					t.Errorf("check %d: got %+v and %v", n, d, err)
				}
				settled, err := c.Settle(t.Context(), limit.Settlement{Hold: hold, Used: n})
				if unknown := n%7 == 0; unknown != errors.Is(err, limit.ErrUnknownHold) || !unknown && (err != nil || settled.Charged != n) {
					t.Errorf("settlement %d: got %+v and %v", n, settled, err)
				}
			}
		})
	}
	callers.Wait()
}

// TestSlowCheckHoldsUpNobody gathers a check that never ends with others: they are answered all the same.
func TestSlowCheckHoldsUpNobody(t *testing.T) {
	slow := make(chan struct{})
	server, _ := serve(t, "", rpc.Config{Limiter: limiter{check: func(ctx context.Context, r limit.Request) (limit.Decision, error) {
		if strings.HasPrefix(r.Key, "slow") {
			select {
			case <-slow:
			case <-ctx.Done():
			}
		}
		return limit.Decision{Allowed: true}, nil
	}}})
	c := connect(t, client.Config{Server: server, Timeout: time.Minute})
	var slowOnes, others sync.WaitGroup
	for i := range 100 {
		group, key := &others, "fast"
		if i%10 == 0 {
			group, key = &slowOnes, "slow"
		}
		group.Go(func() {
			if d, err := c.Check(t.Context(), check(key)); err != nil || !d.Allowed {
				t.Errorf("%s: got %+v and %v", key, d, err)
			}
		})
	}
	others.Wait()
	close(slow)
	slowOnes.Wait()
}

// TestBadRequestsStayHome checks that what could not even be sent is refused before, and spoils nobody's message.
func TestBadRequestsStayHome(t *testing.T) {
	c := connect(t, client.Config{Server: "127.0.0.1:1"})
	long := limit.Limit{Name: "burst", Algorithm: strings.Repeat("x", 1<<20), Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: 1}}
	for field, r := range map[string]limit.Request{
		"key":                 check("\xff"),
		"request_id":          {Key: "k", Limits: check("k").Limits, ID: "\xff"},
		"limits[0].name":      {Key: "k", Limits: []limit.Ref{limit.Named("\xff")}},
		"limits[0].algorithm": {Key: "k", Limits: []limit.Ref{limit.Inline(long)}},
	} {
		_, err := c.Check(t.Context(), r)
		batch := c.CheckBatch(t.Context(), []limit.Request{r})
		for _, err := range []error{err, batch[0].Err} {
			if fe, ok := errors.AsType[*limit.FieldError](err); !ok || fe.Field != field {
				t.Errorf("got %.80v, want an error of the field %s", err, field)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	doc := document(t)
	server, _ := serve(t, "", rpc.Config{
		Limiter: conformance.NewModel(doc, time.Now().UnixNano), Limits: func() *limit.Document { return doc },
	})
	got, err := connect(t, client.Config{Server: server, Timeout: time.Minute}).StoredLimits(t.Context())
	if err != nil || !reflect.DeepEqual(got, doc) {
		t.Errorf("got %+v and %v, want %+v", got, err, doc)
	}
}

func TestClosed(t *testing.T) {
	server, _ := serve(t, "", rpc.Config{Limiter: conformance.NewModel(document(t), time.Now().UnixNano)})
	c := connect(t, client.Config{Server: server, Timeout: time.Minute})
	if d, err := c.Check(t.Context(), check("k")); err != nil || !d.Allowed {
		t.Fatalf("got %+v and %v", d, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	_, err := c.Check(t.Context(), check("k"))
	batch := c.CheckBatch(t.Context(), []limit.Request{check("k")})
	for _, err := range []error{err, batch[0].Err, c.Reset(t.Context(), "k", limit.Named("demo"))} {
		if !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("after the close: got %v, want %v", err, limit.ErrUnavailable)
		}
	}
}

// TestClosedWhileAsked closes a client while a node owes it answers: those who wait for them get an error, and no stream stays open.
func TestClosedWhileAsked(t *testing.T) {
	entered := make(chan struct{}, 10)
	left := make(chan struct{}, 10)
	server, _ := serve(t, "", rpc.Config{Limiter: limiter{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		entered <- struct{}{}
		<-ctx.Done()
		left <- struct{}{}
		return limit.Decision{}, ctx.Err()
	}}})
	c := connect(t, client.Config{Server: server, MaxMessages: 2, Timeout: 20 * time.Second})
	start := time.Now()
	errs := make(chan error, 10)
	for range cap(errs) {
		go func() {
			_, err := c.Check(t.Context(), check("k"))
			errs <- err
		}()
	}
	for range cap(entered) {
		<-entered
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("a check while the client was closed: got %v, want %v", err, limit.ErrUnavailable)
		}
		<-left
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func BenchmarkCheck(b *testing.B) {
	server, _ := serve(b, "", rpc.Config{Limiter: limiter{check: func(context.Context, limit.Request) (limit.Decision, error) {
		return limit.Decision{Allowed: true}, nil
	}}})
	for _, callers := range []int{1, 64, 512} {
		b.Run(strconv.Itoa(callers)+" callers", func(b *testing.B) {
			c := connect(b, client.Config{Server: server})
			c.AwaitConnections(b.Context())
			var (
				left atomic.Int64
				wait sync.WaitGroup
			)
			left.Store(int64(b.N))
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				wait.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := c.Check(b.Context(), check("user:42")); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
		})
	}
}

// TestDenialsThatArriveAsErrors has something between ask for denials as errors, as metadata of a proxy does: to callers they are
// decisions all the same.
func TestDenialsThatArriveAsErrors(t *testing.T) {
	want := limit.Decision{Limits: []limit.Outcome{{Name: "demo", Limit: 10, Remaining: 2, RetryAfter: time.Second, ResetAfter: time.Minute}}}
	var gathered atomic.Int64
	server, _ := serve(t, "", rpc.Config{Limiter: conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
		gathered.Add(1)
		return limit.Decision{}, &pb.DeniedError{Key: r.Key, Decision: want}
	}}})
	c := connect(t, client.Config{Servers: []string{server}, Timeout: time.Minute})
	for range 3 {
		d, err := c.Check(t.Context(), check("k"))
		d.Node = ""
		if err != nil || !reflect.DeepEqual(d, want) {
			t.Errorf("got %+v, %v", d, err)
		}
	}
	for i, r := range c.CheckBatch(t.Context(), []limit.Request{check("a"), check("b")}) {
		if r.Decision.Node = ""; r.Err != nil || !reflect.DeepEqual(r.Decision, want) {
			t.Errorf("%d: got %+v", i, r)
		}
	}
	if _, _, retries := c.Tries(); gathered.Load() < 5 || gathered.Load() > 5+int64(retries) { // retries of a machine that stood still
		t.Errorf("a denial was asked again: %d checks, %d retries", gathered.Load(), retries)
	}
}
