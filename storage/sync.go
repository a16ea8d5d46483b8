//go:build !mutant_nofsync

package storage

import "github.com/cockroachdb/pebble/v2/vfs"

// syncRecord makes durable what was written to a file of the journal.
func syncRecord(f vfs.File) error { return f.SyncData() }
