package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// How connections to other nodes are kept.
const (
	peerPingAfter  = 10 * time.Second // of silence, grpc asks whether the other end still lives; it does not allow less
	peerPongWithin = 2 * time.Second  // for the answer, and for the network to take what was sent
	connectWithin  = 2 * time.Second  // before another attempt
	firstReconnect = 50 * time.Millisecond
	lastReconnect  = time.Second // the longest pause between two attempts
)

// How long calls may take if their context does not say.
const (
	lookWithin  = 2 * time.Second
	callWithin  = 5 * time.Second
	stallWithin = 5 * time.Second // without a piece of an export
)

const (
	// maxRemotes is how many other nodes there are connections to: what has no key may ask for any address.
	maxRemotes = 1024
	// maxAddress is how long the gRPC address of a node is: a host name has at most 253 bytes.
	maxAddress = 260
)

// PeersConfig says how a node speaks to others.
type PeersConfig struct {
	// ID is the node's own. Required.
	ID ring.NodeID
	// Address is the node's own gRPC address as others know it: they connect to whoever has connected to them. Empty leaves
	// that out.
	Address string
	// Key is the cluster key; nil speaks plainly, which only nodes without a key listen to.
	Key *key.Key
	// Now is the node clock. Required.
	Now func() int64
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger hears of connections that cannot be had; nil discards that.
	Logger *slog.Logger
}

// Peers are a node's connections to other nodes, by their gRPC addresses; to a cluster they are its [cluster.Peers]. They are
// made when first needed: one for calls, and one for a stream of reservations. Its methods are safe for concurrent use.
//
// An address may name the node that is meant, as [ring.NodeID.At] does: another one there refuses.
type Peers struct {
	cfg     PeersConfig
	log     *slog.Logger
	metrics peerMetrics
	secured grpc.DialOption // with what the node proves that it is one

	answerWithin time.Duration // of streams; answerWithin, but in tests

	mu      sync.Mutex
	remotes map[string]*remote // by whom it is asked for; nil after Close
}

var _ cluster.Peers = (*Peers)(nil)

// errPeersClosed answers what is asked after Close.
var errPeersClosed = errors.New("the node's connections to others are closed")

// NewPeers makes Peers, which are to be closed. The error says what is missing in cfg, what is wrong with the key, or why
// the metrics cannot be registered.
func NewPeers(cfg PeersConfig) (*Peers, error) {
	if cfg.Now == nil || cfg.ID == (ring.NodeID{}) {
		return nil, errors.New("rpc: to speak to other nodes takes a node id and a clock")
	}
	proof, err := credentials.WithKey(cfg.Key)
	if err != nil {
		return nil, err
	}
	p := &Peers{
		cfg: cfg, log: logger(cfg.Logger), metrics: newPeerMetrics(),
		secured: grpc.WithTransportCredentials(proof), answerWithin: answerWithin, remotes: map[string]*remote{},
	}
	if err := metrics.Register(cfg.Registerer, p.metrics.collectors()...); err != nil {
		return nil, err
	}
	return p, nil
}

// Close breaks every stream, so that what is unanswered is answered with an error, and closes the connections. Closing again
// does nothing.
func (p *Peers) Close() {
	p.mu.Lock()
	remotes := p.remotes
	p.remotes = nil
	p.mu.Unlock()
	for _, r := range remotes {
		r.close(errPeersClosed)
	}
	for _, r := range remotes {
		<-r.gone
	}
}

// Keep closes the connections to all nodes but these: the others have left the cluster. Who keeps a node keeps also what is
// asked of whoever is at its address.
func (p *Peers) Keep(nodes map[string]bool) {
	var gone []*remote
	kept := map[string]bool{}
	for at := range nodes {
		if _, address, err := ring.CutNode(at); err == nil {
			kept[address] = true
		}
	}
	p.mu.Lock()
	for at, r := range p.remotes {
		if !nodes[at] && (r.id != ring.NodeID{} || !kept[at]) {
			gone = append(gone, r)
			delete(p.remotes, at)
		}
	}
	p.mu.Unlock()
	for _, r := range gone {
		r.close(fmt.Errorf("the node at %s has left the cluster", r.address))
		<-r.gone
		if !kept[r.address] {
			p.metrics.forget(r.address)
		}
	}
}

// remote is the node at an address.
func (p *Peers) remote(at string) (*remote, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.remotes == nil {
		return nil, errPeersClosed
	}
	if r := p.remotes[at]; r != nil {
		return r, nil
	}
	if len(p.remotes) >= maxRemotes {
		return nil, fmt.Errorf("node at %.64q: there are connections to %d nodes already", at, maxRemotes)
	}
	r, err := p.newRemote(at)
	if err != nil {
		return nil, fmt.Errorf("node at %s: %w", at, err)
	}
	p.remotes[at] = r
	return r, nil
}

// dial makes a connection that is not yet open. The name of the node is looked up at every attempt.
func (p *Peers) dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		p.secured,
		grpc.WithNoProxy(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithStaticStreamWindowSize(transport.StreamWindow),
		grpc.WithStaticConnWindowSize(transport.ConnWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(transport.MaxMessage), grpc.MaxCallSendMsgSize(transport.MaxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: peerPingAfter, Timeout: peerPongWithin, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstReconnect, Multiplier: 2, Jitter: 0.2, MaxDelay: lastReconnect},
			MinConnectTimeout: connectWithin,
		}),
	)
}

// Replica is the replica at an address, to which a stream is opened now and kept open until Keep or Close. While there is
// none, Reserve answers with an error at once.
func (p *Peers) Replica(address string) actor.Replica {
	r, err := p.remote(address)
	if err != nil {
		return unreachable{err}
	}
	r.start.Do(func() { go r.run() })
	return r
}

// Wake says that the node at an address is said to be back: where an attempt to connect waits for its time, it is made now.
// An address that nobody has asked for is passed over.
func (p *Peers) Wake(address string) {
	var waiting []*remote
	p.mu.Lock()
	for _, r := range p.remotes {
		if r.address == address {
			waiting = append(waiting, r)
		}
	}
	p.mu.Unlock()
	for _, r := range waiting {
		r.wakeUp()
	}
}

// Connected says whether a stream of reservations to the node at an address is open.
func (p *Peers) Connected(address string) bool {
	p.mu.Lock()
	r := p.remotes[address]
	p.mu.Unlock()
	return r != nil && r.connected()
}

// Call sends a message of the cluster's membership and returns the answer.
func (p *Peers) Call(ctx context.Context, address string, message []byte) (answer []byte, err error) {
	err = p.call(ctx, address, callWithin, func(ctx context.Context, c pb.PeerClient) error {
		m, err := c.Call(ctx, &pb.CallRequest{Message: message})
		answer = m.GetMessage()
		return err
	})
	return answer, err
}

// Seal makes the replica at an address refuse an epoch of a partition from now on. It is durable on return.
func (p *Peers) Seal(ctx context.Context, address string, partition ring.Partition, epoch uint64) error {
	return p.call(ctx, address, callWithin, func(ctx context.Context, c pb.PeerClient) error {
		_, err := c.Seal(ctx, &pb.SealRequest{Partition: uint32(partition), Epoch: epoch})
		return err
	})
}

// Copy makes the node at an address fetch a partition's registers from the nodes at sources, ahead of Install.
func (p *Peers) Copy(ctx context.Context, address string, partition ring.Partition, sources []string) error {
	return p.call(ctx, address, transferWithin, func(ctx context.Context, c pb.PeerClient) error {
		_, err := c.Copy(ctx, &pb.CopyRequest{Partition: uint32(partition), Sources: sources})
		return err
	})
}

// Install makes the node at an address complete its registers of a partition for a new epoch, from those of the nodes at
// sources that are sealed in the epoch before, of which that many are enough. It is durable on return.
func (p *Peers) Install(ctx context.Context, address string, partition ring.Partition, epoch uint64, enough int, sources []string) error {
	return p.call(ctx, address, transferWithin, func(ctx context.Context, c pb.PeerClient) error {
		_, err := c.Install(ctx, &pb.InstallRequest{Partition: uint32(partition), Epoch: epoch, Enough: uint32(enough), Sources: sources})
		return err
	})
}

// look reads a register.
func (p *Peers) look(ctx context.Context, address string, partition ring.Partition, key, name string) (l storage.Looked, err error) {
	var m *pb.LookResponse
	err = p.call(ctx, address, lookWithin, func(ctx context.Context, c pb.PeerClient) (err error) {
		m, err = c.Look(ctx, &pb.LookRequest{Partition: uint32(partition), Key: key, Limit: name})
		return err
	})
	if err != nil {
		return l, err
	}
	if l.Partition, err = reg.DecodePartition(m.GetState()); err != nil {
		return l, fmt.Errorf("node at %s: %w", address, err)
	}
	if l.Exists = m.GetExists(); !l.Exists {
		return l, nil
	}
	if l.Register, err = reg.Decode(m.GetRegister()); err != nil {
		return l, fmt.Errorf("node at %s: %w", address, err)
	}
	return l, nil
}

// export fetches the registers of a partition from the node at an address, and hands them to take piece by piece. It ends
// with an error when no piece comes for stallWithin.
func (p *Peers) export(
	ctx context.Context, address string, partition ring.Partition, since []byte, take func([]storage.Exported) error,
) (cursor []byte, state reg.Partition, err error) {
	err = p.call(ctx, address, transferWithin, func(ctx context.Context, c pb.PeerClient) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stalled := time.AfterFunc(stallWithin, func() { cancel(fmt.Errorf("nothing came for %v", stallWithin)) })
		defer stalled.Stop()
		stream, err := c.Export(ctx, &pb.ExportRequest{Partition: uint32(partition), Since: since})
		for last := false; err == nil && !last; {
			var m *pb.ExportResponse
			if m, err = stream.Recv(); errors.Is(err, io.EOF) {
				return errors.New("the export ended in the middle")
			} else if err != nil {
				break
			}
			stalled.Stop()
			if last = len(m.GetState()) > 0; last {
				cursor = m.GetCursor()
				if state, err = reg.DecodePartition(m.GetState()); err != nil {
					return err
				}
			}
			if err := takePiece(m.GetRegisters(), take); err != nil {
				return err
			}
			stalled.Reset(stallWithin)
		}
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		return err
	})
	return cursor, state, err
}

// takePiece hands the registers of a piece of an export to take.
func takePiece(registers []*pb.ExportedRegister, take func([]storage.Exported) error) error {
	if len(registers) == 0 {
		return nil
	}
	piece := make([]storage.Exported, len(registers))
	for i, m := range registers {
		r, err := reg.Decode(m.GetRegister())
		if err != nil {
			return err
		}
		piece[i] = storage.Exported{Key: m.GetKey(), Limit: m.GetLimit(), Register: r}
	}
	return take(piece)
}

// call does something with the node at an address, within that time if ctx does not say. An error says which node it was,
// and is in the node's own words.
func (p *Peers) call(ctx context.Context, address string, within time.Duration, do func(context.Context, pb.PeerClient) error) error {
	r, err := p.remote(address)
	if err != nil {
		return err
	}
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = limited
	}
	err = pb.DecodeError(do(r.meaning(ctx), r.client()))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) && ctx.Err() == nil: // the connection was, not the call
		return fmt.Errorf("node at %s: %w: %s", r.address, limit.ErrUnavailable, err.Error())
	}
	return fmt.Errorf("node at %s: %w", r.address, err)
}
