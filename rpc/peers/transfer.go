package peers

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
)

// Copy implements jeton.v1.Peer. It has done what it can when one source was copied: Install fetches the rest.
func (s *Service) Copy(ctx context.Context, m *pb.CopyRequest) (*pb.CopyResponse, error) {
	partition, err := s.partition(m.GetPartition())
	if err != nil {
		return nil, err
	}
	sources, err := checkSources(m.GetSources())
	if err != nil {
		return nil, err
	}
	of, err := s.copies.begin(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer of.end()
	var registers uint64
	var problems []error
	err = s.copies.fetch(ctx, partition, of, sources, func(f fetched) bool {
		registers += f.registers
		if f.err != nil {
			problems = append(problems, f.err)
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	if len(problems) == len(sources) {
		return nil, fmt.Errorf("no source could be copied: %w", errors.Join(problems...))
	}
	return &pb.CopyResponse{Registers: registers}, nil
}

// Install implements jeton.v1.Peer. A source that does not answer is left out if the rest is enough. It is done as soon as
// enough have been merged, but for one thing: if a floor came of those, it waits for the rest, which may spare it.
func (s *Service) Install(ctx context.Context, m *pb.InstallRequest) (*pb.InstallResponse, error) {
	partition, err := s.partition(m.GetPartition())
	if err != nil {
		return nil, err
	}
	sources, err := checkSources(m.GetSources())
	if err != nil {
		return nil, err
	}
	if m.GetEnough() < 1 {
		return nil, &limit.FieldError{Field: "enough", Problem: "is 0: at least one sealed replica is needed"}
	}
	of, err := s.copies.begin(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer of.end()
	if installed(s.cfg.Store.Partition(partition), m.GetEpoch()) {
		return &pb.InstallResponse{}, nil
	}
	registers, err := s.copies.install(ctx, partition, of, m.GetEpoch(), int(m.GetEnough()), sources)
	if errors.Is(err, storage.ErrIncomplete) { // what was copied has been dropped, so it is copied once more
		clear(of.cursors)
		registers, err = s.copies.install(ctx, partition, of, m.GetEpoch(), int(m.GetEnough()), sources)
	}
	if err != nil {
		return nil, err
	}
	clear(of.cursors) // they have served
	return &pb.InstallResponse{Registers: registers}, nil
}

// How large a piece of an export may be.
const (
	pieceRegisters = 1000
	pieceBytes     = 1 << 20
)

// Export implements jeton.v1.Peer.
func (s *Service) Export(m *pb.ExportRequest, stream grpc.ServerStreamingServer[pb.ExportResponse]) error {
	partition, err := s.partition(m.GetPartition())
	if err != nil {
		return err
	}
	piece, size := &pb.ExportResponse{}, 0
	cursor, state, err := s.cfg.Store.Export(stream.Context(), partition, m.GetSince(), func(registers []storage.Exported) error {
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

// peerError is err as this node sends it to another. What the vocabulary does not know is no fault, but a refusal: this node's
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
