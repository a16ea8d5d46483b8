package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// How long calls may take if their context does not say.
const (
	callWithin  = 5 * time.Second
	stallWithin = 5 * time.Second // without a piece of an export
)

const (
	// maxRemotes is how many other nodes there are connections to: what has no key may ask for any address.
	maxRemotes = 1024
	// maxAddress is how long the gRPC address of a node is: a host name has at most 253 bytes.
	maxAddress = 260
)

// A Client is a node's connections to other nodes, by their gRPC addresses; to a cluster it is its [cluster.Peers]. They are
// made when first needed: one for calls, and one for a stream of reservations. Its methods are safe for concurrent use.
//
// An address may name the node that is meant, as [ring.NodeID.At] does: another one there refuses.
type Client struct {
	dialer

	mu      sync.Mutex
	remotes map[string]*remote // by whom it is asked for; nil after Close
}

var _ cluster.Peers = (*Client)(nil)

// errClosed answers what is asked after Close.
var errClosed = errors.New("the connections to other nodes are closed")

// NewClient makes a Client, which is to be closed. The error says what is missing in cfg, or why the metrics cannot be
// registered.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Now == nil || cfg.ID == (ring.NodeID{}) {
		return nil, errors.New("peers: ID and Now are required")
	}
	c := &Client{remotes: map[string]*remote{}, dialer: dialer{
		cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), metrics: newMetrics(), sent: newSentLedgers(cmp.Or(cfg.LedgerMemory, defaultLedgerMemory)),
		secured: grpc.WithTransportCredentials(credentials.WithKey(cfg.Key)), answerWithin: answerWithin,
	}}
	if err := metrics.Register(cfg.Registerer, c.metrics.collectors()...); err != nil {
		return nil, err
	}
	return c, nil
}

// Close breaks every stream, so that what is unanswered is answered with an error, and closes the connections. Closing again
// does nothing.
func (c *Client) Close() {
	c.mu.Lock()
	remotes := c.remotes
	c.remotes = nil
	c.mu.Unlock()
	for _, r := range remotes {
		r.close(errClosed)
	}
	for _, r := range remotes {
		<-r.gone
	}
}

// Keep closes the connections to all nodes but these: the others have left the cluster. An address that is kept for a
// node is also kept for calls to any node there.
func (c *Client) Keep(nodes map[string]bool) {
	var gone []*remote
	kept := map[string]bool{}
	for at := range nodes {
		if _, address, err := ring.CutNode(at); err == nil {
			kept[address] = true
		}
	}
	c.mu.Lock()
	for at, r := range c.remotes {
		if !nodes[at] && (r.id != ring.NodeID{} || !kept[at]) {
			gone = append(gone, r)
			delete(c.remotes, at)
		}
	}
	c.mu.Unlock()
	for _, r := range gone {
		r.close(fmt.Errorf("the node at %s has left the cluster", r.address))
		<-r.gone
		if !kept[r.address] {
			c.metrics.forget(r.address)
		}
	}
}

// remote is the node at an address.
func (c *Client) remote(at string) (*remote, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remotes == nil {
		return nil, errClosed
	}
	if r := c.remotes[at]; r != nil {
		return r, nil
	}
	if len(c.remotes) >= maxRemotes {
		return nil, fmt.Errorf("node at %.64q: the maximum of %d connections to other nodes is reached", at, maxRemotes)
	}
	r, err := c.newRemote(at)
	if err != nil {
		return nil, fmt.Errorf("node at %s: %w", at, err)
	}
	c.remotes[at] = r
	return r, nil
}

// Replica is the replica at an address, to which a stream is opened now and kept open until Keep or Close. While there is
// none, Reserve answers with an error at once.
func (c *Client) Replica(address string) actor.Replica {
	r, err := c.remote(address)
	if err != nil {
		return unreachable{err}
	}
	r.start.Do(func() { go r.run() })
	return r
}

// Wake says that the node at an address seems to be back: an attempt to connect that waits for its time is made now. An address
// without a connection is ignored.
func (c *Client) Wake(address string) {
	var waiting []*remote
	c.mu.Lock()
	for _, r := range c.remotes {
		if r.address == address {
			waiting = append(waiting, r)
		}
	}
	c.mu.Unlock()
	for _, r := range waiting {
		r.wakeUp()
	}
}

// Connected says whether a stream of reservations to the node at an address is open.
func (c *Client) Connected(address string) bool {
	c.mu.Lock()
	r := c.remotes[address]
	c.mu.Unlock()
	return r != nil && r.connected()
}

// Call sends a message of the cluster's membership and returns the answer.
func (c *Client) Call(ctx context.Context, address string, message []byte) (answer []byte, err error) {
	err = c.call(ctx, address, callWithin, func(ctx context.Context, peer pb.PeerClient) error {
		m, err := peer.Call(ctx, &pb.CallRequest{Message: message})
		answer = m.GetMessage()
		return err
	})
	return answer, err
}

// Seal makes the replica at an address refuse an epoch of a partition from now on, and says whether it has a floor there. It is durable on
// return.
func (c *Client) Seal(ctx context.Context, address string, partition ring.Partition, epoch uint64) (floored bool, err error) {
	err = c.call(ctx, address, callWithin, func(ctx context.Context, peer pb.PeerClient) error {
		m, err := peer.Seal(ctx, &pb.SealRequest{Partition: uint32(partition), Epoch: epoch})
		if err != nil {
			return err
		}
		if state, err := reg.DecodePartition(m.GetState()); err == nil { // it is sealed, whatever else a later release says
			floored = state.Floored
		}
		return nil
	})
	return floored, err
}

// Copy makes the node at an address fetch a partition's registers from the nodes at sources, ahead of Install.
func (c *Client) Copy(ctx context.Context, address string, partition ring.Partition, sources []string) error {
	return c.call(ctx, address, TransferWithin, func(ctx context.Context, peer pb.PeerClient) error {
		_, err := peer.Copy(ctx, &pb.CopyRequest{Partition: uint32(partition), Sources: sources})
		return err
	})
}

// Install makes the node at an address complete its registers of a partition for a new epoch, from those of the nodes at
// sources that are sealed in the epoch before, of which that many are enough. It is durable on return.
func (c *Client) Install(ctx context.Context, address string, partition ring.Partition, epoch uint64, enough int, sources []string) error {
	return c.call(ctx, address, TransferWithin, func(ctx context.Context, peer pb.PeerClient) error {
		_, err := peer.Install(ctx, &pb.InstallRequest{Partition: uint32(partition), Epoch: epoch, Enough: uint32(enough), Sources: sources})
		return err
	})
}

// export fetches the registers of a partition from the node at an address, and hands them to take piece by piece. It ends
// with an error when no piece comes for stallWithin.
func (c *Client) export(
	ctx context.Context, address string, partition ring.Partition, since []byte, take func([]storage.Exported) error,
) (cursor []byte, state reg.Partition, err error) {
	err = c.call(ctx, address, TransferWithin, func(ctx context.Context, peer pb.PeerClient) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stalled := time.AfterFunc(stallWithin, func() { cancel(fmt.Errorf("no data for %v", stallWithin)) })
		defer stalled.Stop()
		stream, err := peer.Export(ctx, &pb.ExportRequest{Partition: uint32(partition), Since: since})
		for last := false; err == nil && !last; {
			var m *pb.ExportResponse
			if m, err = stream.Recv(); errors.Is(err, io.EOF) {
				return errors.New("the export is incomplete: its end is missing")
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

// call does something with the node at an address, within that time if ctx does not say.
func (c *Client) call(ctx context.Context, address string, within time.Duration, do func(context.Context, pb.PeerClient) error) error {
	r, err := c.remote(address)
	if err != nil {
		return err
	}
	return r.call(ctx, within, do)
}
