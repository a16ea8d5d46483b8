package consensus

import (
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/key"
)

const (
	// ElectionTimeout is how long a leader may be silent: a follower that has heard no leader for one or two of these asks for votes.
	ElectionTimeout = time.Second

	commitTimeout     = 20 * time.Millisecond  // how late followers hear that an idle leader's last entry is committed
	leaseTimeout      = 500 * time.Millisecond // a leader that hears no majority for this long steps down
	snapshotInterval  = 30 * time.Second
	snapshotThreshold = 256              // entries
	trailingLogs      = 256              // entries kept behind a snapshot, for followers that lag a little
	enqueueTimeout    = 10 * time.Second // for proposals whose context has no deadline
)

// Config says where an agreement lives.
type Config struct {
	Dir       string       // the agreement's files are raft/ and marks.json in it
	FS        vfs.FS       // that Dir is on; nil: the operating system's
	OpenRaft  openRaft     // nil: openFiles
	ID        ring.NodeID  // this node
	Listener  net.Listener // for raft; the agreement closes it in Stop
	Bounds    bound.Config // of what comes over it
	Advertise string       // host:port at which others reach the listener
	Key       *key.Key     // nil: plain TCP
	// Address is where a node's raft is now, where that is known better than raft's own configuration says, else empty.
	// Optional; it must not block.
	Address func(ring.NodeID) string
	Logger  *slog.Logger
}

// folder is where the agreement's files are.
func (c *Config) folder() folder.Folder { return folder.Of(c.FS, c.Dir) }

// A RaftStore keeps raft's log, its term and vote, and its snapshots. What a method stores is durable when it
// returns, except for the names of the files in their directory.
type RaftStore interface {
	raft.LogStore
	raft.StableStore
	raft.SnapshotStore
	io.Closer
}

// openRaft opens the store in a directory, which is there.
type openRaft = func(dir string) (RaftStore, error)
