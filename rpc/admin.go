package rpc

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// admin answers jeton.v1.Admin.
type admin struct {
	pb.UnimplementedAdminServer
	limits func() *limit.Document
}

// Limits implements jeton.v1.Admin.
func (a admin) Limits(context.Context, *pb.LimitsRequest) (*pb.LimitsResponse, error) {
	text, err := a.limits().YAML()
	if err != nil {
		return nil, err
	}
	return &pb.LimitsResponse{Document: string(text)}, nil
}
