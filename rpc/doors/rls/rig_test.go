package rls_test

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
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
	"github.com/jeton-dev/jeton/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ok   = ratelimitv3.RateLimitResponse_OK
	over = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

// openNode starts a node that ends with the test. In the last minute of a day in UTC it waits for the next one: windows of a day do not end
// within the test.
func openNode(tb testing.TB) *node.Node {
	tb.Helper()
	const day = 24 * time.Hour
	if now := time.Now(); !now.Add(time.Minute).Truncate(day).Equal(now.Truncate(day)) {
		<-time.After(time.Until(now.Truncate(day).Add(day + time.Second)))
	}
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

// write makes a directory with one file of rules.
func write(tb testing.TB, text string) (directory string) {
	tb.Helper()
	directory = tb.TempDir()
	put(tb, filepath.Join(directory, "rules.yaml"), text)
	return directory
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
	door    *rls.Door
	client  ratelimitv3.RateLimitServiceClient
	metrics *prometheus.Registry
}

func newRig(tb testing.TB, cfg rls.Config) *rig {
	tb.Helper()
	r := &rig{tb: tb, metrics: prometheus.NewRegistry()}
	cfg.Registerer = r.metrics
	var err error
	if r.door, err = rls.New(cfg); err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is local
	if err != nil {
		tb.Fatal(err)
	}
	server := grpc.NewServer()
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
	r.client = ratelimitv3.NewRateLimitServiceClient(conn)
	return r
}

// ofRules is a rig with a node of its own.
func ofRules(tb testing.TB, text string) *rig {
	tb.Helper()
	return newRig(tb, rls.Config{Limiter: openNode(tb), Directory: write(tb, text)})
}

// ask sends one request.
func (r *rig) ask(request *ratelimitv3.RateLimitRequest) *ratelimitv3.RateLimitResponse {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(r.tb.Context(), time.Minute) // without a deadline it is the door's second, which a slow machine may miss
	defer cancel()
	answer, err := r.client.ShouldRateLimit(ctx, request)
	if err != nil {
		r.tb.Fatal(err)
	}
	if got, want := len(answer.GetStatuses()), len(request.GetDescriptors()); got != want {
		r.tb.Fatalf("%d statuses for %d descriptors", got, want)
	}
	return answer
}

// expect sends one request and compares its code.
func (r *rig) expect(want ratelimitv3.RateLimitResponse_Code, request *ratelimitv3.RateLimitRequest) *ratelimitv3.RateLimitResponse {
	r.tb.Helper()
	answer := r.ask(request)
	if answer.GetOverallCode() != want {
		r.tb.Errorf("%v: got %v, want %v", request, answer, want)
	}
	return answer
}

// request has descriptors as in "a=1 b=2".
func request(domain string, descriptors ...string) *ratelimitv3.RateLimitRequest {
	r := &ratelimitv3.RateLimitRequest{Domain: domain}
	for _, d := range descriptors {
		r.Descriptors = append(r.Descriptors, descriptor(d))
	}
	return r
}

func descriptor(text string) *commonv3.RateLimitDescriptor {
	d := &commonv3.RateLimitDescriptor{}
	for pair := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(pair, "=")
		d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	return d
}

// hits gives the descriptor at i its own number of hits.
func hits(r *ratelimitv3.RateLimitRequest, i int, n uint64) *ratelimitv3.RateLimitRequest {
	r.Descriptors[i].HitsAddend = wrapperspb.UInt64(n)
	return r
}

// back gives the first descriptor so many negative hits.
func back(r *ratelimitv3.RateLimitRequest, n uint64) *ratelimitv3.RateLimitRequest {
	r.Descriptors[0].IsNegativeHits = true
	return hits(r, 0, n)
}

// remaining are those of each status.
func remaining(answer *ratelimitv3.RateLimitResponse) (all []uint32) {
	for _, s := range answer.GetStatuses() {
		all = append(all, s.GetLimitRemaining())
	}
	return all
}

// count is the value of a series of a metric, by its labels as in "rule=a.b result=over".
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

// A directClient calls a door in this goroutine, for tests in a bubble, which know no network.
type directClient struct {
	ratelimitv3.RateLimitServiceServer
}

func (d directClient) ShouldRateLimit(ctx context.Context, r *ratelimitv3.RateLimitRequest, _ ...grpc.CallOption) (*ratelimitv3.RateLimitResponse, error) {
	return d.RateLimitServiceServer.ShouldRateLimit(ctx, r)
}

// registrar takes the service that a door registers.
type registrar struct {
	service ratelimitv3.RateLimitServiceServer
}

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, service any) {
	r.service, _ = service.(ratelimitv3.RateLimitServiceServer)
}

func direct(door *rls.Door) ratelimitv3.RateLimitServiceClient {
	var r registrar
	door.Register(&r)
	return directClient{r.service}
}
