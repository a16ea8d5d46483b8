package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/register"
)

// deleteRegisters durably deletes all that Pebble has of the registers of these partitions.
func deleteRegisters(db *database.DB, partitions ...ring.Partition) error {
	if len(partitions) == 0 {
		return nil
	}
	b := db.NewBatch()
	for _, p := range partitions {
		lower, upper := registersOf(p)
		if err := b.DeleteRange(lower, upper, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("delete the registers of partitions %v: %w", partitions, err)
	}
	return nil
}

// readPartitions reads the state of every partition. In a new directory all are sealed and hold nothing.
func readPartitions(db *pebble.DB, n int, fresh bool) ([]register.Partition, error) {
	ps := make([]register.Partition, n)
	for i := range ps {
		if fresh {
			ps[i].Sealed = true
			continue
		}
		v, closer, err := db.Get(partitionKey(ring.Partition(i)))
		if errors.Is(err, pebble.ErrNotFound) { // they were written together with the identity of the disk
			err = register.ErrCorrupt
		}
		if err != nil {
			return nil, fmt.Errorf("read partition %d: %w", i, err)
		}
		p, err := register.DecodePartition(v)
		if err := errors.Join(err, closer.Close()); err != nil {
			return nil, fmt.Errorf("read partition %d: %w", i, err)
		}
		ps[i] = p
	}
	return ps, nil
}
