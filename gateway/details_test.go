package gateway_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/rpc/details"
)

// detailsOf are the details of the status of an error, in words.
func detailsOf(err error) (said []string) {
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			said = append(said, fmt.Sprint("retry in ", d.GetRetryDelay().AsDuration()))
		case *errdetails.QuotaFailure:
			for _, v := range d.GetViolations() {
				said = append(said, fmt.Sprintf("%q %s", v.GetSubject(), v.GetDescription()))
			}
		default:
			said = append(said, fmt.Sprintf("%T", d))
		}
	}
	return said
}

// Who asks for denials as errors, as a node is asked, has details in the status: through the proxy and with interceptors. What is no
// denial has none.
func TestDenialsHaveDetails(t *testing.T) {
	const routes = "- {name: all, path: /, checks: [{limits: [two]}]}"
	proxied, inside := newCaller(t, false, routes), newRig(t, "routes:\n"+routes+"\n")
	service := dialService(t, inside)
	for way, w := range map[string]struct {
		check func(context.Context) error
		rig   *rig
	}{
		"proxy": {func(ctx context.Context) error { return proxied.check(ctx, "") }, proxied.rig},
		"interceptor": {func(ctx context.Context) error {
			_, err := service.Check(ctx, &healthpb.HealthCheckRequest{})
			return err
		}, inside},
	} {
		asking := func(how ...string) error {
			return w.check(metadata.NewOutgoingContext(t.Context(), metadata.MD{details.Asked: how}))
		}
		for range 2 {
			if err := asking(details.AsErrors); err != nil {
				t.Fatal(way, err)
			}
		}
		want := []string{"retry in 1m0s", `"" two: 0 of 2 left; try again in `}
		if err, got := asking(details.AsErrors), detailsOf(asking(details.AsErrors)); status.Code(err) != codes.ResourceExhausted || len(got) != 2 ||
			got[0] != want[0] || got[1][:len(want[1])] != want[1] {
			t.Errorf("%s: %v has %q, want %q", way, err, got, want)
		}
		for _, how := range [][]string{nil, {"OK"}, {details.AsErrors, details.AsErrors}} {
			if err := asking(how...); status.Code(err) != codes.ResourceExhausted || len(detailsOf(err)) != 0 {
				t.Errorf("%s, asked by %q: %v has %q", way, how, err, detailsOf(err))
			}
		}
		w.rig.breakDown(limit.ErrUnavailable)
		w.rig.pass(fallback.MaxKnown)
		if err := asking(details.AsErrors); status.Code(err) == codes.ResourceExhausted || len(detailsOf(err)) != 0 {
			t.Errorf("%s, without a decision: %v has %q", way, err, detailsOf(err))
		}
	}
}

// A request that no wait helps says so by having no wait.
func TestDetailsOfWhatNeverPasses(t *testing.T) {
	c := newCaller(t, false, "- {name: all, path: /, checks: [{limits: [two], cost: 3}]}")
	err := c.check(metadata.AppendToOutgoingContext(t.Context(), details.Asked, details.AsErrors), "")
	want := `"" two: 2 of 2 left; the cost is above the capacity and can never pass`
	if got := detailsOf(err); len(got) != 1 || got[0] != want {
		t.Errorf("%v has %q, want %q", err, got, want)
	}
}
