// Package doorstest has what tests of doors ask: a node's actors on a store in memory, without the rest of a node, which would import the doors.
package doorstest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
)

// NewSystem opens actors that decide by the stored limits of a document, until the test ends. An empty text has none.
func NewSystem(tb testing.TB, limits string) *actor.System {
	tb.Helper()
	doc := new(limit.Document)
	if limits != "" {
		var err error
		if doc, err = limit.ParseDocument([]byte(limits)); err != nil {
			tb.Fatal(err)
		}
	}
	now, log := clock.New().Now, slog.New(slog.DiscardHandler)
	store, err := storage.Open(storage.Config{Dir: tb.TempDir(), Durability: storage.Memory, Partitions: ring.DefaultPartitions, Now: now, Logger: log})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := store.Found(context.Background()); err != nil {
		tb.Fatal(err)
	}
	system, err := actor.New(actor.Config{
		Replicas: []actor.Replica{store}, Partitions: ring.DefaultPartitions, Limits: func() *limit.Document { return doc }, Now: now, Full: store.Full, Node: "here", Logger: log,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(system.Close)
	return system
}
