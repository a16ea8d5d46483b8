package doorcalls

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// StoredPrefix begins the names of stored limits that gubernator's clients ask for, which they call by the rest.
const StoredPrefix = "gub."

// Gubernator asks the door for clients of gubernator. A limit that the request defines is a sliding window or a token bucket.
type Gubernator struct {
	conn   *grpc.ClientConn
	client gubernatorpb.V1Client
}

// NewGubernator makes a Gubernator.
func NewGubernator(address string, dial Dial) (*Gubernator, error) {
	conn, err := connect(address, dial)
	if err != nil {
		return nil, err
	}
	return &Gubernator{conn, gubernatorpb.NewV1Client(conn)}, nil
}

// Check implements limit.Checker.
func (g *Gubernator) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	item := &gubernatorpb.RateLimitReq{UniqueKey: q.Key, Name: strings.TrimPrefix(q.Limits[0].Name, StoredPrefix), Hits: q.Tokens(), Limit: 1, Duration: 1000}
	if l := q.Limits[0].Inline; l != nil && l.Window > 0 {
		item.Limit, item.Duration = l.Capacity, int64(l.Window/time.Millisecond)
	} else if l != nil {
		item.Algorithm, item.Burst = gubernatorpb.Algorithm_LEAKY_BUCKET, l.Capacity
		item.Limit, item.Duration = l.Refill.Tokens, int64(l.Refill.Per/time.Millisecond)
	}
	a, err := g.client.GetRateLimits(ctx, &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{item}})
	if err != nil {
		return limit.Decision{}, undecided(err)
	}
	switch got := a.GetResponses(); {
	case len(got) != 1:
		return limit.Decision{}, fmt.Errorf("%s is answered %v", item, a)
	case got[0].GetError() != "":
		return limit.Decision{}, undecidedByGubernator(got[0].GetError())
	default:
		return decided(&q, got[0].GetStatus() == gubernatorpb.Status_UNDER_LIMIT)
	}
}

// Close closes the connection.
func (g *Gubernator) Close() error { return g.conn.Close() }

// undecidedByGubernator is the error of an item in jeton's terms. One that the door must not answer stays as it is.
func undecidedByGubernator(text string) error {
	if strings.HasPrefix(text, "field ") || strings.Contains(text, "invalid") {
		return errors.New(text)
	}
	return errors.Join(limit.ErrUnavailable, errors.New(text))
}
