package rpc

import (
	"context"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb"
)

// UpgradeCluster implements jeton.v1.Admin.
func (a admin) UpgradeCluster(ctx context.Context, m *pb.UpgradeClusterRequest) (*pb.UpgradeClusterResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	if m.GetTo() > math.MaxInt32 {
		return nil, status.Errorf(codes.InvalidArgument, "to: %d is no level", m.GetTo())
	}
	u, err := a.cluster.Upgrade(by(ctx, ""), int(m.GetTo()), m.GetDryRun())
	if err != nil {
		return nil, refusal(err)
	}
	answer := &pb.UpgradeClusterResponse{From: uint32(u.From), To: uint32(u.To)}
	for _, of := range u.Members {
		answer.Members = append(answer.Members, &pb.MemberLevels{
			Name: of.Name, Release: of.Release, Oldest: uint32(of.Levels.Oldest), Newest: uint32(of.Levels.Newest),
		})
	}
	return answer, nil
}
