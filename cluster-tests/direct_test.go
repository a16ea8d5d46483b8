package clustertests

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A direct caller asks one node and no other, and never twice. The node decides itself, whether or not it is the first of
// the key's replicas: as if the others could not be reached.
type direct struct{ limiter pb.LimiterClient }

func newDirect(t *testing.T, m *process.Member) *direct {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+m.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing is asked any more
	return &direct{pb.NewLimiterClient(conn)}
}

// Check implements limit.Checker.
func (d *direct) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	m, err := d.limiter.Check(forwarded(ctx), pb.EncodeRequest(r), grpc.WaitForReady(true))
	if err != nil {
		return limit.Decision{}, pb.DecodeError(err)
	}
	return pb.DecodeDecision(m.GetDecision())
}

// Reset resets a bucket.
func (d *direct) Reset(ctx context.Context, key string, ref limit.Ref) error {
	_, err := d.limiter.Reset(forwarded(ctx), &pb.ResetRequest{Key: key, Limit: pb.EncodeRef(ref)}, grpc.WaitForReady(true))
	if err != nil {
		return pb.DecodeError(err)
	}
	return nil
}

// forwarded marks a call as one that is not to be sent on.
func forwarded(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, pb.MarkRouted, "1", pb.MarkForwarded, "1")
}

// one asks for one token, without a hurry.
func (d *direct) one(t *testing.T, limitName, key string) limit.Decision {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	decision, err := d.Check(ctx, limit.Request{Key: key, Limits: []limit.Ref{limit.Named(limitName)}, Cost: 1})
	if err != nil {
		t.Fatal(err)
	}
	return decision
}
