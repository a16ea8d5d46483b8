package client

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// An Upgraded is what Upgrade did to the level of the cluster, or would do.
type Upgraded struct {
	From    int            `json:"from"`
	To      int            `json:"to"` // From where there was nothing to raise
	Members []MemberLevels `json:"members"`
}

// MemberLevels are the levels that a member knows.
type MemberLevels struct {
	Name    string      `json:"name"`
	Release string      `json:"release,omitempty"` // empty if it does not tell
	Levels  level.Range `json:"levels"`
}

// Upgrade raises the level of the cluster: to the one given, or, for 0, to the newest that all members know. It is refused where a member
// does not answer or does not know it. There is no way back. With dry it only says what would be done.
func (c *Client) Upgrade(ctx context.Context, to int, dry bool) (Upgraded, error) {
	if to < 0 || to > math.MaxInt32 {
		return Upgraded{}, fmt.Errorf("%d is no level", to)
	}
	m, err := operate(ctx, c, &pb.UpgradeClusterRequest{To: uint32(to), DryRun: dry}, pb.AdminClient.UpgradeCluster)
	if status.Code(err) == codes.Unimplemented {
		return Upgraded{}, fmt.Errorf("the node that was asked is of a release that knows only level %d: run a newer release on every node first: %w", level.First, err)
	}
	if err != nil {
		return Upgraded{}, err
	}
	u := Upgraded{From: int(m.GetFrom()), To: int(m.GetTo())}
	for _, of := range m.GetMembers() {
		u.Members = append(u.Members, MemberLevels{
			Name: of.GetName(), Release: of.GetRelease(), Levels: level.Range{Oldest: int(of.GetOldest()), Newest: int(of.GetNewest())},
		})
	}
	return u, nil
}
