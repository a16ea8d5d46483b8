//go:build mutant_nosealfsync

package storage

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func syncRecord(f vfs.File) error { return f.SyncData() }

// syncPartitions is wrong on purpose: a seal is answered before it is synced. The crash tests must notice.
func syncPartitions(b *pebble.Batch) error { return b.Commit(pebble.NoSync) }
