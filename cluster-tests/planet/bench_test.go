package main

import (
	"context"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A giver is a cluster that gives any lease, at once.
type giver struct {
	limit.Limiter

	checks, leases int
}

func (g *giver) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	g.checks++
	d := limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: r.Limits[0].Name, Allowed: true}}}
	if r.Lease != nil {
		g.leases++
		now := r.Lease.Now
		end := now + int64(r.Lease.Life)
		d.Lease = &limit.Lease{Receipt: limit.Receipt{Limit: r.Limits[0].Name, Span: limit.Span{Start: end, End: end + r.Cost}}, Until: end, Now: now}
	}
	return d, nil
}

// BenchmarkHere measures a check that an edge decides: costs.go has what it takes.
func BenchmarkHere(b *testing.B) {
	doc, err := limit.NewDocument(limit.Limit{Name: "api", Capacity: 1 << 40, Refill: limit.Refill{Tokens: 1e9, Per: time.Second}, Consistency: limit.Leased})
	if err != nil {
		b.Fatal(err)
	}
	life, end := context.WithCancel(b.Context())
	background := func(f func(context.Context)) bool {
		go f(life)
		return true
	}
	g := &giver{}
	e, err := edge.New(edge.Config{Cluster: g, Limits: func() *limit.Document { return doc }, Go: background})
	if err != nil {
		b.Fatal(err)
	}
	r := limit.Request{Key: "user:0000000001", Limits: []limit.Ref{limit.Named("api")}, Cost: 1}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := e.Check(b.Context(), r); err != nil || !d.Allowed {
			b.Fatal(d, err)
		}
	}
	end()
}
