package kuadrant_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
	"github.com/jeton-dev/jeton/rpc/pb/kuadrantpb"
	"github.com/jeton-dev/jeton/rpc/transport"
	"github.com/jeton-dev/jeton/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	unknown = ratelimitv3.RateLimitResponse_UNKNOWN
	ok      = ratelimitv3.RateLimitResponse_OK
	over    = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

// openNode starts a node that ends with the test.
func openNode(tb testing.TB) *node.Node {
	tb.Helper()
	n, err := node.Open(node.Config{Data: tb.TempDir(), Durability: storage.Memory, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return n
}

// write makes a file of limits.
func write(tb testing.TB, text string) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "limits.yaml")
	put(tb, path, text)
	return path
}

// put writes a file, of which nobody reads a part.
func put(tb testing.TB, path, text string) {
	tb.Helper()
	whole := filepath.Join(tb.TempDir(), "whole")
	if err := os.WriteFile(whole, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(whole, path); err != nil {
		tb.Fatal(err)
	}
}

// A rig is a door behind a server, and a client of it.
type rig struct {
	tb      testing.TB
	door    *kuadrant.Door
	client  kuadrantpb.RateLimitServiceClient
	metrics *prometheus.Registry
}

func newRig(tb testing.TB, decides limit.Limiter, path string) *rig {
	tb.Helper()
	r := &rig{tb: tb, metrics: prometheus.NewRegistry()}
	var err error
	if r.door, err = kuadrant.New(kuadrant.Config{Limiter: decides, Path: path, Registerer: r.metrics}); err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is local
	if err != nil {
		tb.Fatal(err)
	}
	server := grpc.NewServer(transport.ServerOptions()...)
	r.door.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close() //nolint:errcheck // the test is over
		server.Stop()
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	r.client = kuadrantpb.NewRateLimitServiceClient(conn)
	return r
}

// ofLimits is a rig with a node of its own.
func ofLimits(tb testing.TB, text string) *rig {
	tb.Helper()
	return newRig(tb, openNode(tb), write(tb, text))
}

// descriptors are as in "a=1 b=2".
func descriptors(texts ...string) (all []*commonv3.RateLimitDescriptor) {
	for _, text := range texts {
		d := &commonv3.RateLimitDescriptor{}
		for pair := range strings.FieldsSeq(text) {
			key, value, _ := strings.Cut(pair, "=")
			d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
		}
		all = append(all, d)
	}
	return all
}

// minute is the context of a call that is to be answered. Without a deadline it is the door's second, which a slow machine may miss.
func (r *rig) minute() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.tb.Context(), time.Minute)
}

func (r *rig) check(want ratelimitv3.RateLimitResponse_Code, texts ...string) {
	r.tb.Helper()
	ctx, cancel := r.minute()
	defer cancel()
	got, err := r.client.CheckRateLimit(ctx, &ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors(texts...), HitsAddend: 7})
	if err != nil || got.GetOverallCode() != want {
		r.tb.Errorf("check %q: %v, %v, want %v", texts, got, err, want)
	}
}

func (r *rig) report(hits uint32, texts ...string) {
	r.tb.Helper()
	ctx, cancel := r.minute()
	defer cancel()
	got, err := r.client.Report(ctx, &ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors(texts...), HitsAddend: hits})
	if err != nil || got.GetOverallCode() != ok {
		r.tb.Errorf("report %q: %v, %v", texts, got, err)
	}
}

func (r *rig) reserve(want ratelimitv3.RateLimitResponse_Code, amount uint64, texts ...string) (id string) {
	r.tb.Helper()
	ctx, cancel := r.minute()
	defer cancel()
	got, err := r.client.Reserve(ctx, &kuadrantpb.ReserveRequest{Domain: "ns", Descriptors: descriptors(texts...), Amount: amount})
	if err != nil || got.GetCode() != want || (got.GetReservationId() != "") != (want == ok) {
		r.tb.Errorf("reserve %d %q: %v, %v, want %v", amount, texts, got, err, want)
	}
	return got.GetReservationId()
}

func (r *rig) commit(released bool, id string, used uint64, texts ...string) {
	r.tb.Helper()
	ctx, cancel := r.minute()
	defer cancel()
	got, err := r.client.Commit(ctx, &kuadrantpb.CommitRequest{Domain: "ns", Descriptors: descriptors(texts...), ReservationId: id, ActualAmount: used})
	if err != nil || got.GetReservationReleased() != released {
		r.tb.Errorf("commit %d %q: %v, %v, want %t", used, texts, got, err, released)
	}
}

// left compares what a limit of all has left, by what can be reserved at most.
func (r *rig) left(want uint64, texts ...string) {
	r.tb.Helper()
	r.reserve(over, want+1, texts...)
	if want > 0 {
		r.commit(true, r.reserve(ok, want, texts...), 0, texts...)
	}
}

// count is the value of a series of a metric, by its labels as in "call=check answer=ok".
func (r *rig) count(name, labels string) float64 {
	r.tb.Helper()
	sum := 0.0
	for _, m := range metricstest.Gather(r.tb, r.metrics, name) {
		all := true
		for pair := range strings.FieldsSeq(labels) {
			found := false
			for _, l := range m.GetLabel() {
				found = found || l.GetName()+"="+l.GetValue() == pair
			}
			all = all && found
		}
		if all {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// one is a file with a limit of each value of user, in windows that do not end while a test runs.
func one(most string) string {
	return "- {namespace: ns, max_value: " + most + ", seconds: 31536000, name: tokens, conditions: [\"descriptors[0].method == 'GET'\"], variables: ['descriptors[0].user']}\n"
}
