package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// maxOverrideTime is how long an override may be set for that ends.
const maxOverrideTime = 10 * 365 * 24 * time.Hour

// SetOverride implements jeton.v1.Admin.
func (a admin) SetOverride(ctx context.Context, m *pb.SetOverrideRequest) (*pb.SetOverrideResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	base, err := a.limits().Resolve(limit.Named(m.GetLimit()))
	if err != nil {
		return nil, err
	}
	if within := time.Duration(m.GetForNs()); within < 0 || within > maxOverrideTime {
		return nil, &limit.FieldError{Field: "for", Problem: fmt.Sprintf("%v: give a time from 1s to 87600h, or none for an override without an end", within)}
	}
	if _, err := (limit.Override{Limit: m.GetLimit(), Key: m.GetKey(), Says: m.GetSays()}).Compile(base); err != nil {
		return nil, err
	}
	if err := a.cluster.SetOverride(by(ctx, ""), m.GetLimit(), m.GetKey(), m.GetSays(), time.Duration(m.GetForNs())); err != nil {
		return nil, refusal(err)
	}
	settle(ctx, a.cluster, a.adopted)
	return &pb.SetOverrideResponse{}, nil
}

// UnsetOverride implements jeton.v1.Admin.
func (a admin) UnsetOverride(ctx context.Context, m *pb.UnsetOverrideRequest) (*pb.UnsetOverrideResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	found, was := a.cluster.State().Overrides.Find(agreed.OverrideKey{Limit: m.GetLimit(), Key: m.GetKey()})
	if was && m.GetSays() != "" && found.Says != m.GetSays() {
		return nil, status.Errorf(codes.FailedPrecondition, "the override of %s for %s says %s, not %s: jeton limits override unset takes it away",
			found.Limit, limit.Quote(found.Key), found.Says, m.GetSays())
	}
	if err := (&limit.Override{Limit: m.GetLimit(), Key: m.GetKey()}).CheckPlace(); err != nil && !was {
		return nil, err // none can have been set there
	}
	if !was && a.limits().HasWritten(m.GetLimit(), m.GetKey()) {
		return nil, status.Errorf(codes.FailedPrecondition, "the override of %s for %s stands in the limits document, and is not set live: take it out there "+
			"(jeton limits get, then jeton limits apply), or cover it with jeton limits override set", m.GetLimit(), limit.Quote(m.GetKey()))
	}
	if err := a.cluster.UnsetOverride(by(ctx, ""), m.GetLimit(), m.GetKey()); err != nil {
		return nil, refusal(err)
	}
	settle(ctx, a.cluster, a.adopted)
	return &pb.UnsetOverrideResponse{Was: was}, nil
}

// Overrides implements jeton.v1.Admin.
func (a admin) Overrides(_ context.Context, m *pb.OverridesRequest) (*pb.OverridesResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	page, err := overridesAfter(a.cluster, a.limits(), m.GetLimit(), m.GetAfter())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(page.Overrides)
	if err != nil {
		return nil, err
	}
	return &pb.OverridesResponse{Overrides: text, Next: page.Next}, nil
}
