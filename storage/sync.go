//go:build !mutant_nofsync && !mutant_nosealfsync

package storage

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncRecord makes durable what was written to a file of the journal.
func syncRecord(f vfs.File) error { return f.SyncData() }

// syncPartitions makes durable what a batch says of partitions.
func syncPartitions(b *pebble.Batch) error { return b.Commit(pebble.Sync) }
