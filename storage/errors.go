package storage

import (
	"errors"

	"github.com/jeton-dev/jeton/storage/datadir"
)

// The errors of Open, and of a Store that has ended.
var (
	// ErrLocked means that another process has the data directory open.
	ErrLocked = datadir.ErrLocked
	// ErrNewerFormat means that a newer jeton has written the data directory.
	ErrNewerFormat = datadir.ErrNewerFormat
	// ErrUnwritable means that the data directory cannot be read and written.
	ErrUnwritable = datadir.ErrUnwritable
	// ErrFailed means that the disk is full or failing. Everything answered before is durable.
	ErrFailed = datadir.ErrFailed
	// ErrClosed means that the Store was closed.
	ErrClosed = errors.New("the store is closed")
)

// The errors of a step of a partition, which has changed nothing then.
var (
	// ErrEpoch means that the partition is not in the epoch that the caller named.
	ErrEpoch = errors.New("the partition is in another epoch here")
	// ErrIncomplete means that the partition's registers were dropped here.
	ErrIncomplete = errors.New("the partition's registers are not complete here")
)
