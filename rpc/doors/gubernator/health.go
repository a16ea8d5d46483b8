package gubernator

import (
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// health is what health checks tell.
type health struct {
	ready     func() error
	peers     func() int
	advertise string
}

// check is the answer of a node that decides; one that does not is an error.
func (h health) check() (*gubernatorpb.HealthCheckResp, error) {
	if err := h.ready(); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &gubernatorpb.HealthCheckResp{
		Status: "healthy", PeerCount: int32(min(max(h.peers(), 0), math.MaxInt32)), AdvertiseAddress: h.advertise,
	}, nil
}
