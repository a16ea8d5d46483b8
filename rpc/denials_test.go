package rpc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/details"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// denials are what the limiter of the tests says, by the key.
var denials = map[string]limit.Decision{
	"waits": {Limits: []limit.Outcome{
		{Name: "login", Limit: 10, Remaining: 1, RetryAfter: 1600 * time.Microsecond, ResetAfter: time.Second},
		{Name: "spared", Allowed: true, Limit: 5, Remaining: 5},
		{Name: "daily", Limit: 100, RetryAfter: 1200 * time.Microsecond, ResetAfter: time.Minute},
	}},
	"long":  {Limits: []limit.Outcome{{Name: "login", Limit: 10, RetryAfter: time.Hour, ResetAfter: time.Hour}}},
	"never": {Limits: []limit.Outcome{{Name: "login", Never: true, Limit: 10, Remaining: 10}}},
}

// answers decides by the key: a denial above, a node that sheds load, or yes.
func answers(_ context.Context, r limit.Request) (limit.Decision, error) {
	if r.Key == "shed" {
		return limit.Decision{}, fmt.Errorf("%w: too many", limit.ErrOverloaded)
	}
	if d, denied := denials[r.Key]; denied {
		return d, nil
	}
	return limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: "login", Allowed: true, Limit: 10, Remaining: 9}}}, nil
}

// asking is a context in which denials are asked for in that way.
func asking(t *testing.T, how ...string) context.Context {
	t.Helper()
	return metadata.NewOutgoingContext(t.Context(), metadata.MD{details.Asked: how})
}

// details are those of an error, by type.
func detailsOf(err error) (retry *errdetails.RetryInfo, quota *errdetails.QuotaFailure) {
	for _, d := range status.Convert(err).Details() {
		switch m := d.(type) {
		case *errdetails.RetryInfo:
			retry = m
		case *errdetails.QuotaFailure:
			quota = m
		}
	}
	return retry, quota
}

// TestDenialsAsErrors asks with a client of gRPC alone: a denial is an answer, or an error for those who ask for it.
func TestDenialsAsErrors(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	_, conn := serve(t, Config{Registerer: registry, Limiter: conformance.Stub{
		OnCheck: answers,
		OnAll: func(context.Context, []limit.Request) (limit.AllDecision, error) {
			return limit.AllDecision{
				Denied:    &limit.Denial{Check: 1, Key: "waits", Limit: "login"},
				Decisions: []limit.Decision{{Allowed: true}, denials["waits"], {}},
			}, nil
		},
	}})
	c := pb.NewLimiterClient(conn)
	for key, want := range denials {
		m, err := c.Check(t.Context(), checkMessage(key))
		if got, _ := pb.DecodeDecision(m.GetDecision()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, not asked for: %+v, %v", key, got, err)
		}
		var trailer metadata.MD
		_, err = c.Check(asking(t, "error"), checkMessage(key), grpc.Trailer(&trailer))
		if got, ok := pb.DenialOf(err); status.Code(err) != codes.ResourceExhausted || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v: %v", key, got, ok, err)
		}
		retry, quota := detailsOf(err)
		waits := map[string]time.Duration{"waits": 1600 * time.Microsecond, "long": time.Hour}
		if got := retry.GetRetryDelay().AsDuration(); got != waits[key] || (retry == nil) != (key == "never") {
			t.Errorf("%s: retry after %v, %v", key, got, retry)
		}
		if back := map[string]string{"waits": "2", "long": "-1", "never": "-1"}[key]; len(trailer["grpc-retry-pushback-ms"]) != 1 || trailer["grpc-retry-pushback-ms"][0] != back {
			t.Errorf("%s: the trailer is %v, want a pushback of %s", key, trailer, back)
		}
		for _, v := range quota.GetViolations() {
			if v.GetSubject() != key || strings.HasPrefix(v.GetDescription(), "spared") {
				t.Errorf("%s: %v", key, v)
			}
		}
	}
	_, err := c.Check(asking(t, "error"), checkMessage("waits"))
	wantCode(t, err, codes.ResourceExhausted, "denied by login: 1 of 10 left; try again in 1.6ms")
	if _, quota := detailsOf(err); len(quota.GetViolations()) != 2 || quota.GetViolations()[1].GetDescription() != "daily: 0 of 100 left; try again in 1.2ms" {
		t.Errorf("got %v", quota)
	}
	_, err = c.Check(asking(t, "error"), checkMessage("never"))
	wantCode(t, err, codes.ResourceExhausted, "denied by login: 10 of 10 left; the cost is above the capacity and can never pass")
	if m, err := c.Check(asking(t, "error"), checkMessage("fine")); err != nil || !m.GetDecision().GetAllowed() {
		t.Errorf("an admission that could have been an error: %v, %v", m, err)
	}

	_, err = c.Check(asking(t, "error"), checkMessage("shed"))
	if _, denied := pb.DenialOf(err); denied || status.Code(err) != codes.ResourceExhausted || !errors.Is(pb.DecodeError(err), limit.ErrOverloaded) {
		t.Errorf("shedding is taken for a denial: %v", err)
	}
	if retry, quota := detailsOf(err); retry != nil || quota != nil {
		t.Errorf("shedding has %v and %v", retry, quota)
	}
	all := &pb.CheckAllRequest{Checks: []*pb.CheckRequest{checkMessage("fine"), checkMessage("waits")}}
	_, err = c.CheckAll(asking(t, "error"), all)
	if got, ok := pb.DenialOf(err); !ok || !reflect.DeepEqual(got, denials["waits"]) {
		t.Errorf("of several keys: %+v: %v", got, err)
	}
	for _, how := range [][]string{{"errors"}, {""}, {"error", "error"}} {
		_, err = c.Check(asking(t, how...), checkMessage("waits"))
		wantCode(t, err, codes.InvalidArgument, "is not known: send error once")
		_, err = c.CheckBatch(asking(t, how...), &pb.CheckBatchRequest{Checks: []*pb.CheckRequest{checkMessage("fine")}})
		wantCode(t, err, codes.InvalidArgument, "jeton-denials")
	}
	for _, m := range metricstest.Gather(t, registry, "jeton_rpc_seconds") {
		if code := m.GetLabel()[0].GetValue(); code == "ResourceExhausted" && m.GetHistogram().GetSampleCount() != 1 {
			t.Errorf("%d calls count as shed: denials are no errors", m.GetHistogram().GetSampleCount())
		}
	}
}

// TestDenialsOfMany asks for many at once: each denied one is an error by itself, and the Go client's decoder takes either form.
func TestDenialsOfMany(t *testing.T) {
	everyWay(t, func(t *testing.T, asked func(conformance.Stub) limit.Limiter) {
		t.Helper()
		_, conn := serve(t, Config{Limiter: asked(conformance.Stub{OnCheck: answers})})
		c := pb.NewLimiterClient(conn)
		keys := []string{"waits", "fine", "never", "shed"}
		batch, stream := &pb.CheckBatchRequest{}, &pb.CheckStreamRequest{}
		for i, key := range keys {
			batch.Checks = append(batch.Checks, checkMessage(key))
			stream.Checks = append(stream.Checks, &pb.StreamCheck{Id: uint64(i), Check: checkMessage(key)})
		}
		for _, how := range [][]string{nil, {"error"}} {
			m, err := c.CheckBatch(asking(t, how...), batch)
			if err != nil {
				t.Fatal(err)
			}
			results := m.GetResults()
			s, err := c.CheckStream(asking(t, how...))
			if err != nil || s.Send(stream) != nil || s.CloseSend() != nil {
				t.Fatal(err)
			}
			streamed := make([]*pb.CheckResult, len(keys))
			for n := 0; n < len(keys); {
				m, err := s.Recv()
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range m.GetResults() {
					streamed[r.GetId()] = r.GetResult()
					n++
				}
			}
			for i, key := range keys {
				for _, r := range []*pb.CheckResult{results[i], streamed[i]} {
					d, denied := denials[key]
					if got := r.GetError() != nil; got != (key == "shed" || denied && how != nil) {
						t.Errorf("%s, asked for %v: %v", key, how, r)
					}
					got := pb.DecodeResult(r)
					if denied && (got.Err != nil || !reflect.DeepEqual(got.Decision, d)) || (key == "shed") != errors.Is(got.Err, limit.ErrOverloaded) {
						t.Errorf("%s, asked for %v, is read as %+v", key, how, got)
					}
				}
			}
		}
	})
}

// TestRetryPolicies has the retry policy of gRPC itself act on denials: it waits and is admitted, and does not try again what cannot
// pass, or not in time.
func TestRetryPolicies(t *testing.T) {
	var asked atomic.Int64
	s, _ := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(ctx context.Context, r limit.Request) (limit.Decision, error) {
		if asked.Add(1) > 2 {
			r.Key = "fine"
		}
		return answers(ctx, r)
	}}})
	conn, err := grpc.NewClient("passthrough:///"+listen(t, s), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(`{
		"methodConfig": [{"name": [{}], "retryPolicy": {
			"maxAttempts": 5, "initialBackoff": "3600s", "maxBackoff": "3600s", "backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]
		}}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for key, want := range map[string]int64{"waits": 3, "long": 1, "never": 1} {
		asked.Store(0)
		m, err := pb.NewLimiterClient(conn).Check(asking(t, "error"), checkMessage(key))
		if asked.Load() != want || (err == nil) != (key == "waits") || m.GetDecision().GetAllowed() != (err == nil) {
			t.Errorf("%s: asked %d times, want %d: %v, %v", key, asked.Load(), want, m, err)
		}
	}
}

// A status travels in a header, and the largest one must fit where clients read no more than 8 KiB.
func TestLargestDenial(t *testing.T) {
	d := &pb.DeniedError{Key: strings.Repeat("k", limit.MaxKey)}
	for i := range limit.MaxLimits {
		d.Decision.Limits = append(d.Decision.Limits, limit.Outcome{
			Name: fmt.Sprintf("%0*d", limit.MaxName, i), Limit: 1 << 62, Remaining: 1 << 61, RetryAfter: 1 << 61, ResetAfter: 1 << 61,
		})
	}
	text, err := proto.Marshal(d.GRPCStatus().Proto())
	if n := base64.RawStdEncoding.EncodedLen(len(text)) + len(d.Error()); err != nil || n > 8<<10-512 {
		t.Errorf("it takes %d bytes: %v", n, err)
	}
	if got, ok := pb.DenialOf(d.GRPCStatus().Err()); !ok || len(got.Limits) != limit.MaxLimits {
		t.Errorf("it is read as %+v", got)
	}
	if got, ok := pb.DenialOf(fmt.Errorf("wrapped: %w", d)); !ok || len(got.Limits) != limit.MaxLimits {
		t.Errorf("unsent, it is read as %+v", got)
	}
	if none := (&pb.DeniedError{}); none.Error() != "denied" || none.GRPCStatus().Code() != codes.ResourceExhausted {
		t.Errorf("one without limits is %v", none.GRPCStatus())
	}
}
