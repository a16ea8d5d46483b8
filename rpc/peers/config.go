package peers

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// Registers are what other nodes may ask of a node's storage. A *storage.Store is one, and its contracts hold.
type Registers interface {
	Reserve(rs []reg.Reservation, done func([]reg.Answer, error))
	Look(ctx context.Context, p ring.Partition, key, limit string) (storage.Looked, error)
	Partition(p ring.Partition) reg.Partition
	Seal(ctx context.Context, p ring.Partition, epoch uint64) (reg.Partition, error)
	Export(ctx context.Context, p ring.Partition, since []byte, yield func([]storage.Exported) error) (cursor []byte, part reg.Partition, err error)
	Merge(ctx context.Context, p ring.Partition, registers []storage.Exported) error
	Install(ctx context.Context, p ring.Partition, epoch uint64, join reg.Partition) error
}

// ServiceConfig says what a node answers other nodes with.
type ServiceConfig struct {
	// Store keeps the node's registers. Required.
	Store Registers
	// Partitions is how many the cluster has; 0 means ring.DefaultPartitions.
	Partitions int
	// Handle answers messages of the cluster's membership. Required.
	Handle func(ctx context.Context, message []byte) ([]byte, error)
	// Address is the node's own gRPC address as others know it: where it is among the sources of an Install, nothing is
	// transferred. Required.
	Address string
	// Now is the node clock, by which it is judged when a reservation arrived; nil judges by when it is decided.
	Now func() int64
	// Client is the node's connections to others, over which it fetches registers. Required.
	Client *Client
	// Panics counts calls that ran into a bug of the node. Required.
	Panics prometheus.Counter
}
