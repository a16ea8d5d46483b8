package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// Registers are what other nodes may ask of a node's storage. A *storage.Store is one, and its contracts hold.
type Registers interface {
	Reserve(rs []reg.Reservation, done func([]reg.Answer, error))
	Look(ctx context.Context, p ring.Partition, key, limit string) (storage.Looked, error)
	Partition(p ring.Partition) reg.Partition
	Seal(ctx context.Context, p ring.Partition, epoch uint64) (reg.Partition, error)
	Export(ctx context.Context, p ring.Partition, since []byte, yield func([]storage.Exported) error) (cursor []byte, part reg.Partition, err error)
	Merge(ctx context.Context, p ring.Partition, registers []storage.Exported) error
	Install(ctx context.Context, p ring.Partition, epoch uint64, join reg.Partition) error
}

// PeerConfig says what a node answers to other nodes with.
type PeerConfig struct {
	// Store keeps the node's registers. Required.
	Store Registers
	// Partitions is how many the cluster has; 0 means ring.DefaultPartitions.
	Partitions int
	// Handle answers messages of the cluster's membership. Required.
	Handle func(ctx context.Context, message []byte) ([]byte, error)
	// Address is the node's own gRPC address as others know it: where it is among the sources of an Install, nothing is
	// transferred. Required.
	Address string
	// Now is the node clock, by which it is judged when a reservation arrived; nil judges by when it is decided.
	Now func() int64
	// Peers are the node's connections to others, over which it fetches registers. Required.
	Peers *Peers
}

func (c *PeerConfig) check() error {
	if c.Store == nil || c.Handle == nil || c.Address == "" || c.Peers == nil {
		return errors.New("rpc: to answer other nodes takes a store, a handler, an address and peers")
	}
	return nil
}

// transferWithin is how long a Copy or an Install may take, whatever its caller says.
const transferWithin = 10 * time.Minute

// peerServer answers jeton.v1.Peer. Reserve is a reserveStream, Copy and Install are in copies.
type peerServer struct {
	pb.UnimplementedPeerServer

	cfg    PeerConfig
	copies *copies

	mu      sync.Mutex
	streams map[ring.NodeID]int // how many Reserve streams each node has open to this one
}

func newPeerServer(cfg PeerConfig, panics prometheus.Counter) *peerServer {
	cfg.Partitions = cmp.Or(cfg.Partitions, ring.DefaultPartitions)
	return &peerServer{cfg: cfg, copies: newCopies(cfg, panics), streams: map[ring.NodeID]int{}}
}

// peerDescription is jeton.v1.Peer as it was generated, but that calls for other nodes are refused, and that reservations are
// read and written by messages that do it themselves.
func (s *Server) peerDescription(p *peerServer) *grpc.ServiceDesc {
	desc := pb.Peer_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		m := &desc.Methods[i]
		m.Handler = intercepting(m.Handler, p.onlyIfMeant(s.interceptPeer))
	}
	desc.Streams = slices.Clone(desc.Streams)
	for i := range desc.Streams {
		m := &desc.Streams[i]
		if m.StreamName == "Reserve" {
			m.Handler = func(_ any, stream grpc.ServerStream) error { return s.reserveStream(p, stream) }
		}
		m.Handler = p.onlyStreamsMeant(m.Handler)
	}
	return &desc
}

// intercepting is a handler whose interceptor takes the place of the server's.
func intercepting(handler grpc.MethodHandler, instead grpc.UnaryServerInterceptor) grpc.MethodHandler {
	return func(srv any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		return handler(srv, ctx, read, instead)
	}
}

// meant refuses a call that is meant for another node, which had this one's address before. Else a replica could be counted
// twice: as itself, and as the one that was here.
func (p *peerServer) meant(ctx context.Context) error {
	own := p.cfg.Peers.cfg.ID.String()
	for _, id := range metadata.ValueFromIncomingContext(ctx, toHeader) {
		if id != own {
			return status.Errorf(codes.FailedPrecondition, "node %s answers here, and node %s was asked: it is somewhere else now", own, id)
		}
	}
	return nil
}

func (p *peerServer) onlyIfMeant(next grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, m any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := p.meant(ctx); err != nil {
			return nil, err
		}
		return next(ctx, m, info, handler)
	}
}

func (p *peerServer) onlyStreamsMeant(next grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		if err := p.meant(stream.Context()); err != nil {
			return err
		}
		return next(srv, stream)
	}
}

// interceptPeer is intercept for the calls of other nodes: they may take longer, and hear what is wrong in the node's own
// words.
func (s *Server) interceptPeer(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return s.intercepted(ctx, m, info, func(ctx context.Context, m any) (any, error) {
		answer, err := next(ctx, m)
		return answer, peerError(err)
	}, transferWithin)
}

// peerError is err as another node shall hear it. What the vocabulary does not know is no fault, but a refusal: this node's
// partition may be in another state than the other one thinks.
func peerError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	st := pb.EncodeError(err)
	if st.Code() == codes.Internal {
		return status.Error(codes.FailedPrecondition, st.Message())
	}
	return st.Err()
}

// partition is a partition as a message names it.
func (p *peerServer) partition(number uint32) (ring.Partition, error) {
	if number > math.MaxUint16 || int(number) >= p.cfg.Partitions {
		return 0, &limit.FieldError{Field: "partition", Problem: fmt.Sprintf("%d is not below %d, the number of partitions", number, p.cfg.Partitions)}
	}
	return ring.Partition(number), nil
}

// Look implements jeton.v1.Peer.
func (p *peerServer) Look(ctx context.Context, m *pb.LookRequest) (*pb.LookResponse, error) {
	partition, err := p.partition(m.GetPartition())
	if err != nil {
		return nil, err
	}
	l, err := p.cfg.Store.Look(ctx, partition, m.GetKey(), m.GetLimit())
	if err != nil {
		return nil, err
	}
	out := &pb.LookResponse{Exists: l.Exists, State: l.Partition.Append(nil)}
	if l.Exists {
		out.Register = l.Register.Append(nil)
	}
	return out, nil
}

// Seal implements jeton.v1.Peer.
func (p *peerServer) Seal(ctx context.Context, m *pb.SealRequest) (*pb.SealResponse, error) {
	partition, err := p.partition(m.GetPartition())
	if err != nil {
		return nil, err
	}
	state, err := p.cfg.Store.Seal(ctx, partition, m.GetEpoch())
	if err != nil {
		return nil, err
	}
	return &pb.SealResponse{State: state.Append(nil)}, nil
}

// Call implements jeton.v1.Peer.
func (p *peerServer) Call(ctx context.Context, m *pb.CallRequest) (*pb.CallResponse, error) {
	answer, err := p.cfg.Handle(ctx, m.GetMessage())
	if err != nil {
		return nil, err
	}
	return &pb.CallResponse{Message: answer}, nil
}

// How large a piece of an export may be.
const (
	pieceRegisters = 1000
	pieceBytes     = 1 << 20
)

// Export implements jeton.v1.Peer.
func (p *peerServer) Export(m *pb.ExportRequest, stream grpc.ServerStreamingServer[pb.ExportResponse]) error {
	partition, err := p.partition(m.GetPartition())
	if err != nil {
		return err
	}
	piece, size := &pb.ExportResponse{}, 0
	cursor, state, err := p.cfg.Store.Export(stream.Context(), partition, m.GetSince(), func(registers []storage.Exported) error {
		for _, e := range registers {
			out := &pb.ExportedRegister{Key: e.Key, Limit: e.Limit, Register: e.Register.Append(nil)}
			bytes := len(out.GetKey()) + len(out.GetLimit()) + len(out.GetRegister())
			if len(piece.GetRegisters()) == pieceRegisters || size > 0 && size+bytes > pieceBytes {
				if err := stream.Send(piece); err != nil {
					return err
				}
				piece, size = &pb.ExportResponse{}, 0
			}
			piece.Registers = append(piece.Registers, out)
			size += bytes
		}
		return nil
	})
	if err != nil {
		return peerError(err)
	}
	piece.Cursor, piece.State = cursor, state.Append(nil)
	return stream.Send(piece)
}

// toHeader is the id of the node that a call is meant for; missing where whoever answers is meant.
const toHeader = "jeton-to"

// What a node says of itself when it opens a Reserve stream.
const (
	nodeHeader    = "jeton-node"    // its id
	addressHeader = "jeton-address" // its gRPC address; may be missing
)

// enter notes that a node has opened a Reserve stream, until leave is called. Whoever can reach this node is alive: a
// connection to it that waits for its next attempt makes it now.
func (p *peerServer) enter(ctx context.Context) (leave func(), err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	said := slices.Concat(md.Get(nodeHeader), []string{""})
	id, err := ring.ParseNodeID(said[0])
	if err != nil {
		return nil, &limit.FieldError{Field: nodeHeader, Problem: err.Error()}
	}
	p.mu.Lock()
	p.streams[id]++
	p.mu.Unlock()
	for _, address := range md.Get(addressHeader) {
		p.cfg.Peers.Wake(address)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.streams[id]--; p.streams[id] == 0 {
			delete(p.streams, id)
		}
	}, nil
}

// PeersConnected are the nodes that have a Reserve stream open to this one, by id. One that died without a word counts
// until its silence is noticed: it says something every 5 seconds, and may be silent for 15.
func (s *Server) PeersConnected() []ring.NodeID {
	if s.peer == nil {
		return nil
	}
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	ids := make([]ring.NodeID, 0, len(s.peer.streams))
	for id := range s.peer.streams {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, ring.NodeID.Compare)
	return ids
}
