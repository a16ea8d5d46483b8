package node

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// errUnproven answers other nodes as long as this one has not proved that its registers are complete.
var errUnproven = fmt.Errorf("%w: the node has not yet proved that its registers are complete", limit.ErrUnavailable)

// A gate lets no node read or write the registers until this one has proved that they are complete: that the disk is no old
// copy, and that a floor which it needs lies beyond every clock.
type gate struct {
	store     *storage.Store
	open      atomic.Bool
	installed chan<- struct{} // gets a token, if it has none, when a partition was installed
}

// Reserve is that of the store.
func (g *gate) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	if !g.open.Load() {
		done(nil, errUnproven)
		return
	}
	g.store.Reserve(rs, done)
}

// Look is that of the store. Nothing is decided from it, so it needs no proof.
func (g *gate) Look(ctx context.Context, p ring.Partition, key, limit string) (storage.Looked, error) {
	return g.store.Look(ctx, p, key, limit)
}

// Partition is that of the store.
func (g *gate) Partition(p ring.Partition) register.Partition { return g.store.Partition(p) }

// Seal is that of the store.
func (g *gate) Seal(ctx context.Context, p ring.Partition, epoch uint64) (register.Partition, error) {
	if !g.open.Load() {
		return register.Partition{}, errUnproven
	}
	return g.store.Seal(ctx, p, epoch)
}

// Export is that of the store.
func (g *gate) Export(ctx context.Context, p ring.Partition, since []byte, yield func([]storage.Exported) error) ([]byte, register.Partition, error) {
	if !g.open.Load() {
		return nil, register.Partition{}, errUnproven
	}
	return g.store.Export(ctx, p, since, yield)
}

// Merge is that of the store.
func (g *gate) Merge(ctx context.Context, p ring.Partition, registers []storage.Exported) error {
	if !g.open.Load() {
		return errUnproven
	}
	return g.store.Merge(ctx, p, registers)
}

// Install is that of the store.
func (g *gate) Install(ctx context.Context, p ring.Partition, epoch uint64, join register.Partition) error {
	if !g.open.Load() {
		return errUnproven
	}
	if err := g.store.Install(ctx, p, epoch, join); err != nil {
		return err
	}
	select {
	case g.installed <- struct{}{}:
	default: // there is one
	}
	return nil
}

// Drop is that of the store.
func (g *gate) Drop(ctx context.Context, p ring.Partition) error {
	if !g.open.Load() {
		return errUnproven
	}
	return g.store.Drop(ctx, p)
}
