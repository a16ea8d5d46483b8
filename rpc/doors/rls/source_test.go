package rls_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jeton-dev/jeton/rpc/doors/rls"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// A sent is a configuration, and where the error of taking it goes.
type sent struct {
	resources []descriptors.Resource
	taken     chan error
}

// A pusher is a source of a test.
type pusher chan sent

// Follow implements rls.Source.
func (p pusher) Follow(ctx context.Context, take func([]descriptors.Resource) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-p:
			s.taken <- take(s.resources)
		}
	}
}

// Name implements rls.Source.
func (pusher) Name() string { return "the test" }

func (p pusher) push(resources ...descriptors.Resource) error {
	s := sent{resources, make(chan error, 1)}
	p <- s
	return <-s.taken
}

// ofSource is a rig whose door follows a source.
func ofSource(t *testing.T, cfg rls.Config) (*rig, pusher) {
	t.Helper()
	p := make(pusher)
	cfg.Limiter, cfg.Source = openNode(t), p
	r := newRig(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.door.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return r, p
}

// domainOf is a resource with one limit per year.
func domainOf(domain, key string, requests uint32) descriptors.Resource {
	return descriptors.Resource{Name: domain, Domain: domain, Descriptors: []descriptors.Descriptor{{Key: key, Rate: &descriptors.Rate{Requests: requests, Unit: "YEAR"}}}}
}

func TestSource(t *testing.T) {
	r, p := ofSource(t, rls.Config{})
	one := request("d", "k=v")
	if _, err := r.client.ShouldRateLimit(t.Context(), one); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no configuration has come from the test yet") {
		t.Errorf("before a configuration: %v", err)
	}
	if err := p.push(descriptors.Resource{Name: "bad"}); err == nil {
		t.Error("a resource without a domain is taken")
	}
	if _, err := r.client.ShouldRateLimit(t.Context(), one); !strings.Contains(err.Error(), "bad: domain: is missing or empty") {
		t.Errorf("after a bad configuration: %v", err)
	}
	if err := p.push(domainOf("d", "k", 2), domainOf("e", "k", 0)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ok, ok, over} {
		if got := r.ask(one).GetOverallCode(); got != want {
			t.Errorf("request %d: %v", i, got)
		}
	}
	if got := r.ask(request("e", "k=v")).GetOverallCode(); got != over {
		t.Errorf("of 0 a year: %v", got)
	}
	if err := p.push(domainOf("d", "", 5)); err == nil {
		t.Error("a descriptor without a key is taken")
	}
	if got := r.ask(one).GetOverallCode(); got != over {
		t.Errorf("after a bad configuration, the one before is not in force: %v", got)
	}
	if err := p.push(domainOf("d", "k", 4)); err != nil {
		t.Fatal(err)
	}
	if got := r.ask(one).GetOverallCode(); got != over { // what was spent stays spent, as a part of the limit
		t.Errorf("with a larger limit: %v", got)
	}
	if got := r.ask(request("e", "k=v")).GetOverallCode(); got != ok {
		t.Errorf("a domain that is gone: %v", got)
	}
	if n, inForce := r.door.Domains(); n != 1 || !inForce || len(r.door.Rules()) != 1 || r.door.Rules()[0].Path != "d.k" {
		t.Errorf("%d domains, in force %v, with the rules %v", n, inForce, r.door.Rules())
	}
}

// TestReported charges what is reported after the work, which does not fit.
func TestReported(t *testing.T) {
	rules := "domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: year, requests_per_unit: 100}}\n- {key: other, rate_limit: {unit: year, requests_per_unit: 100}}\n"
	look := request("d", "k=v")
	look.GetDescriptors()[0].HitsAddend = wrapperspb.UInt64(0)
	report := func(hits uint64) *ratelimitv3.RateLimitRequest {
		q := request("d", "k=v")
		q.GetDescriptors()[0].HitsAddend = wrapperspb.UInt64(hits)
		return q
	}
	for _, reported := range []bool{false, true} {
		r := newRig(t, rls.Config{Limiter: openNode(t), Directory: write(t, rules), Reported: reported})
		r.ask(report(60))
		if got := r.ask(look).GetOverallCode(); got != ok {
			t.Errorf("with 40 left: %v", got)
		}
		if got := r.ask(report(500)).GetOverallCode(); got != over {
			t.Errorf("500 of 40: %v", got)
		}
		want := ok
		if reported {
			want = over
		}
		if got := r.ask(look).GetOverallCode(); got != want {
			t.Errorf("reported is %v: after 560 of 100: %v", reported, got)
		}
		// Of several descriptors those without hits of their own are charged together still.
		both := request("d", "k=w", "other=w")
		both.HitsAddend = 101
		r.ask(both)
		single := request("d", "other=w")
		if got, want := r.ask(single).GetStatuses()[0].GetLimitRemaining(), map[bool]uint32{false: 99, true: 0}[reported]; got != want {
			t.Errorf("reported is %v: %d are left, want %d", reported, got, want)
		}
	}
}

// TestManyLimits has more limits in a request than can be charged together.
func TestManyLimits(t *testing.T) {
	rules, many := "domain: d\ndescriptors:\n", []string{}
	for i := range 40 {
		rules += fmt.Sprintf("- {key: k%d, rate_limit: {unit: year, requests_per_unit: %d}}\n", i, 2+i)
		many = append(many, fmt.Sprintf("k%d=v", i))
	}
	directory := write(t, rules)
	r := newRig(t, rls.Config{Limiter: openNode(t), Directory: directory, Reported: true})
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ok, ok, over} {
		answer := r.ask(request("d", many...))
		if got, left := answer.GetOverallCode(), answer.GetStatuses()[39].GetLimitRemaining(); got != want || left != uint32(40-i) {
			t.Errorf("request %d: %v, with %d left", i, got, left)
		}
	}
	strict := newRig(t, rls.Config{Limiter: openNode(t), Directory: directory})
	if _, err := strict.client.ShouldRateLimit(t.Context(), request("d", many...)); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestGlobalShadow(t *testing.T) {
	rules := "domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: year, requests_per_unit: 1}}\n"
	r := newRig(t, rls.Config{Limiter: openNode(t), Directory: write(t, rules), Shadow: true})
	r.ask(request("d", "k=v"))
	if got := r.ask(request("d", "k=v")); got.GetOverallCode() != ok || got.GetStatuses()[0].GetCode() != over {
		t.Errorf("got %v", got)
	}
}

// TestAllFiles reads files whatever their names, and merges those of one domain.
func TestAllFiles(t *testing.T) {
	directory := write(t, "domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: year, requests_per_unit: 0}}\n")
	put(t, filepath.Join(directory, "more"), "domain: d\ndescriptors:\n- {key: m, rate_limit: {unit: year, requests_per_unit: 0}}\n")
	put(t, filepath.Join(directory, ".hidden"), "not: rules\n")
	r := newRig(t, rls.Config{Limiter: openNode(t), Directory: directory, AllFiles: true, Merge: true})
	for _, key := range []string{"k", "m"} {
		if got := r.ask(request("d", key+"=v")).GetOverallCode(); got != over {
			t.Errorf("%s: %v", key, got)
		}
	}
	if _, err := rls.New(rls.Config{Limiter: openNode(t), Directory: directory, Source: make(pusher)}); err == nil {
		t.Error("a directory and a source are taken")
	}
}
