package edge

import (
	"hash/maphash"
	"sync"

	"github.com/jeton-dev/jeton/actor/lease"
)

// shards is how many parts the shares are in, each with a lock of its own.
const shards = 64

// maxShares is how many buckets a shard keeps line of. Checks of others go to the cluster.
const maxShares = 1024

// A shard is a part of the shares, with a lock of its own.
type shard struct {
	mu     sync.Mutex
	shares map[bucketID]*share
	jumps  uint64 // of the clock, when the shares were looked at last
}

// A bucketID finds a share.
type bucketID struct{ key, limit, plan string }

// A share is what the edge keeps of one bucket, with who waits for it.
type share struct {
	lease.Holding

	answered chan struct{} // is closed when the open ask is answered; nil if nobody waits
}

func (e *Edge) shardOf(key string) *shard { return &e.shards[maphash.String(e.seed, key)%shards] }

// makeRoomLocked forgets a share of a few that would lose nothing by it, and says whether there was one.
func (sh *shard) makeRoomLocked(now int64) bool {
	tries := 8
	for id, s := range sh.shares {
		if s.answered == nil && s.Idle(now) {
			delete(sh.shares, id)
			return true
		}
		if tries--; tries == 0 {
			break
		}
	}
	return false
}

// jumpedLocked forgets all shares where the clock has jumped since the shard was looked at last.
func (e *Edge) jumpedLocked(sh *shard, jumps uint64) {
	if sh.jumps == jumps {
		return
	}
	sh.jumps = jumps
	e.counts.dropped.Add(float64(len(sh.shares)))
	sh.forgetLocked()
}

// forgetLocked forgets all shares. Who waits goes to the cluster.
func (sh *shard) forgetLocked() {
	for _, s := range sh.shares {
		s.release()
	}
	clear(sh.shares)
}

// release wakes who waits for the share.
func (s *share) release() {
	if s.answered != nil {
		close(s.answered)
		s.answered = nil
	}
}
