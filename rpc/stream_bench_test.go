package rpc

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
)

// BenchmarkGathered reports what a message with as many checks costs as a gateway gathers, each in a stream of its own
// and decided from memory: asked one by one, and together.
func BenchmarkGathered(b *testing.B) {
	system := newSystem(b)
	b.Run("one by one", func(b *testing.B) { gatheredBy(b, struct{ limit.Limiter }{system}) })
	b.Run("together", func(b *testing.B) { gatheredBy(b, system) })
}

func gatheredBy(b *testing.B, l limit.Limiter) {
	b.Helper()
	_, conn := serve(b, Config{Limiter: l})
	client := pb.NewLimiterClient(conn)
	m := checksMessage(0, 8)
	b.ReportAllocs()
	for b.Loop() {
		stream, err := client.CheckStream(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.Send(m); err != nil {
			b.Fatal(err)
		}
		if err := stream.CloseSend(); err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if err != io.EOF { //nolint:errorlint // gRPC returns it as it is
			b.Fatal(err)
		}
	}
}

// newSystem decides on registers in memory.
func newSystem(tb testing.TB) *actor.System {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte("limits: {demo: {capacity: 1000000000, refill: 1000000000/s}}"))
	if err != nil {
		tb.Fatal(err)
	}
	quiet, now := slog.New(slog.DiscardHandler), clock.New().Now
	store, err := storage.Open(storage.Config{FS: vfs.NewMem(), Dir: "data", Now: now, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	if err := store.Found(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	s, err := actor.New(actor.Config{
		Replicas: []actor.Replica{store}, Limits: func() *limit.Document { return doc }, Now: now,
		IdleAfter: time.Hour, Logger: quiet,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.Close()
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
