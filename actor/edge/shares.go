package edge

import (
	"hash/maphash"
	"sync"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// shards is how many parts the shares are in, each with a lock of its own.
const shards = 64

// maxShares is how many buckets of each kind a shard keeps. Checks of others go to the cluster; those of limits that are local are denied.
const maxShares = 1024

// A kind of buckets has room of its own: what the cluster can decide as well takes none of what only this edge does.
type kind uint8

const (
	ofOwners kind = iota
	ofEdge
	kinds
)

func kindOf(rule *limit.Rule) kind {
	if rule.Consistency == limit.OfEdge {
		return ofEdge
	}
	return ofOwners
}

// A shard is a part of the shares, with a lock of its own.
type shard struct {
	mu     sync.Mutex
	shares map[bucketID]*share
	count  [kinds]int
	given  given
	jumps  uint64 // of the clock, when the shares were looked at last
}

// A bucketID finds a share.
type bucketID struct{ key, limit, plan string }

// A share is what the edge keeps of one bucket, with who waits for it.
type share struct {
	lease.Holding

	id       bucketID
	plan     string        // by which it was spent from last; empty for none
	gone     bool          // it is forgotten
	answered chan struct{} // is closed when the open ask is answered; nil if nobody waits
}

func (e *Edge) shardOf(key string) *shard { return &e.shards[maphash.String(e.seed, key)%shards] }

// goesBy says whether the share goes by a rule, or by one that decides alike.
func (s *share) goesBy(rule *limit.Rule) bool { return s.Rule() == rule || s.Rule().Equal(rule) }

// under says whether the share can go on under a rule. A bucket that is local does under any of its register.
func (s *share) under(rule *limit.Rule) bool {
	if s.goesBy(rule) {
		return true
	}
	own, ok := s.Holding.(*lease.Own)
	if !ok || kindOf(rule) != ofEdge || s.Rule().Register() != rule.Register() {
		return false
	}
	own.Under(rule)
	return true
}

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

// release wakes who waits for the share.
func (s *share) release() {
	if s.answered != nil {
		close(s.answered)
		s.answered = nil
	}
}
