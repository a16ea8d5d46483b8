package rlqs_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rlqs"
)

// A conn is a stream in memory. What is sent over it takes its time, and keeps its order.
type conn struct {
	grpc.ServerStream

	ctx     context.Context //nolint:containedctx // as in grpc
	reports chan *rlqsv3.RateLimitQuotaUsageReports
	told    chan *rlqsv3.RateLimitQuotaResponse
	unread  bool // Send blocks for good
}

func (c *conn) Context() context.Context { return c.ctx }

func (c *conn) Recv() (*rlqsv3.RateLimitQuotaUsageReports, error) {
	select {
	case m, ok := <-c.reports:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

func (c *conn) Send(m *rlqsv3.RateLimitQuotaResponse) error {
	if c.unread {
		<-c.ctx.Done()
		return c.ctx.Err()
	}
	select {
	case c.told <- m:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// A registrar keeps what is registered.
type registrar struct {
	service rlqsv3.RateLimitQuotaServiceServer
}

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, impl any) {
	r.service = impl.(rlqsv3.RateLimitQuotaServiceServer)
}

// A bed has a door, and Envoys, in a bubble.
type bed struct {
	t        *testing.T
	system   limit.Limiter
	limits   func() *limit.Document
	door     *rlqs.Door
	service  rlqsv3.RateLimitQuotaServiceServer
	registry *prometheus.Registry
	running  sync.WaitGroup
}

func newBed(t *testing.T, limiter limit.Limiter, limits func() *limit.Document) *bed {
	t.Helper()
	b := &bed{t: t, system: limiter, limits: limits, registry: prometheus.NewRegistry()}
	var err error
	if b.door, err = rlqs.New(rlqs.Config{Limiter: limiter, Limits: limits, Registerer: b.registry}); err != nil {
		t.Fatal(err)
	}
	var r registrar
	b.door.Register(&r)
	b.service = r.service
	return b
}

// close waits until all streams have ended.
func (b *bed) close() {
	b.running.Wait()
	if err := b.door.Close(); err != nil {
		b.t.Error(err)
	}
}

// A link is the stream of an Envoy.
type link struct {
	*conn

	cut   context.CancelFunc
	ended chan error
}

// dial opens a stream. What the door sends comes to told, after a delay.
func (b *bed) dial(told func(*rlqsv3.RateLimitQuotaResponse), delay func() time.Duration) *link {
	ctx, cut := context.WithCancel(context.Background())
	l := &link{conn: &conn{ctx: ctx, reports: make(chan *rlqsv3.RateLimitQuotaUsageReports, 100), told: make(chan *rlqsv3.RateLimitQuotaResponse, 1000)}, cut: cut, ended: make(chan error, 1)}
	b.running.Go(func() {
		defer cut()
		l.ended <- b.service.StreamRateLimitQuotas(l)
	})
	if told == nil {
		return l
	}
	b.running.Go(func() {
		for {
			select {
			case m := <-l.told:
				<-time.After(delay())
				if ctx.Err() == nil {
					told(m)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return l
}

// inBubble runs f in virtual time, and ends all of its streams.
func inBubble(t *testing.T, limits string, f func(b *bed)) {
	t.Helper()
	inBubbleBy(t, limits, func(l limit.Limiter) limit.Limiter { return l }, f)
}

// inBubbleBy is inBubble for a door that asks by another limiter.
func inBubbleBy(t *testing.T, limits string, by func(limit.Limiter) limit.Limiter, f func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		system, doc := start(t, limits)
		b := newBed(t, by(system), func() *limit.Document { return doc })
		b.system = system
		f(b)
		b.close()
		system.Close()
	})
}
