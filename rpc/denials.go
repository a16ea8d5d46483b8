package rpc

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/details"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// denialsAsErrors says whether the caller of a call wants denials as errors. It costs nothing to those who are not denied: ask it
// for denials only, or once for many.
func denialsAsErrors(ctx context.Context) (bool, error) {
	asked := metadata.ValueFromIncomingContext(ctx, details.Asked)
	switch {
	case len(asked) == 0:
		return false, nil
	case len(asked) == 1 && asked[0] == details.AsErrors:
		return true, nil
	}
	return false, &limit.FieldError{
		Field: details.Asked, Problem: limit.Quote(asked[0]) + " is not known: send " + details.AsErrors + " once, or leave this metadata out",
	}
}

// denied is the denial of a single check as its caller wants it: nil where it is an answer like another.
func denied(ctx context.Context, key string, d limit.Decision) error {
	asked, err := denialsAsErrors(ctx)
	if err != nil || !asked {
		return err
	}
	denial := &pb.DeniedError{Key: key, Decision: d}
	// It fails where there is no gRPC call, and so no caller that reads trailers.
	_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", pushback(ctx, denial)))
	return denial
}

// pushback is how many milliseconds the retry policy of the caller is to wait; -1 has it not retry.
func pushback(ctx context.Context, d *pb.DeniedError) string {
	wait, ok := d.Wait()
	if end, has := ctx.Deadline(); !ok || has && time.Until(end) <= wait {
		return "-1"
	}
	return strconv.FormatInt(int64((wait+time.Millisecond-1)/time.Millisecond), 10)
}

// denialOr is the result of a check of many: its denial as an error if that is asked for.
func denialOr(asked bool, key string, r limit.Result) limit.Result {
	if !asked || r.Err != nil || r.Decision.Allowed {
		return r
	}
	return limit.Result{Err: &pb.DeniedError{Key: key, Decision: r.Decision}}
}
