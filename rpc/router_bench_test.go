package rpc

import (
	"context"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

type allows struct{ limit.Limiter }

func (allows) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{Allowed: true}, nil
}

func (allows) CheckBatch(_ context.Context, rs []limit.Request) []limit.Result {
	return make([]limit.Result, len(rs))
}

// BenchmarkRouter is what it costs to find out that this node decides, for a check by itself and in a batch of 100.
func BenchmarkRouter(b *testing.B) {
	v := &pb.View{Version: 1, Cluster: [16]byte{1}, Table: &ring.Table{}}
	for i := range 3 {
		v.Nodes = append(v.Nodes, pb.Node{ID: ring.NodeID{byte(i + 1)}, GRPC: "127.0.0.1:" + strconv.Itoa(i+1)})
	}
	for range 271 {
		v.Table.Places = append(v.Table.Places, ring.Place{Epoch: 1, Replicas: []ring.NodeID{{1}, {2}, {3}}})
	}
	r, err := NewRouter(RouterConfig{Self: ring.NodeID{1}, Local: allows{}, Tables: func() (*pb.View, <-chan struct{}) { return v, nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	timed, cancel := context.WithTimeout(b.Context(), time.Hour)
	b.Cleanup(cancel)
	request := limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("demo")}}
	var batch []limit.Request
	for i := range 100 {
		batch = append(batch, limit.Request{Key: strconv.Itoa(i), Limits: request.Limits})
	}
	for name, ctx := range map[string]context.Context{
		"without a mark": timed,
		"routed":         withMarks(metadata.NewIncomingContext(timed, metadata.Pairs(pb.MarkRouted, "1"))),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Check(ctx, request); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", a batch", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if rs := r.CheckBatch(ctx, batch); rs[0].Err != nil {
					b.Fatal(rs[0].Err)
				}
			}
		})
	}
}
