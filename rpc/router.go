package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// RouterConfig says what a Router is made of.
type RouterConfig struct {
	// Self is the node, and Local decides for it. Required.
	Self  ring.NodeID
	Local limit.Limiter
	// Tables is where the node's own table comes from. Required.
	Tables Tables
	// Serving says why the node cannot decide at present: it has not joined, or its clock is off. Nil, or an answer of
	// nil: it can. It is asked for every request, so it must be cheap.
	Serving func() error
	// TLS encrypts the connections to other nodes; nil for plain text.
	TLS *tls.Config
	// Registerer gets the metrics of the client that asks other nodes; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// A Router is the Limiter of a node's servers: it has what is this node's business decided here, and takes the rest to
// the node whose business it is. It decides nothing itself.
//
//	marked as forwarded ─▶ this node is a replica: Local           else refused, with the table's version
//	marked as routed ────▶ this node is a replica: Local           else like one without a mark, and the sender is told
//	without a mark ──────▶ the first healthy replica by the table: Local, or that node, marked as forwarded
//
// So a request takes one detour at most, even while tables differ.
type Router struct {
	self    string
	local   limit.Limiter
	serving func() error
	client  *client.Client
}

var _ limit.Limiter = (*Router)(nil)

// NewRouter makes a Router, which is to be closed. The error says what is missing in cfg.
func NewRouter(cfg RouterConfig) (*Router, error) {
	if cfg.Local == nil || cfg.Tables == nil || cfg.Self == (ring.NodeID{}) {
		return nil, errors.New("router: no limiter to ask, no table to go by, or no name of its own")
	}
	c, err := client.New(client.Config{
		Tables: cfg.Tables, Self: cfg.Self, Local: cfg.Local, FailFast: true,
		Timeout: defaultTime, TLS: cfg.TLS, Registerer: cfg.Registerer,
	})
	if err != nil {
		return nil, fmt.Errorf("router: %w", err)
	}
	r := &Router{self: cfg.Self.String(), local: cfg.Local, serving: cfg.Serving, client: c}
	if r.serving == nil {
		r.serving = func() error { return nil }
	}
	return r, nil
}

// Close gives up what other nodes were asked. Local is not closed.
func (r *Router) Close() error { return r.client.Close() }

// A route is what the marks of a call say.
type route struct {
	forwarded bool
	told      atomic.Bool // the sender has been told of this node's table
}

type routeKey struct{}

// withRoute puts what the marks of a call say into its context, once for all that the call asks. The usual call without
// marks keeps the context that it has.
func withRoute(ctx context.Context) context.Context {
	if len(metadata.ValueFromIncomingContext(ctx, pb.MarkRouted)) == 0 {
		return ctx
	}
	forwarded := len(metadata.ValueFromIncomingContext(ctx, pb.MarkForwarded)) > 0
	return context.WithValue(ctx, routeKey{}, &route{forwarded: forwarded})
}

func routeOf(ctx context.Context) *route {
	to, _ := ctx.Value(routeKey{}).(*route)
	return to
}

// refusal is why this node decides nothing at present, as the error of a call; nil if it does.
func (r *Router) refusal(ctx context.Context) error {
	err := r.serving()
	if err == nil {
		return nil
	}
	// Where there is no gRPC call, there is nobody to tell.
	_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.MarkRefuses, "1"))
	return fmt.Errorf("%w: %w", limit.ErrUnavailable, err)
}

// tell tells the sender of a call that it did not fit this node's table.
func (r *Router) tell(ctx context.Context, to *route) {
	if !to.told.Swap(true) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.TableVersion, strconv.FormatUint(r.client.Version(), 10)))
	}
}

// place says who answers a request about key: this node, or the client, which finds the right one. An error means nobody.
func (r *Router) place(ctx context.Context, key string) (limit.Limiter, error) {
	if err := r.refusal(ctx); err != nil {
		return nil, err
	}
	to := routeOf(ctx)
	switch {
	case r.client.Lone():
		return r.local, nil
	case to == nil:
		return r.client, nil
	}
	return r.follow(ctx, to, key)
}

// follow is place for a call with marks.
func (r *Router) follow(ctx context.Context, to *route, key string) (limit.Limiter, error) {
	if r.client.Mine(key) {
		return r.local, nil
	}
	r.tell(ctx, to)
	if to.forwarded {
		return nil, fmt.Errorf("%w: node %s is not a replica of the partition of %s by its table, version %d", limit.ErrUnavailable, r.self, limit.Quote(key), r.client.Version())
	}
	return r.client, nil
}

// Check implements [limit.Checker].
func (r *Router) Check(ctx context.Context, request limit.Request) (limit.Decision, error) {
	at, err := r.place(ctx, request.Key)
	if err != nil {
		return limit.Decision{}, err
	}
	return at.Check(ctx, request)
}

// CheckBatch implements [limit.BatchChecker]. What is this node's business and what is not are decided at the same time.
func (r *Router) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	to := routeOf(ctx)
	if err := r.refusal(ctx); err != nil {
		results := make([]limit.Result, len(rs))
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	switch {
	case r.client.Lone():
		return r.local.CheckBatch(ctx, rs)
	case to == nil:
		return r.client.CheckBatch(ctx, rs)
	}
	for i := range rs {
		if !r.client.Mine(rs[i].Key) {
			return r.part(ctx, to, rs)
		}
	}
	return r.local.CheckBatch(ctx, rs)
}

// part is CheckBatch for a marked batch of which some is not this node's business.
func (r *Router) part(ctx context.Context, to *route, rs []limit.Request) []limit.Result {
	results := make([]limit.Result, len(rs))
	var mine, others share
	for i := range rs {
		at, err := r.follow(ctx, to, rs[i].Key)
		switch {
		case err != nil:
			results[i].Err = err
		case at == limit.Limiter(r.client):
			others.add(i, rs[i])
		default:
			mine.add(i, rs[i])
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		others.decide(ctx, r.client, results)
	}()
	mine.decide(ctx, r.local, results)
	<-done
	return results
}

// A share is a part of a batch.
type share struct {
	requests []limit.Request
	places   []int // of the requests in the batch
}

func (s *share) add(place int, r limit.Request) {
	s.requests, s.places = append(s.requests, r), append(s.places, place)
}

// decide has the share decided, and puts the results in their places.
func (s *share) decide(ctx context.Context, by limit.BatchChecker, results []limit.Result) {
	if len(s.requests) == 0 {
		return
	}
	for i, result := range by.CheckBatch(ctx, s.requests) {
		results[s.places[i]] = result
	}
}

// Return implements [limit.Returner]. Of all replicas only the owner that made a receipt can take it back, so a call that
// was not forwarded goes to all of them.
func (r *Router) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := r.refusal(ctx); err != nil {
		return nil, err
	}
	to := routeOf(ctx)
	if to == nil || !to.forwarded {
		return r.client.Return(ctx, key, receipts)
	}
	at, err := r.follow(ctx, to, key)
	if err != nil {
		return nil, err
	}
	return at.Return(ctx, key, receipts)
}

// Inspect implements [limit.Inspector].
func (r *Router) Inspect(ctx context.Context, key string, ref limit.Ref) (limit.Inspection, error) {
	at, err := r.place(ctx, key)
	if err != nil {
		return limit.Inspection{}, err
	}
	return at.Inspect(ctx, key, ref)
}

// Reset implements [limit.Resetter].
func (r *Router) Reset(ctx context.Context, key string, ref limit.Ref) error {
	at, err := r.place(ctx, key)
	if err != nil {
		return err
	}
	return at.Reset(ctx, key, ref)
}
