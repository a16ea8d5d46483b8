package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A Service answers jeton.v1.Peer. Reserve is a reserveStream, Copy and Install are in copies.
type Service struct {
	pb.UnimplementedPeerServer

	cfg    ServiceConfig
	copies *copies

	stopping chan struct{}  // closed by Stop
	readers  sync.WaitGroup // the goroutines that read Reserve streams

	mu      sync.Mutex
	streams map[ring.NodeID]int // how many Reserve streams each node has open to this one
}

// NewService makes a Service, which is to be stopped. The error says what is missing in cfg.
func NewService(cfg ServiceConfig) (*Service, error) {
	if cfg.Store == nil || cfg.Handle == nil || cfg.Address == "" || cfg.Client == nil {
		return nil, errors.New("peers: a store, a handler, an address and a client are required")
	}
	cfg.Partitions = cmp.Or(cfg.Partitions, ring.DefaultPartitions)
	return &Service{cfg: cfg, copies: newCopies(cfg), stopping: make(chan struct{}), streams: map[ring.NodeID]int{}}, nil
}

// Stop ends Reserve streams when what they have been sent is answered. It does not wait for that, and must be called once.
func (s *Service) Stop() { close(s.stopping) }

// Wait waits until no goroutine of the Service is left, once its server has stopped.
func (s *Service) Wait() { s.readers.Wait() }

// partition is a partition as a message names it.
func (s *Service) partition(number uint32) (ring.Partition, error) {
	if number > math.MaxUint16 || int(number) >= s.cfg.Partitions {
		return 0, &limit.FieldError{Field: "partition", Problem: fmt.Sprintf("%d is not below %d, the number of partitions", number, s.cfg.Partitions)}
	}
	return ring.Partition(number), nil
}

// Look implements jeton.v1.Peer.
func (s *Service) Look(ctx context.Context, m *pb.LookRequest) (*pb.LookResponse, error) {
	partition, err := s.partition(m.GetPartition())
	if err != nil {
		return nil, err
	}
	l, err := s.cfg.Store.Look(ctx, partition, m.GetKey(), m.GetLimit())
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
func (s *Service) Seal(ctx context.Context, m *pb.SealRequest) (*pb.SealResponse, error) {
	partition, err := s.partition(m.GetPartition())
	if err != nil {
		return nil, err
	}
	state, err := s.cfg.Store.Seal(ctx, partition, m.GetEpoch())
	if err != nil {
		return nil, err
	}
	return &pb.SealResponse{State: state.Append(nil)}, nil
}

// Call implements jeton.v1.Peer.
func (s *Service) Call(ctx context.Context, m *pb.CallRequest) (*pb.CallResponse, error) {
	answer, err := s.cfg.Handle(ctx, m.GetMessage())
	if err != nil {
		return nil, err
	}
	return &pb.CallResponse{Message: answer}, nil
}

// enter notes that a node has opened a Reserve stream, until leave is called. A node that can reach this one is alive: a
// connection to it that waits for its next attempt makes it now.
func (s *Service) enter(ctx context.Context) (leave func(), err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	said := slices.Concat(md.Get(nodeHeader), []string{""})
	id, err := ring.ParseNodeID(said[0])
	if err != nil {
		return nil, &limit.FieldError{Field: nodeHeader, Problem: err.Error()}
	}
	s.mu.Lock()
	s.streams[id]++
	s.mu.Unlock()
	for _, address := range md.Get(addressHeader) {
		s.cfg.Client.Wake(address)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.streams[id]--; s.streams[id] == 0 {
			delete(s.streams, id)
		}
	}, nil
}

// Connected are the nodes that have a Reserve stream open to this one, by id. One that died without a word counts until its silence
// is noticed: it says something every 5 seconds, and may be silent for 15.
func (s *Service) Connected() []ring.NodeID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]ring.NodeID, 0, len(s.streams))
	for id := range s.streams {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, ring.NodeID.Compare)
	return ids
}
