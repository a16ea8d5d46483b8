package rpc

import (
	"context"
	"encoding/json"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// admin answers jeton.v1.Admin.
type admin struct {
	pb.UnimplementedAdminServer

	limits  func() *limit.Document
	filler  limit.Resetter
	cluster *cluster.Cluster // nil for a node that is alone
	adopted func(ctx context.Context, version uint64)

	activity *activity.Source // nil: what nodes are doing is not told
	files    turns            // of exports and imports
}

// Limits implements jeton.v1.Admin.
func (a admin) Limits(ctx context.Context, _ *pb.LimitsRequest) (*pb.LimitsResponse, error) {
	m := &pb.LimitsResponse{}
	if a.cluster != nil {
		var err error
		if m.Version, err = adoptedVersion(ctx, a.cluster, a.adopted); err != nil {
			return nil, refusal(err)
		}
	}
	text, err := a.limits().YAML()
	m.Document = string(text)
	return m, err
}

// ApplyLimits implements jeton.v1.Admin.
func (a admin) ApplyLimits(ctx context.Context, m *pb.ApplyLimitsRequest) (*pb.ApplyLimitsResponse, error) {
	applied, err := applyLimits(ctx, a.cluster, m)
	if err != nil {
		return nil, err
	}
	settle(ctx, a.cluster, a.adopted)
	return applied, nil
}

// Status implements jeton.v1.Admin.
func (a admin) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	text, err := json.Marshal(a.cluster.Status(ctx))
	if err != nil {
		return nil, err
	}
	return &pb.StatusResponse{Status: text}, nil
}

// Drain implements jeton.v1.Admin.
func (a admin) Drain(ctx context.Context, m *pb.DrainRequest) (*pb.DrainResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	if m.GetUndo() {
		return &pb.DrainResponse{}, refusal(a.cluster.Undrain(by(ctx, ""), m.GetNode()))
	}
	left, err := a.cluster.Drain(by(ctx, ""), m.GetNode())
	if err != nil {
		return nil, refusal(err)
	}
	return &pb.DrainResponse{Left: uint32(left)}, nil
}

// Remove implements jeton.v1.Admin.
func (a admin) Remove(ctx context.Context, m *pb.RemoveRequest) (*pb.RemoveResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	if err := a.cluster.Remove(by(ctx, ""), m.GetNode(), m.GetForce()); err != nil {
		return nil, refusal(err)
	}
	return &pb.RemoveResponse{}, nil
}

// Recover implements jeton.v1.Admin.
func (a admin) Recover(ctx context.Context, m *pb.RecoverRequest) (*pb.RecoverResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	r, err := a.cluster.Recover(by(ctx, ""), m.GetLost())
	if err != nil {
		return nil, refusal(err)
	}
	return &pb.RecoverResponse{Floored: uint32(r.Floored), Moved: uint32(r.Moved)}, nil
}
