//go:build mutant_nofsync

package storage

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncRecord is wrong on purpose: nothing is synced before it is answered. The crash tests must notice.
func syncRecord(vfs.File) error { return nil }

func syncPartitions(b *pebble.Batch) error { return b.Commit(pebble.Sync) }
