package rpc

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// errNoActivity refuses what only a node with a Source can tell.
var errNoActivity = status.Error(codes.Unimplemented, "this server does not tell what nodes are doing")

// Activity implements jeton.v1.Admin.
func (a admin) Activity(ctx context.Context, _ *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	if a.activity == nil {
		return nil, errNoActivity
	}
	look, err := a.activity.Look(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(look)
	if err != nil {
		return nil, err
	}
	return &pb.ActivityResponse{Activity: text}, nil
}

// Keys implements jeton.v1.Admin.
func (a admin) Keys(ctx context.Context, m *pb.KeysRequest) (*pb.KeysResponse, error) {
	if a.activity == nil {
		return nil, errNoActivity
	}
	found, err := a.activity.Keys(ctx, activity.KeysAsked{Prefix: m.GetPrefix(), Limit: m.GetLimit(), Most: int(min(m.GetMost(), activity.MaxKeys))})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	return &pb.KeysResponse{Keys: text}, nil
}

// Probe implements jeton.v1.Admin.
func (a admin) Probe(ctx context.Context, _ *pb.ProbeRequest) (*pb.ProbeResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	text, err := json.Marshal(a.cluster.ProbeAll(ctx))
	if err != nil {
		return nil, err
	}
	return &pb.ProbeResponse{Probes: text}, nil
}

// Tell implements jeton.v1.Cluster.
func (s *clusterService) Tell(_ context.Context, m *pb.TellRequest) (*pb.TellResponse, error) {
	if s.activity == nil {
		return nil, errNoActivity
	}
	if err := s.activity.Tell(m.GetGateway()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &pb.TellResponse{}, nil
}
