package rpc

import (
	"context"
	"encoding/json"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// by is the context of a change on the word of the caller of ctx, with what the audit log says of it in addition.
func by(ctx context.Context, detail string) context.Context {
	i := access.IdentityOf(ctx)
	return cluster.WithOrigin(ctx, cluster.Origin{Who: i.Who, From: i.From, Detail: detail})
}

// Audit implements jeton.v1.Admin.
func (a admin) Audit(_ context.Context, m *pb.AuditRequest) (*pb.AuditResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	text, err := json.Marshal(a.cluster.Audit(int(m.GetLast())))
	if err != nil {
		return nil, err
	}
	return &pb.AuditResponse{Audit: text}, nil
}

// LimitsHistory implements jeton.v1.Admin.
func (a admin) LimitsHistory(_ context.Context, m *pb.LimitsHistoryRequest) (*pb.LimitsHistoryResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	editions, err := a.cluster.History(m.GetVersion())
	if err != nil {
		return nil, refusal(err)
	}
	text, err := json.Marshal(editions)
	if err != nil {
		return nil, err
	}
	return &pb.LimitsHistoryResponse{History: text}, nil
}

// Fill implements jeton.v1.Admin. What the audit log does not take is not done.
func (a admin) Fill(ctx context.Context, m *pb.FillRequest) (*pb.FillResponse, error) {
	rule, err := a.limits().Resolve(limit.Named(m.GetLimit()))
	if err == nil {
		err = rule.AllowsReset()
	}
	if err != nil {
		return nil, err
	}
	if err := limit.ValidateKey(m.GetKey()); err != nil {
		return nil, err
	}
	if a.cluster != nil {
		if err := a.cluster.Note(by(ctx, ""), agreed.VerbFill, m.GetLimit()+" "+m.GetKey(), ""); err != nil {
			return nil, refusal(err)
		}
	}
	if err := a.filler.Reset(ctx, m.GetKey(), limit.Named(m.GetLimit())); err != nil {
		return nil, err
	}
	return &pb.FillResponse{}, nil
}

// Resets is a Resetter of a node, whose audit log hears of the buckets that it fills for callers, some seconds later.
type Resets struct {
	limit.Resetter

	Cluster *cluster.Cluster // nil: there is no audit log
}

// Reset implements [limit.Resetter].
func (r Resets) Reset(ctx context.Context, key string, ref limit.Ref) error {
	if err := r.Resetter.Reset(ctx, key, ref); err != nil || r.Cluster == nil {
		return err
	}
	if i := access.IdentityOf(ctx); !ofNode(ctx, i) {
		r.Cluster.Resetted(cluster.Origin{Who: i.Who, From: i.From}, ref.Name, key)
	}
	return nil
}

// ofNode says of a call whether another node has forwarded it, which then notes who has asked for it. A caller with a token alone is no
// node, whatever it says.
func ofNode(ctx context.Context, i access.Identity) bool {
	m := marksOf(ctx)
	return m != nil && m.forwarded && (i.Key || i.None)
}
