package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestNewWithout(t *testing.T) {
	ok := Config{Checker: failing(nil), Limits: func() *limit.Document { return nil }}
	for what, spoil := range map[string]func(*Config){
		"no checker":        func(c *Config) { c.Checker = nil },
		"no limits":         func(c *Config) { c.Limits = nil },
		"negative gateways": func(c *Config) { c.Gateways = -1 },
		"negative within":   func(c *Config) { c.Within = -1 },
	} {
		cfg := ok
		spoil(&cfg)
		if g, err := New(cfg); err == nil {
			g.Close()
			t.Errorf("%s: no error", what)
		}
	}
	ok.Registerer = prometheus.NewRegistry()
	guard(t, ok)
	if _, err := New(ok); err == nil {
		t.Error("the metrics were registered twice")
	}
}

// TestByCluster passes on what the cluster decides, denials too.
func TestByCluster(t *testing.T) {
	want := limit.Decision{Limits: []limit.Outcome{{Name: "closed", RetryAfter: time.Second}}, Node: "127.0.0.1:7700"}
	g := guard(t, Config{Checker: fake{check: func(_ context.Context, r limit.Request) (limit.Decision, error) {
		if r.Key != "k" || r.Cost != 1 || r.Limits[0].Name != "closed" {
			t.Errorf("the cluster was asked %+v", r)
		}
		return want, nil
	}}})
	if v := g.Check(t.Context(), ask("k", "closed"), limit.Allow); v.Source != ByCluster || v.Err != nil || !reflect.DeepEqual(v.Decision, want) {
		t.Errorf("got %+v", v)
	}
}

// TestPolicies holds every kind of error against every policy: what happens depends on the policy alone.
func TestPolicies(t *testing.T) {
	doc := document(t, stored)
	inline := func(policy limit.Policy) limit.Request {
		l := limit.Limit{Name: "inline", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}, OnUnavailable: policy}
		return limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Inline(l)}}
	}
	broken := limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "broken"})}}
	for what, c := range map[string]struct {
		request limit.Request
		policy  limit.Policy
		doc     *limit.Document
		want    Source
	}{
		"allow":                    {ask("k", "open"), "", doc, ByAllow},
		"deny":                     {ask("k", "closed"), "", doc, ByDeny},
		"local":                    {ask("k", "here"), "", doc, ByLocal},
		"two locals":               {ask("k", "here", "there"), "", doc, ByLocal},
		"allow and local":          {ask("k", "open", "here"), "", doc, ByLocal},
		"local and allow":          {ask("k", "here", "open"), "", doc, ByLocal},
		"all":                      {ask("k", "open", "here", "closed"), "", doc, ByDeny},
		"deny first":               {ask("k", "closed", "open"), "", doc, ByDeny},
		"unknown":                  {ask("k", "nowhere"), "", doc, ByDeny},
		"unknown and allow":        {ask("k", "open", "nowhere"), "", doc, ByDeny},
		"own allow":                {ask("k", "closed"), limit.Allow, doc, ByAllow},
		"own deny":                 {ask("k", "open"), limit.Deny, doc, ByDeny},
		"own local":                {ask("k", "open", "closed"), limit.Local, doc, ByLocal},
		"own allow of an unknown":  {ask("k", "nowhere"), limit.Allow, doc, ByAllow},
		"own local of an unknown":  {ask("k", "nowhere"), limit.Local, doc, ByDeny},
		"never heard":              {ask("k", "open"), "", nil, ByDeny},
		"never heard, own allow":   {ask("k", "open"), limit.Allow, nil, ByAllow},
		"never heard, own local":   {ask("k", "open"), limit.Local, nil, ByDeny},
		"no such policy":           {ask("k", "open"), "perhaps", doc, ByDeny},
		"inline":                   {inline(""), "", nil, ByAllow},
		"inline deny":              {inline(limit.Deny), "", doc, ByDeny},
		"inline local":             {inline(limit.Local), "", nil, ByLocal},
		"an inline that is broken": {broken, "", doc, ByDeny},
		"a negative cost":          {limit.Request{Key: "k", Cost: -1, Limits: ask("k", "here").Limits}, "", doc, ByDeny},
	} {
		for why, err := range map[reason]error{
			unavailable: fmt.Errorf("n1: %w", limit.ErrUnavailable), timeout: context.DeadlineExceeded,
			overloaded: limit.ErrOverloaded, unknownLimit: fmt.Errorf("%w: login", limit.ErrUnknownLimit),
			invalid: &limit.FieldError{Field: "key", Problem: "is empty"}, other: errors.New("a surprise"),
		} {
			registry := prometheus.NewRegistry()
			g := guard(t, Config{Checker: failing(err), Limits: func() *limit.Document { return c.doc }, Registerer: registry})
			v := g.Check(t.Context(), c.request, c.policy)
			allowed := c.want == ByAllow || c.want == ByLocal
			if v.Source != c.want || v.Allowed != allowed || !errors.Is(v.Err, err) || v.Node != "" || v.Receipts != nil {
				t.Errorf("%s, %s: got %+v, want %s", what, why, v, c.want)
			}
			if (c.want == ByLocal) != (len(v.Limits) > 0) {
				t.Errorf("%s, %s: outcomes %+v", what, why, v.Limits)
			}
			counted := series(t, registry)
			if counted["jeton_fallback_checks_total "+string(c.want)] != 1 || counted["jeton_fallback_undecided_total "+string(why)] != 1 {
				t.Errorf("%s, %s: counted %v", what, why, counted)
			}
		}
	}
}

// TestWithin lets the cluster be silent: the verdict is there when the budget is used up, and not before.
func TestWithin(t *testing.T) {
	silent := fake{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		<-ctx.Done()
		return limit.Decision{}, ctx.Err()
	}}
	synctest.Test(t, func(t *testing.T) {
		for _, within := range []time.Duration{0, time.Millisecond, 30 * time.Second} {
			g := guard(t, Config{Checker: silent, Within: within})
			start := time.Now()
			v := g.Check(t.Context(), ask("k", "here"), "")
			want := within
			if within == 0 {
				want = defaultWithin
			}
			if took := time.Since(start); took != want {
				t.Errorf("within %v: it took %v", within, took)
			}
			if v.Source != ByLocal || !errors.Is(v.Err, context.DeadlineExceeded) {
				t.Errorf("within %v: %+v", within, v)
			}
		}

		g := guard(t, Config{Checker: silent, Within: time.Second})
		start, deadline := time.Now(), g.Deadline()
		for range 3 {
			if v := g.CheckBy(t.Context(), ask("k", "open"), "", deadline); v.Source != ByAllow {
				t.Errorf("got %+v", v)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("three checks of one request took %v", took)
		}
	})
}

// TestNobodyWaits ends the request itself: that is no outage, and nothing is charged.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry, log := prometheus.NewRegistry(), new(journal)
		g := guard(t, Config{Registerer: registry, Logger: slog.New(log), Checker: fake{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
			<-ctx.Done()
			return limit.Decision{}, ctx.Err()
		}}})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		left, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, leave)
		for _, ctx := range []context.Context{short, left} {
			if v := g.Check(ctx, ask("k", "here"), limit.Allow); v.Source != ByDeny || v.Allowed || !errors.Is(v.Err, ctx.Err()) {
				t.Errorf("got %+v", v)
			}
		}
		counted := series(t, registry)
		if counted["jeton_fallback_undecided_total canceled"] != 2 || counted["jeton_fallback_outage"] != 0 || g.local.size() != 0 || len(log.take()) > 0 {
			t.Errorf("counted %v", counted)
		}
	})
}

// TestAllocations holds what a Guard adds to a check that is decided from memory: its budget, and no timer.
func TestAllocations(t *testing.T) {
	g := guard(t, Config{Within: time.Minute, Checker: fake{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		_, timed := ctx.Deadline()
		return limit.Decision{Allowed: timed && ctx.Err() == nil && ctx.Value(nameKey{}) == nil}, nil
	}}})
	ctx, r := t.Context(), ask("k", "here")
	allocated := testing.AllocsPerRun(1000, func() {
		if !g.Check(ctx, r, "").Allowed {
			t.Error("denied")
		}
	})
	if allocated > 1 {
		t.Errorf("%v allocations for a check, want 1", allocated)
	}
}

func BenchmarkGuard(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for what, c := range map[string]struct {
		checker fake
		limits  string
	}{
		"decided": {fake{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
			return limit.Decision{Allowed: true}, ctx.Err()
		}}, "here"},
		"decided after waiting": {fake{check: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
			select {
			case <-ctx.Done():
			default:
			}
			return limit.Decision{Allowed: true}, nil
		}}, "here"},
		"allow": {failing(limit.ErrUnavailable), "open"},
		"deny":  {failing(limit.ErrUnavailable), "closed"},
		"local": {failing(limit.ErrUnavailable), "here"},
	} {
		b.Run(what, func(b *testing.B) {
			g := guard(b, Config{Checker: c.checker})
			r := ask("user:42", c.limits)
			b.ReportAllocs()
			for b.Loop() {
				g.Check(ctx, r, "")
			}
		})
	}
}
