package rlqs_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/storage"
)

// openNode starts a node with the door and the sample limits.
func openNode(t *testing.T) *node.Node {
	t.Helper()
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte(sampleLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := node.Open(node.Config{Data: t.TempDir(), Durability: storage.Memory, Limits: file, ListenGRPC: "127.0.0.1:0", Doors: []string{"rlqs"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// connect is an Envoy with a stream of its own to the node.
func connect(t *testing.T, n *node.Node) rlqsv3.RateLimitQuotaService_StreamRateLimitQuotasClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+n.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := rlqsv3.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return stream
}

func report(t *testing.T, stream rlqsv3.RateLimitQuotaService_StreamRateLimitQuotasClient, domain string, id map[string]string) {
	t.Helper()
	if err := stream.Send(&rlqsv3.RateLimitQuotaUsageReports{Domain: domain, BucketQuotaUsages: []*rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{
		{BucketId: &rlqsv3.BucketId{Bucket: id}, NumRequestsAllowed: 1},
	}}); err != nil {
		t.Fatal(err)
	}
}

// Envoys at a real node, with the generated client: each is assigned to, pushed the next assignment before the first is over, and abandons nothing by itself.
func TestWire(t *testing.T) {
	t.Parallel()
	n := openNode(t)
	for _, envoy := range []string{"first", "second"} {
		stream := connect(t, n)
		begun := time.Now()
		report(t, stream, "d", api)
		serials := map[int32]bool{}
		for i := range 2 {
			m, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			a := m.GetBucketAction()[0].GetQuotaAssignmentAction()
			b := a.GetRateLimitStrategy().GetTokenBucket()
			if err := m.ValidateAll(); err != nil {
				t.Errorf("Envoy refuses %v: %v", m, err)
			}
			if a.GetAssignmentTimeToLive().AsDuration() != 4*time.Second || b.GetMaxTokens() < 50 || b.GetMaxTokens() > 100 || b.GetFillInterval().GetSeconds() != 60 || b.GetTokensPerFill().GetValue() != b.GetMaxTokens() {
				t.Errorf("the %s Envoy is assigned %v", envoy, a)
			}
			if serials[b.GetFillInterval().GetNanos()] {
				t.Error("Envoy would not fill this bucket: it is equal to the last one")
			}
			serials[b.GetFillInterval().GetNanos()] = true
			if took := time.Since(begun); i == 1 && took < 3*time.Second { // a machine may take longer; TestSubscribes has the exact time
				t.Errorf("the next assignment comes after %v", took)
			}
			if envoy == "second" {
				break
			}
		}
	}
	d, err := n.Check(t.Context(), limit.Request{Key: api["key"], Look: true, Limits: []limit.Ref{limit.Named("api")}})
	if err != nil || d.Limits[0].Leased < 100 || d.Limits[0].Leased > 200 {
		t.Errorf("the bucket shows %+v, %v", d.Limits, err)
	}
}

func TestInvalidOnTheWire(t *testing.T) {
	t.Parallel()
	n := openNode(t)
	for domain, want := range map[string]codes.Code{"": codes.InvalidArgument, "d": codes.OK} {
		stream := connect(t, n)
		report(t, stream, domain, map[string]string{"limit": "none", "key": "k"})
		m, err := stream.Recv()
		if status.Code(err) != want || err == nil && m.GetBucketAction()[0].GetQuotaAssignmentAction().GetRateLimitStrategy().GetBlanketRule().String() != "DENY_ALL" {
			t.Errorf("domain %q: %v, %v, want %v", domain, m, err, want)
		}
	}
	stream := connect(t, n)
	report(t, stream, "d", api)
	report(t, stream, "other", api)
	for {
		if _, err := stream.Recv(); err != nil {
			if status.Code(err) != codes.InvalidArgument || !strings.HasPrefix(status.Convert(err).Message(), "domain: ") {
				t.Errorf("another domain: %v", err)
			}
			return
		}
	}
}

// A message that would be large once it is read ends the stream, and other streams go on.
func TestManyFields(t *testing.T) {
	t.Parallel()
	n := openNode(t)
	other := connect(t, n)
	report(t, other, "d", api)
	m := &rlqsv3.RateLimitQuotaUsageReports{Domain: "d"}
	for range 100_000 {
		m.BucketQuotaUsages = append(m.BucketQuotaUsages, &rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "api"}}})
	}
	var got *rlqsv3.RateLimitQuotaResponse
	var err error
	for range 10 { // on a slow machine, a message of that size may be cut off before it is there
		stream := connect(t, n)
		if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if got, err = stream.Recv(); err == nil || strings.Contains(err.Error(), "more than 400000 fields") {
			break
		}
		t.Log(err)
	}
	if err == nil || !strings.Contains(err.Error(), "more than 400000 fields") {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := other.Recv(); err != nil || len(got.GetBucketAction()) != 1 {
		t.Errorf("another stream: %v, %v", got, err)
	}
}
