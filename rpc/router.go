package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/together"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/nodes"
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
	// Tracer makes a span of each check that other nodes are asked for, in traces that are sampled; nil makes none. For spans of what this node
	// is asked, see [Observed].
	Tracer trace.TracerProvider
}

// A Router is the Limiter of a node's servers: it passes requests for keys of this node to Local, and the others to the nodes of
// their keys. It decides nothing itself.
//
//	marked as forwarded ─▶ this node is a replica: Local           else refused, with the table's version
//	marked as routed ────▶ this node is a replica: Local           else like one without a mark, and the sender gets the version
//	  with a request id ─▶ this node is the first healthy replica: Local   else that one, which may know the id, and Local if it cannot
//	  a hold ────────────▶ likewise: its settlement will
//	  a settlement ──────▶ likewise: that one has usually taken the hold
//	without a mark ──────▶ the first healthy replica by the table: Local, or that node, marked as forwarded
//
// So a request takes one detour at most, even while tables differ.
type Router struct {
	self    string
	local   limit.Limiter
	serving func() error
	nodes   *nodes.Set // this one among them
}

var _ limit.Limiter = (*Router)(nil)

// NewRouter makes a Router, which is to be closed. The error says what is missing in cfg.
func NewRouter(cfg RouterConfig) (*Router, error) {
	if cfg.Local == nil || cfg.Tables == nil || cfg.Self == (ring.NodeID{}) {
		return nil, errors.New("router: Local, Tables and Self are required")
	}
	set, err := nodes.New(nodes.Config{
		Own: &nodes.Own{ID: cfg.Self, Limiter: cfg.Local}, FailFast: true,
		Timeout: defaultTime, TLS: cfg.TLS, Registerer: cfg.Registerer, Tracer: cfg.Tracer,
	})
	if err != nil {
		return nil, fmt.Errorf("router: %w", err)
	}
	r := &Router{self: cfg.Self.String(), local: cfg.Local, serving: cfg.Serving, nodes: set}
	if r.serving == nil {
		r.serving = func() error { return nil }
	}
	r.follow(cfg.Tables)
	return r, nil
}

// follow keeps the table up to date, from now on until Close.
func (r *Router) follow(tables Tables) {
	v, changed := tables()
	if v != nil {
		r.nodes.Apply(v)
	}
	r.nodes.Go(func(ctx context.Context) {
		for {
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			if v, changed = tables(); v != nil {
				r.nodes.Apply(v)
			}
		}
	})
}

// Close gives up what other nodes were asked. Local is not closed.
func (r *Router) Close() error { return r.nodes.Close() }

// First is the address of the node that decides about key while all are well, as Decision.Node has it: empty for the own one.
func (r *Router) First(key string) string { return r.nodes.First(key) }

// marks are what the metadata of a call says about how the call was routed.
type marks struct {
	forwarded bool
	told      atomic.Bool    // the sender has been told of this node's table, in trailers
	version   *atomic.Uint64 // of this node's table, for the next answers of a stream, which has trailers only at its end; nil for other calls
}

type marksKey struct{}

// withMarks puts the marks of a call into its context, once for all that the call asks. The usual call without
// marks keeps the context that it has.
func withMarks(ctx context.Context) context.Context {
	if len(metadata.ValueFromIncomingContext(ctx, pb.MarkRouted)) == 0 {
		return ctx
	}
	forwarded := len(metadata.ValueFromIncomingContext(ctx, pb.MarkForwarded)) > 0
	return context.WithValue(ctx, marksKey{}, &marks{forwarded: forwarded})
}

func marksOf(ctx context.Context) *marks {
	m, _ := ctx.Value(marksKey{}).(*marks)
	return m
}

// refusal is why this node decides nothing at present, as the error of a call; nil if it does.
func (r *Router) refusal() error {
	if err := r.serving(); err != nil {
		return refusesError{fmt.Errorf("%w: %w", limit.ErrUnavailable, err)}
	}
	return nil
}

// A refusesError is why this node decides nothing at present. A call without a stream says so in a trailer, and a stream in its answers.
type refusesError struct{ error }

func (e refusesError) Unwrap() error { return e.error }

// markRefusal has the trailer of a call say that this node refuses every check, if that is what err comes from.
func markRefusal(ctx context.Context, err error) {
	if _, refuses := errors.AsType[refusesError](err); refuses {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.MarkRefuses, "1")) // a call that has no trailers to set has ended
	}
}

// tell sends the version of this node's table to the sender of a call that went by another one.
func (r *Router) tell(ctx context.Context, m *marks) {
	if m.version != nil {
		m.version.Store(r.nodes.Version())
		return
	}
	if !m.told.Swap(true) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.TableVersion, strconv.FormatUint(r.nodes.Version(), 10)))
	}
}

// A destination is where a request is decided.
type destination uint8

const (
	nowhere   destination = iota // the call was forwarded, and this node is no replica
	here                         // by this node, and no other
	hereFirst                    // by this node, and by another replica if it cannot
	elsewhere                    // by the first replica that can, which may be this node after others
)

// toFirst says whether a check is for the first healthy replica of its key, whichever replica was asked: that may know its id, and the
// settlement of a hold goes there. Another owner, where a limit counts no entries, would know nothing of the hold.
func toFirst(r *limit.Request) bool { return r.ID != "" || r.Hold > 0 }

// route decides where a request about key goes, by the table and by the marks of its call, which may be nil. This is the one place
// that does. First says that the request is for the first healthy replica, see toFirst. A sender that asks this node before that has heard
// nothing from it in time, or cannot reach it; but the replica may have decided the request, and if it lives, it has the answer.
func (r *Router) route(ctx context.Context, m *marks, key string, first bool) destination {
	part := r.nodes.Part(key)
	switch {
	case first && m != nil && !m.forwarded && part == nodes.Later:
		return elsewhere
	case part == nodes.Alone, m != nil && part != nodes.None:
		return here
	case m == nil && part == nodes.First:
		return hereFirst
	case m == nil:
		return elsewhere
	}
	r.tell(ctx, m)
	if m.forwarded {
		return nowhere
	}
	return elsewhere
}

// notAReplica is why a request goes nowhere.
func (r *Router) notAReplica(key string) error {
	return fmt.Errorf("%w: node %s is not a replica of the partition of %s by its table, version %d",
		limit.ErrUnavailable, r.self, limit.Quote(key), r.nodes.Version())
}

// Check implements [limit.Checker].
func (r *Router) Check(ctx context.Context, request limit.Request) (limit.Decision, error) {
	if err := r.refusal(); err != nil {
		return limit.Decision{}, err
	}
	to := r.route(ctx, marksOf(ctx), request.Key, toFirst(&request))
	switch to {
	case nowhere:
		return limit.Decision{}, r.notAReplica(request.Key)
	case elsewhere:
		return r.nodes.Check(ctx, request)
	case here, hereFirst:
	}
	ctx, cancel := r.withDeadline(ctx)
	defer cancel()
	d, err := r.local.Check(ctx, request)
	if to == hereFirst && errors.Is(err, limit.ErrUnavailable) {
		return r.nodes.CheckElsewhere(ctx, request, err)
	}
	return d, err
}

// withDeadline is ctx with a deadline, as the calls of servers have one already.
func (r *Router) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultTime)
}

// CheckBatch implements [limit.BatchChecker]. What this node decides and what others do are decided at the same time.
func (r *Router) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	if err := r.refusal(); err != nil {
		results := make([]limit.Result, len(rs))
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	ctx, cancel := r.withDeadline(ctx)
	defer cancel()
	to, m, whole := make([]destination, len(rs)), marksOf(ctx), true
	for i := range rs {
		to[i] = r.route(ctx, m, rs[i].Key, toFirst(&rs[i]))
		whole = whole && (to[i] == here || to[i] == hereFirst)
	}
	if whole {
		results := r.local.CheckBatch(ctx, rs)
		r.moveOn(ctx, rs, to, results)
		return results
	}
	return r.split(ctx, rs, to)
}

// split has this node and others decide their shares of a batch.
func (r *Router) split(ctx context.Context, rs []limit.Request, to []destination) []limit.Result {
	results := make([]limit.Result, len(rs))
	var mine, others share
	for i := range rs {
		switch to[i] {
		case nowhere:
			results[i].Err = r.notAReplica(rs[i].Key)
		case here, hereFirst:
			mine.add(i, rs[i])
		case elsewhere:
			others.add(i, rs[i])
		}
	}
	var away sync.WaitGroup
	if len(others.requests) > 0 {
		away.Go(func() { others.put(results, r.nodes.CheckBatch(ctx, others.requests)) })
	}
	if len(mine.requests) > 0 { // in this goroutine: a panic there must reach the caller
		mine.put(results, r.local.CheckBatch(ctx, mine.requests))
	}
	away.Wait()
	r.moveOn(ctx, rs, to, results)
	return results
}

// moveOn has other replicas decide what this node was asked first and could not decide.
func (r *Router) moveOn(ctx context.Context, rs []limit.Request, to []destination, results []limit.Result) {
	var left share
	var whys []error
	for i := range results {
		if err := results[i].Err; to[i] == hereFirst && err != nil && errors.Is(err, limit.ErrUnavailable) {
			left.add(i, rs[i])
			whys = append(whys, err)
		}
	}
	if len(whys) > 0 {
		left.put(results, r.nodes.CheckBatchElsewhere(ctx, left.requests, whys))
	}
}

// CheckAll implements [limit.AllChecker]: this node asks the nodes of the keys one after another. It outlives its caller by as
// long as giving back takes.
func (r *Router) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	if err := r.refusal(); err != nil {
		return limit.AllDecision{}, err
	}
	ctx, cancel := r.withDeadline(ctx)
	defer cancel()
	return together.CheckAll(ctx, r, rs, r.nodes.Go)
}

// A share is a part of a batch.
type share struct {
	requests []limit.Request
	places   []int // of the requests in the batch
}

func (s *share) add(place int, r limit.Request) {
	s.requests, s.places = append(s.requests, r), append(s.places, place)
}

// put puts the results of the share in their places.
func (s *share) put(results, of []limit.Result) {
	for i, result := range of {
		results[s.places[i]] = result
	}
}

// Return implements [limit.Returner]. A call that was not forwarded goes to the replicas that can take back: see
// [nodes.Set.ReturnEverywhere].
func (r *Router) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := r.refusal(); err != nil {
		return nil, err
	}
	m := marksOf(ctx)
	if m == nil || !m.forwarded {
		return r.nodes.ReturnEverywhere(ctx, key, receipts)
	}
	if r.route(ctx, m, key, false) == nowhere {
		return nil, r.notAReplica(key)
	}
	return r.local.Return(ctx, key, receipts)
}

// Settle implements [limit.Settler]. It goes to the first healthy replica, as its hold did: see toFirst.
func (r *Router) Settle(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
	if err := s.Validate(); err != nil {
		return limit.Settled{}, err
	}
	if err := r.refusal(); err != nil {
		return limit.Settled{}, err
	}
	to := r.route(ctx, marksOf(ctx), s.Hold.Key, true)
	switch to {
	case nowhere:
		return limit.Settled{}, r.notAReplica(s.Hold.Key)
	case elsewhere:
		return r.nodes.Settle(ctx, s)
	case here, hereFirst:
	}
	ctx, cancel := r.withDeadline(ctx)
	defer cancel()
	settled, err := r.local.Settle(ctx, s)
	if to == hereFirst && errors.Is(err, limit.ErrUnavailable) {
		return r.nodes.SettleElsewhere(ctx, s, err)
	}
	return settled, err
}

// place is who answers a request about key, which may be for the first healthy replica: this node alone, or the first of its replicas that can.
func (r *Router) place(ctx context.Context, key string, first bool) (limit.Limiter, error) {
	if err := r.refusal(); err != nil {
		return nil, err
	}
	switch r.route(ctx, marksOf(ctx), key, first) {
	case nowhere:
		return nil, r.notAReplica(key)
	case here:
		return r.local, nil
	case hereFirst, elsewhere:
	}
	return r.nodes, nil
}

// Inspect implements [limit.Inspector].
func (r *Router) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	at, err := r.place(ctx, key, false)
	if err != nil {
		return limit.Inspection{}, err
	}
	return at.Inspect(ctx, key, ref, plan)
}

// Reset implements [limit.Resetter].
func (r *Router) Reset(ctx context.Context, key string, ref limit.Ref) error {
	at, err := r.place(ctx, key, false)
	if err != nil {
		return err
	}
	return at.Reset(ctx, key, ref)
}
