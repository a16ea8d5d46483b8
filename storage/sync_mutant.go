//go:build mutant_nofsync

package storage

import "github.com/cockroachdb/pebble/v2"

// commitSync is wrong on purpose: it answers before the fsync. The crash tests must notice.
var commitSync = pebble.NoSync
