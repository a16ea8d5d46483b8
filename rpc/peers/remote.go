package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// A remote is another node. As an actor.Replica it has a stream of reservations:
//
//	Reserve ─▶ the open stream, or an error at once
//	run:     connect and open a stream ─▶ serve it until it breaks ─▶ answer what is left with an error ─▶ pause ─▶ again
//
// Each attempt makes a connection of its own. So the pauses are run's, and Wake can end them: grpc's own way to do that,
// ResetConnectBackoff, reads a map while grpc may be writing to it.
type remote struct {
	*dialer

	id      ring.NodeID // of the node that is meant; zero for any node at the address
	address string
	series  remoteMetrics

	start sync.Once       // of run
	woken chan struct{}   // holds a token when an attempt is wanted now
	ctx   context.Context //nolint:containedctx // of run, which close ends
	end   context.CancelCauseFunc
	gone  chan struct{} // closed when run has ended

	mu    sync.Mutex
	calls *grpc.ClientConn // for everything but reservations
	open  *reserving       // nil while there is no stream
	why   error            // why there is none
	lost  time.Time        // since when there is none
}

// lookWithin is how long a Look may take if its context does not say.
const lookWithin = 2 * time.Second

var errConnecting = errors.New("still connecting")

// newRemote makes the connection for calls, and does not open it yet.
func (d *dialer) newRemote(at string) (*remote, error) {
	id, address, err := ring.CutNode(at)
	if err != nil {
		return nil, err
	}
	calls, err := d.dial(address)
	if err != nil {
		return nil, err
	}
	r := &remote{
		dialer: d, id: id, address: address, series: d.metrics.of(address), calls: calls,
		woken: make(chan struct{}, 1), gone: make(chan struct{}), why: errConnecting, lost: time.Now(),
	}
	r.ctx, r.end = context.WithCancelCause(context.Background())
	return r, nil
}

// close ends the connections, and says why to who asks from now on. Run may go on for a moment: see gone.
func (r *remote) close(why error) {
	r.end(why)
	r.start.Do(func() { r.stopped(why) }) // it never ran, and never will
	r.mu.Lock()
	calls := r.calls
	r.mu.Unlock()
	r.hangUp(calls)
}

func (r *remote) hangUp(conn *grpc.ClientConn) {
	if err := conn.Close(); err != nil {
		r.log.Warn("connection to another node", "peer", r.address, "error", err)
	}
}

func (r *remote) stopped(why error) {
	r.set(nil, why)
	close(r.gone)
}

// Reserve implements actor.Replica.
func (r *remote) Reserve(rs []reg.Reservation, done func([]reg.Answer, error)) {
	r.mu.Lock()
	open, why, lost := r.open, r.why, r.lost
	r.mu.Unlock()
	switch {
	case open != nil:
		why = open.reserve(rs, done)
	case time.Since(lost) >= actor.Patience:
		why = fmt.Errorf("%w: %w", actor.ErrGone, why)
	}
	if why != nil {
		r.series.refused.Add(float64(len(rs)))
		done(nil, fmt.Errorf("node at %s: %w", r.address, why))
	}
}

// Look implements actor.Replica: it reads a register.
func (r *remote) Look(ctx context.Context, p ring.Partition, key, limit string) (l storage.Looked, err error) {
	var m *pb.LookResponse
	err = r.call(ctx, lookWithin, func(ctx context.Context, peer pb.PeerClient) (err error) {
		m, err = peer.Look(ctx, &pb.LookRequest{Partition: uint32(p), Key: key, Limit: limit})
		return err
	})
	if err != nil {
		return l, err
	}
	if l.Partition, err = reg.DecodePartition(m.GetState()); err != nil {
		return l, fmt.Errorf("node at %s: %w", r.address, err)
	}
	if l.Exists = m.GetExists(); !l.Exists {
		return l, nil
	}
	if l.Register, err = reg.Decode(m.GetRegister()); err != nil {
		return l, fmt.Errorf("node at %s: %w", r.address, err)
	}
	return l, nil
}

// call does something with the node, within that time if ctx does not say. An error says which node it was, and is in the node's own
// words.
func (r *remote) call(ctx context.Context, within time.Duration, do func(context.Context, pb.PeerClient) error) error {
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = limited
	}
	err := pb.DecodeError(do(r.meaning(ctx), r.callClient()))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) && ctx.Err() == nil: // the connection was, not the call
		return fmt.Errorf("node at %s: %w: %s", r.address, limit.ErrUnavailable, err.Error())
	}
	return fmt.Errorf("node at %s: %w", r.address, err)
}

func (r *remote) connected() bool {
	r.mu.Lock()
	open := r.open
	r.mu.Unlock()
	return open != nil && open.end() == nil
}

// meaning adds to the context of a call which node it is meant for.
func (r *remote) meaning(ctx context.Context) context.Context {
	if r.id == (ring.NodeID{}) {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, toHeader, r.id.String())
}

// callClient is for everything but reservations.
func (r *remote) callClient() pb.PeerClient {
	r.mu.Lock()
	defer r.mu.Unlock()
	return pb.NewPeerClient(r.calls)
}

// wakeUp makes the next attempts to connect now.
func (r *remote) wakeUp() {
	notify(r.woken)
	if old := r.renewed(); old != nil {
		r.hangUp(old)
	}
}

// renewed puts a new connection for calls in the place of one that waits for its next attempt, which it returns.
func (r *remote) renewed() (old *grpc.ClientConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil || r.calls.GetState() != connectivity.TransientFailure {
		return nil
	}
	calls, err := r.dial(r.address)
	if err != nil {
		return nil // which it has not done before
	}
	old, r.calls = r.calls, calls
	return old
}

// lasted is how long a stream must have lasted for the next one to be opened at once.
const lasted = time.Second

// run keeps a stream open.
func (r *remote) run() {
	pause := firstReconnect
	for r.ctx.Err() == nil {
		start := time.Now()
		served, why := r.serve()
		if r.ctx.Err() != nil {
			break
		}
		r.set(nil, why)
		if served && time.Since(start) >= lasted {
			pause = firstReconnect
			continue
		}
		r.wait(pause)
		pause = min(2*pause, lastReconnect)
	}
	r.stopped(context.Cause(r.ctx))
}

// wait lets some time pass before the next attempt, unless it is wanted now.
func (r *remote) wait(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.woken:
	case <-r.ctx.Done():
	}
}

// serve connects, opens a stream and serves it until it breaks. It returns why, and whether there was a stream.
func (r *remote) serve() (served bool, why error) {
	conn, err := r.dial(r.address)
	if err != nil {
		return false, err
	}
	defer r.hangUp(conn)
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	stream, differs, err := r.openStream(ctx, conn, cancel)
	if err != nil {
		return false, causeOr(ctx, pb.DecodeError(err))
	}
	open := newReserving(stream, cancel, r.cfg.Now, r.series)
	if open.within = r.answerWithin; differs {
		open.sent = r.sent
	}
	defer r.sent.forget(&open.differing)
	r.set(open, nil)
	r.series.open.Set(1)
	err = open.serve(ctx)
	r.series.open.Set(0)
	if r.ctx.Err() == nil {
		r.series.broken.Inc()
	}
	return true, err
}

// openStream opens a stream and waits until the node says that it is, and whether it takes differences.
func (r *remote) openStream(
	ctx context.Context, conn *grpc.ClientConn, cancel context.CancelCauseFunc,
) (stream grpc.ClientStream, differs bool, err error) {
	ctx = metadata.AppendToOutgoingContext(r.meaning(ctx), nodeHeader, r.cfg.ID.String(), countsHeader, countsVersion)
	if own := r.cfg.Address; own != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, addressHeader, own)
	}
	kind := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err = conn.NewStream(ctx, kind, pb.Peer_Reserve_FullMethodName, grpc.ForceCodecV2(transport.NewCodec()))
	if err != nil {
		return nil, false, err
	}
	late := time.AfterFunc(connectWithin, func() { cancel(errSilent) })
	defer late.Stop()
	header, err := stream.Header()
	if err == nil && header == nil { // the end came instead
		err = stream.RecvMsg(new(pb.ReservedIn))
	}
	return stream, slices.Contains(header.Get(differencesHeader), differencesVersion), err
}

// set says what Reserve goes by from now on.
func (r *remote) set(open *reserving, why error) {
	r.mu.Lock()
	before := r.why
	if r.open != nil {
		r.lost = time.Now()
	}
	r.open, r.why = open, why
	r.mu.Unlock()
	if r.ctx.Err() == nil {
		r.tell(before, why)
	}
}

// tell logs one line when the node is lost and one when it is back. Between the two it logs only what an operator has
// to mend: that the node answers, and refuses.
func (r *remote) tell(before, why error) {
	log := r.log.With("peer", r.address)
	switch {
	case why == nil:
		log.Info("connected to another node")
	case before == nil && why.Error() == transport.ErrStopping.Error():
		log.Info("another node is stopping")
	case before == nil:
		log.Warn("lost the connection to another node: reconnecting", "why", why)
	case !errors.Is(why, limit.ErrUnavailable) && why.Error() != before.Error():
		log.Warn("another node refuses the reservations of this node", "why", why)
	case errors.Is(before, errConnecting):
		log.Info("another node does not answer yet: retrying", "why", why)
	default:
		log.Debug("another node is still not connected", "why", why)
	}
}

// unreachable is a replica that can never answer.
type unreachable struct{ why error }

// Reserve implements actor.Replica.
func (u unreachable) Reserve(_ []reg.Reservation, done func([]reg.Answer, error)) { done(nil, u.why) }

// Look implements actor.Replica.
func (u unreachable) Look(context.Context, ring.Partition, string, string) (storage.Looked, error) {
	return storage.Looked{}, u.why
}
