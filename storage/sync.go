//go:build !mutant_nofsync

package storage

import "github.com/cockroachdb/pebble/v2"

// commitSync makes a commit wait for its fsync.
var commitSync = pebble.Sync
