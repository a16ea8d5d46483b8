package rpc

import (
	"context"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Operators do what operators ask for over HTTP, as jeton.v1.Admin does it over gRPC.
type Operators struct {
	Limits  func() *limit.Document // those that the node goes by
	Filler  limit.Resetter
	Cluster *cluster.Cluster                          // nil for a node that is alone, which has no overrides
	Adopted func(ctx context.Context, version uint64) // see Config.Adopted
}

func (o Operators) admin() admin {
	return admin{limits: o.Limits, filler: o.Filler, cluster: o.Cluster, adopted: o.Adopted}
}

// Fill fills a bucket, after the audit log has it.
func (o Operators) Fill(ctx context.Context, name, key string) error {
	_, err := o.admin().Fill(ctx, &pb.FillRequest{Limit: name, Key: key})
	return err
}

// SetOverride sets an override for a time, or, for 0, without an end.
func (o Operators) SetOverride(ctx context.Context, override limit.Override, within time.Duration) error {
	_, err := o.admin().SetOverride(ctx, &pb.SetOverrideRequest{Limit: override.Limit, Key: override.Key, Says: override.Says, ForNs: int64(within)})
	return err
}

// UnsetOverride takes an override away. was is whether there was one.
func (o Operators) UnsetOverride(ctx context.Context, name, key string) (was bool, err error) {
	m, err := o.admin().UnsetOverride(ctx, &pb.UnsetOverrideRequest{Limit: name, Key: key})
	return m.GetWas(), err
}
