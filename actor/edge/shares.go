package edge

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// shards is how many parts the shares are in, each with a lock of its own.
const shards = 64

// maxShares is how many buckets of each kind a shard keeps. Checks of others go to the cluster; those of limits that are local are denied.
const maxShares = 1024

// A shard is a part of the shares, with a lock of its own.
type shard struct {
	mu     sync.Mutex
	shares map[bucketID]*share
	count  [kinds]int
	given  given
	jumps  uint64 // of the clock, when the shares were looked at last
}

func (e *Edge) shardOf(key string) *shard { return &e.shards[maphash.String(e.seed, key)%shards] }

// makeRoomLocked forgets a share of that kind that would lose nothing by it, of a few, and says whether there was one.
func (sh *shard) makeRoomLocked(of kind, now int64) bool {
	looked := 0
	for _, s := range sh.shares {
		if kindOf(s.Rule()) != of {
			continue
		}
		if s.answered == nil && s.Idle(now) {
			sh.dropLocked(s)
			return true
		}
		if looked++; looked == 8 {
			break
		}
	}
	return false
}

// dropLocked forgets a share. Who waits goes to the cluster.
func (sh *shard) dropLocked(s *share) {
	s.release()
	s.gone = true
	delete(sh.shares, s.id)
	sh.count[kindOf(s.Rule())]--
}

// jumpedLocked forgets all shares where the clock has jumped since the shard was looked at last.
func (e *Edge) jumpedLocked(sh *shard, jumps uint64) {
	if jumps <= sh.jumps { // who read the clock before the jump comes later now and then
		return
	}
	sh.jumps = jumps
	e.counts.dropped.Add(float64(len(sh.shares)))
	sh.forgetLocked()
}

// forgetLocked forgets all shares. Who waits goes to the cluster.
func (sh *shard) forgetLocked() {
	for _, s := range sh.shares {
		sh.dropLocked(s)
	}
	sh.given = given{}
}

// answered takes in an answer for s, and wakes who waits for it.
func (e *Edge) answered(s *share, a lease.Answer) {
	a.Random = rand.Float64()
	sh := e.shardOf(s.id.key)
	var jumps uint64
	sh.mu.Lock()
	defer sh.mu.Unlock()
	a.Now, jumps = e.clock.read()
	e.jumpedLocked(sh, jumps)
	if s.gone { // forgotten meanwhile: what was given expires by itself
		return
	}
	if s.Answered(a, mostOff) {
		s.release()
	}
}

// drop forgets what is known of a bucket that is eventual, of which an owner takes no reports, or decides by an override.
func (e *Edge) drop(s *share) {
	sh := e.shardOf(s.id.key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !s.gone && s.Rule().Consistency == limit.Eventual {
		sh.dropLocked(s)
	}
}
