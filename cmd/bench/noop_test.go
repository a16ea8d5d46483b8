package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// serveNoop runs the no-op until the test ends, and returns its address.
func serveNoop(t *testing.T, limitName string, deny bool) string {
	t.Helper()
	logged, log := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- ServeNoop(ctx, limitName, deny, slog.New(slog.NewTextHandler(log, nil)))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	line := make([]byte, 1000)
	n, err := logged.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	found := serving.FindSubmatch(line[:n])
	if found == nil {
		t.Fatalf("the no-op does not say where it listens as a node does: %s", line[:n])
	}
	return string(found[1])
}

// The no-op is asked as a node is, by one check and by many, and answers as many as it was asked.
func TestNoop(t *testing.T) {
	for _, deny := range []bool{false, true} {
		ref := limitFor(deny)
		address := serveNoop(t, ref.Name, deny)
		for _, batch := range []int{1, 7, 1000} {
			l := Load{Limit: ref, Callers: 3, Batch: batch, Duration: time.Millisecond}
			r, err := Run(t.Context(), address, l)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Errors) > 0 || r.Checks == 0 || r.Checks != r.Calls*int64(batch) || deny != (r.Denied == r.Checks) || deny == (r.Allowed == r.Checks) {
				t.Errorf("deny %t, batches of %d: %+v", deny, batch, r)
			}
			if r.Latency.P50 <= 0 || r.Latency.Max < r.Latency.P50 || r.ChecksPerSecond <= 0 {
				t.Errorf("%+v", r)
			}
		}
	}
}

// The no-op is asked through the Go client too, which gathers the checks of many callers into streams.
func TestNoopThroughTheClient(t *testing.T) {
	for _, deny := range []bool{false, true} {
		ref := limitFor(deny)
		address := serveNoop(t, ref.Name, deny)
		for _, batch := range []int{1, 7, 1000} {
			l := Load{Limit: ref, Callers: 30, Connections: 1, Batch: batch, Duration: time.Millisecond}
			if err := l.check(); err != nil {
				t.Fatal(err)
			}
			s, err := dialClient(t.Context(), []string{address}, l, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := measure(t.Context(), l, s)
			if err := errors.Join(err, s.close()); err != nil {
				t.Fatal(err)
			}
			if len(r.Errors) > 0 || r.Checks < int64(30*batch) || r.Checks != r.Calls*int64(batch) || deny != (r.Denied == r.Checks) || deny == (r.Allowed == r.Checks) {
				t.Errorf("deny %t, batches of %d: %+v", deny, batch, r)
			}
		}
	}
}

// What the no-op answers is about as long as what a node answers.
func TestNoopAnswersLikeANode(t *testing.T) {
	n, err := node.Open(node.Config{Data: t.TempDir(), ListenGRPC: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.Background()) //nolint:errcheck // its data goes with the test
	doc, err := limit.ParseDocument([]byte(limitsText))
	if err != nil {
		t.Fatal(err)
	}
	n.SetLimits(doc)
	for _, deny := range []bool{false, true} {
		ref := limitFor(deny)
		node, noop := answer(t, n.GRPCAddr(), ref, deny), answer(t, serveNoop(t, ref.Name, deny), ref, deny)
		want, got := node.GetDecision(), noop.GetDecision()
		if got.GetAllowed() != want.GetAllowed() || got.GetLimits()[0].GetName() != want.GetLimits()[0].GetName() ||
			got.GetLimits()[0].GetLimit() != want.GetLimits()[0].GetLimit() {
			t.Errorf("the no-op answers %v, a node %v", noop, node)
		}
		if a, b := len(pb.EncodeDecision(usual(ref.Name, deny)).String()), len(want.String()); a < b-12 || a > b+12 {
			t.Errorf("the no-op's answer is %d characters long, a node's %d", a, b)
		}
	}
}

// answer is what a server says to the last of two checks.
func answer(t *testing.T, server string, ref limit.Ref, deny bool) *pb.CheckResponse {
	t.Helper()
	conn, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the answers were read
	var last *pb.CheckResponse
	for range map[bool]int{false: 1, true: 2}[deny] {
		last, err = pb.NewLimiterClient(conn).Check(t.Context(), pb.EncodeRequest(limit.Request{
			Key: "k", Limits: []limit.Ref{ref}, Cost: 1,
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	return last
}

// What cannot be measured is said by the name of the flag.
func TestRunRefuses(t *testing.T) {
	n, err := node.Open(node.Config{Data: t.TempDir(), ListenGRPC: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.Background()) //nolint:errcheck // its data goes with the test
	bad := limit.Limit{Name: "x", Capacity: -1}
	for _, tt := range []struct {
		name, server string
		load         Load
		want         string
	}{
		{"no such limit", n.GRPCAddr(), Load{Limit: limit.Named("nope")}, `^--limit: .*no limit "nope"`},
		{"a bad limit", n.GRPCAddr(), Load{Limit: limit.Inline(bad)}, `^--limit: .*capacity`},
		{"nobody there", "127.0.0.1:1", Load{Limit: limit.Named("x")}, `^--server: .*127\.0\.0\.1:1.*jeton serve`},
		{"no address", "nonsense", Load{Limit: limit.Named("x")}, `^--server: .*nonsense`},
		{"a bad load", n.GRPCAddr(), Load{Limit: limit.Named("x"), Batch: 1001}, `^--batch: `},
	} {
		_, err := Run(t.Context(), tt.server, tt.load)
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, n.GRPCAddr(), Load{Limit: limit.Named("x")}); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("interrupted before the first answer: %v", err)
	}
}
