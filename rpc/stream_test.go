package rpc

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/pb"
)

type clientStream = grpc.BidiStreamingClient[pb.CheckStreamRequest, pb.CheckStreamResponse]

// checksMessage is a message with checks that have these ids.
func checksMessage(from, to int) *pb.CheckStreamRequest {
	m := &pb.CheckStreamRequest{}
	for id := from; id < to; id++ {
		m.Checks = append(m.Checks, &pb.StreamCheck{Id: uint64(id), Check: checkMessage(strconv.Itoa(id))})
	}
	return m
}

func sendChecks(t *testing.T, stream clientStream, from, to int) {
	t.Helper()
	if err := stream.Send(checksMessage(from, to)); err != nil {
		t.Fatal(err)
	}
}

// receive reads n answers into got, by id.
func receive(t *testing.T, stream clientStream, n int, got map[uint64]limit.Result) {
	t.Helper()
	for len(got) < n {
		m, err := stream.Recv()
		if err != nil {
			t.Fatalf("after %d answers: %v", len(got), err)
		}
		for _, r := range m.GetResults() {
			if _, twice := got[r.GetId()]; twice {
				t.Errorf("%d is answered twice", r.GetId())
			}
			got[r.GetId()] = pb.DecodeResult(r.GetResult())
		}
	}
}

func TestStreamAnswersInAnyOrder(t *testing.T) { everyWay(t, streamAnswersInAnyOrder) }

func streamAnswersInAnyOrder(t *testing.T, asked func(conformance.Stub) limit.Limiter) {
	t.Helper()
	first := make(chan struct{})
	_, conn := serve(t, Config{Limiter: asked(conformance.Stub{OnCheck: func(ctx context.Context, r limit.Request) (limit.Decision, error) {
		switch r.Key {
		case "0":
			select {
			case <-first:
			case <-ctx.Done():
				return limit.Decision{}, ctx.Err()
			}
		case "1":
			return limit.Decision{}, limit.ErrUnknownLimit
		}
		return limit.Decision{Allowed: true}, nil
	}})})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]limit.Result{}
	sendChecks(t, stream, 0, 3)
	receive(t, stream, 2, got)
	if _, early := got[0]; early || !errors.Is(got[1].Err, limit.ErrUnknownLimit) || !got[2].Decision.Allowed {
		t.Errorf("got %+v, want the answers to 1 and 2", got)
	}
	sendChecks(t, stream, 3, 4)
	receive(t, stream, 3, got)
	if !got[3].Decision.Allowed {
		t.Errorf("got %+v, want the answer to 3", got)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	close(first)
	receive(t, stream, 4, got)
	if !got[0].Decision.Allowed {
		t.Errorf("got %+v, want the answer to 0", got)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream: %v", err)
	}
}

// A fakeStream is the server's end of a stream, in the hands of a test.
type fakeStream struct {
	grpc.ServerStream
	ctx      context.Context //nolint:containedctx // grpc.ServerStream hands its context out
	requests chan *pb.StreamIn
	answers  chan *pb.StreamOut
}

func (f fakeStream) Context() context.Context { return f.ctx }

func (f fakeStream) RecvMsg(m any) error {
	in, ok := <-f.requests
	if !ok {
		return io.EOF
	}
	*m.(*pb.StreamIn) = *in
	return nil
}

func (f fakeStream) SendMsg(m any) error {
	f.answers <- m.(*pb.StreamOut)
	return nil
}

// arrived is a message as the server has read it.
func arrived(t *testing.T, m *pb.CheckStreamRequest) *pb.StreamIn {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	in := new(pb.StreamIn)
	if err := in.UnmarshalWire(data); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestStreamIsBounded sends more than a stream may hold: no more checks start than may be unanswered, and while the
// client does not read its answers, it is not read either.
func TestStreamIsBounded(t *testing.T) { everyWay(t, streamIsBounded) }

func streamIsBounded(t *testing.T, asked func(conformance.Stub) limit.Limiter) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s, err := New(Config{Limiter: asked(conformance.Stub{OnCheck: g.check})})
		if err != nil {
			t.Fatal(err)
		}
		stream := fakeStream{
			ctx: t.Context(), requests: make(chan *pb.StreamIn, 10), answers: make(chan *pb.StreamOut),
		}
		ended := make(chan error, 1)
		go func() { ended <- s.checkStream(stream) }()
		for from := 0; from < 4*maxUnanswered; from += maxUnanswered - 1 {
			stream.requests <- arrived(t, checksMessage(from, min(from+maxUnanswered-1, 4*maxUnanswered)))
		}
		close(stream.requests)
		started := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := len(g.entered); got != want {
				t.Errorf("%d checks were started, want %d", got, want)
			}
		}
		started(maxUnanswered)
		close(g.open)
		started(maxUnanswered) // all are decided, and nobody reads the answers
		got := map[uint64]int{}
		for len(got) < 4*maxUnanswered {
			for _, r := range (<-stream.answers).Answers {
				got[r.ID]++
			}
			synctest.Wait()
			if under := len(g.entered) - len(got); under > maxUnanswered {
				t.Fatalf("%d checks are unanswered", under)
			}
		}
		if err := <-ended; err != nil {
			t.Errorf("the end of the stream: %v", err)
		}
		for id, times := range got {
			if times != 1 {
				t.Errorf("%d is answered %d times", id, times)
			}
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}

// TestStreamIsToldWhoHasLeft gives checks up one by one: with the last one of a message, what is not decided of it ends, and nothing else.
func TestStreamIsToldWhoHasLeft(t *testing.T) { everyWay(t, streamIsToldWhoHasLeft) }

func streamIsToldWhoHasLeft(t *testing.T, asked func(conformance.Stub) limit.Limiter) {
	t.Helper()
	release, entered, left := make(chan struct{}), make(chan struct{}, 9), make(chan string, 9)
	_, conn := serve(t, Config{Limiter: asked(conformance.Stub{OnCheck: func(ctx context.Context, r limit.Request) (limit.Decision, error) {
		if r.Key == "2" {
			return limit.Decision{Allowed: true}, nil
		}
		entered <- struct{}{}
		select {
		case <-release:
			return limit.Decision{Allowed: true}, nil
		case <-ctx.Done():
			left <- r.Key + " " + ctx.Err().Error()
			return limit.Decision{}, ctx.Err()
		}
	}})})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	giveUp := func(ids ...uint64) {
		t.Helper()
		if err := stream.Send(&pb.CheckStreamRequest{GivenUp: ids}); err != nil {
			t.Fatal(err)
		}
	}
	send := func(from, to int) {
		t.Helper()
		m := checksMessage(from, to)
		m.WithinNs = int64(maxTime)
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	send(0, 4)
	send(4, 6)
	for range 5 { // all but the one that is decided at once
		<-entered
	}
	got := map[uint64]limit.Result{}
	receive(t, stream, 1, got)
	giveUp(0, 2, 77)
	giveUp(1, 0)
	send(6, 7) // once it is there, so are the messages before
	<-entered
	select {
	case who := <-left:
		t.Errorf("check %s, while another one of its message is waited for", who)
	default:
	}
	giveUp(3)
	gone := []string{<-left, <-left, <-left}
	slices.Sort(gone)
	if !slices.Equal(gone, []string{"0 context canceled", "1 context canceled", "3 context canceled"}) {
		t.Errorf("%q have ended", gone)
	}
	close(release)
	receive(t, stream, 7, got)
	for id, want := range map[uint64]bool{0: false, 1: false, 2: true, 3: false, 4: true, 5: true, 6: true} {
		if got[id].Decision.Allowed != want {
			t.Errorf("check %d was answered %+v", id, got[id])
		}
	}
}

// TestStreamGivesUpSettlements gives up the settlement and then the check of a message: both end.
func TestStreamGivesUpSettlements(t *testing.T) { everyWay(t, streamGivesUpSettlements) }

func streamGivesUpSettlements(t *testing.T, asked func(conformance.Stub) limit.Limiter) {
	t.Helper()
	entered, left := make(chan struct{}, 4), make(chan string, 4)
	waits := func(ctx context.Context, what string) error {
		entered <- struct{}{}
		<-ctx.Done()
		left <- what + " " + ctx.Err().Error()
		return ctx.Err()
	}
	_, conn := serve(t, Config{Limiter: asked(conformance.Stub{
		OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
			return limit.Decision{}, waits(ctx, "check")
		},
		OnSettle: func(ctx context.Context, _ limit.Settlement) (limit.Settled, error) {
			return limit.Settled{}, waits(ctx, "settlement")
		},
	})})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := checksMessage(0, 1)
	m.WithinNs = int64(maxTime)
	m.Settlements = []*pb.StreamSettlement{{Id: 1, Settlement: settleMessage("k", 3)}}
	if err := stream.Send(m); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		<-entered
	}
	if err := errors.Join(stream.Send(&pb.CheckStreamRequest{GivenUp: []uint64{1}}), stream.Send(&pb.CheckStreamRequest{GivenUp: []uint64{0}})); err != nil {
		t.Fatal(err)
	}
	gone := []string{<-left, <-left}
	slices.Sort(gone)
	if !slices.Equal(gone, []string{"check context canceled", "settlement context canceled"}) {
		t.Errorf("%q have ended", gone)
	}
}

// TestStreamGivesUpAtMostABatch refuses a message that gives up more than can be unanswered: each id is looked for.
func TestStreamGivesUpAtMostABatch(t *testing.T) {
	_, conn := serve(t, Config{Limiter: conformance.Stub{}})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.CheckStreamRequest{GivenUp: make([]uint64, maxUnanswered)}); err != nil {
		t.Fatal(err)
	}
	sendChecks(t, stream, 0, 1)
	receive(t, stream, 1, map[uint64]limit.Result{})
	if err := stream.Send(&pb.CheckStreamRequest{GivenUp: make([]uint64, maxUnanswered+1)}); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	if fe, ok := errors.AsType[*limit.FieldError](pb.DecodeError(err)); !ok || fe.Field != "given_up" {
		t.Errorf("a message that gives up too many: %v", err)
	}
}

// TestStreamWithin has messages say how long they are waited for: their checks have so long, and 30 s at most.
func TestStreamWithin(t *testing.T) {
	deadlines := make(chan time.Time, 1)
	_, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		at, _ := ctx.Deadline()
		deadlines <- at
		return limit.Decision{Allowed: true}, nil
	}}})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(within time.Duration) {
		t.Helper()
		m := checksMessage(0, 1)
		m.WithinNs = int64(within)
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	for within, want := range map[time.Duration]time.Duration{time.Hour: maxTime, maxTime: maxTime, 20 * time.Second: 20 * time.Second, 0: defaultTime} {
		sent := time.Now()
		send(within)
		if at := <-deadlines; at.Sub(sent) < want || time.Until(at) > want {
			t.Errorf("a message that is waited for for %v has %v, want %v", within, at.Sub(sent), want)
		}
		receive(t, stream, 1, map[uint64]limit.Result{})
	}
	send(-1)
	_, err = stream.Recv()
	if fe, ok := errors.AsType[*limit.FieldError](pb.DecodeError(err)); !ok || fe.Field != "within_ns" {
		t.Errorf("a message that is waited for for less than nothing: %v", err)
	}
}

// TestStreamNamesTraces has a check of a stream name its own trace beside how long it took. Those beside it in the message name none.
func TestStreamNamesTraces(t *testing.T) {
	reg, spans := prometheus.NewRegistry(), sdk.NewTracerProvider()
	_, conn := serve(t, Config{Limiter: observed(t, ObservedConfig{Limiter: conformance.Stub{}, Tracer: spans, Node: "a"}), Registerer: reg})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := checksMessage(0, 3)
	m.Checks[0].Trace = "what cannot be read"
	m.Checks[1].Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if err := stream.Send(m); err != nil {
		t.Fatal(err)
	}
	receive(t, stream, 3, map[uint64]limit.Result{})
	if traces := metricstest.Exemplars(t, reg)["jeton_rpc_seconds"]; !slices.Equal(traces, []string{"0af7651916cd43dd8448eb211c80319c"}) {
		t.Errorf("beside the latency are the traces %q", traces)
	}
}

// TestStreamOfALeaver ends a stream from the client's side in the middle: every check under way learns of it, and no
// goroutine is left, as the test's end makes sure.
func TestStreamOfALeaver(t *testing.T) { everyWay(t, streamOfALeaver) }

func streamOfALeaver(t *testing.T, asked func(conformance.Stub) limit.Limiter) {
	t.Helper()
	left := make(chan error, 3)
	entered := make(chan struct{}, 3)
	s, conn := serve(t, Config{Limiter: asked(conformance.Stub{OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		entered <- struct{}{}
		<-ctx.Done()
		left <- ctx.Err()
		return limit.Decision{}, ctx.Err()
	}})})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := pb.NewLimiterClient(conn).CheckStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sendChecks(t, stream, 0, 3)
	for range 3 {
		<-entered
	}
	cancel()
	for range 3 {
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a check under way learned of %v", err)
		}
	}
	s.readers.Wait()
}

func BenchmarkCheckStream(b *testing.B) {
	_, conn := serve(b, Config{Limiter: conformance.Stub{}})
	stream, err := pb.NewLimiterClient(conn).CheckStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	m := checksMessage(0, limit.MaxBatch)
	b.ReportAllocs()
	for b.Loop() {
		if err := stream.Send(m); err != nil {
			b.Fatal(err)
		}
		for n := 0; n < limit.MaxBatch; {
			answer, err := stream.Recv()
			if err != nil {
				b.Fatal(err)
			}
			n += len(answer.GetResults())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*limit.MaxBatch), "ns/check")
	if err := stream.CloseSend(); err != nil {
		b.Fatal(err)
	}
}
