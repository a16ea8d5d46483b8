package actor

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// A dormantKey stands for a key that is dormant: a hash of the key and a secret of its shard. If two keys had the same one, the one
// could spend the line of the other. So it has 128 bits, and no caller can look for two such keys.
type dormantKey [16]byte

// dormantEntry is what a dormant key takes in a map, and dormantBytes about how much memory in all: a map has room for more, and is between
// 7/16 and 7/8 full.
const (
	dormantEntry = int64(unsafe.Sizeof(dormantKey{}) + unsafe.Sizeof(owner.Rest{}))
	dormantBytes = dormantEntry + 40
)

// dormant are a shard's keys that have no actor and hold line: see [owner.Rest]. Each partition has a map of its own, so that its line
// can be given up at once.
type dormant struct {
	secret     [32]byte
	scratch    []byte
	partitions []dormantPartition
	n          int            // keys, in all partitions
	sweepAt    int64          // when to sweep next, if there are any keys
	cursor     ring.Partition // whose turn it is next, to be swept or to let go of line
}

type dormantPartition struct {
	rests map[dormantKey]owner.Rest // nil for none
	terms *owner.Terms              // under which all of them were taken
	bytes int64                     // of all of them
	peak  int                       // keys since the map was made
}

func newDormant(partitions int) dormant {
	d := dormant{partitions: make([]dormantPartition, partitions)}
	if _, err := rand.Read(d.secret[:]); err != nil { // it never fails
		panic(fmt.Sprintf("draw a secret: %v", err))
	}
	return d
}

// keyOf is what stands for a key.
func (d *dormant) keyOf(key string) dormantKey {
	d.scratch = append(append(d.scratch[:0], d.secret[:]...), key...)
	sum := sha256.Sum256(d.scratch)
	return dormantKey(sum[:len(dormantKey{})])
}

// drop forgets one rest of a partition, and says how many bytes that frees.
func (d *dormant) drop(of *dormantPartition, key dormantKey, r *owner.Rest) (freed int64) {
	freed = dormantBytes + r.Bytes()
	delete(of.rests, key)
	of.bytes -= freed
	d.n--
	if len(of.rests) == 0 {
		*of = dormantPartition{}
	}
	return freed
}

// clear forgets all rests of a partition, and says how many bytes that frees.
func (d *dormant) clear(of *dormantPartition) (freed int64) {
	freed = of.bytes
	d.n -= len(of.rests)
	*of = dormantPartition{}
	return freed
}

// shrink gives back the room of rests that are no more, which maps keep.
func (of *dormantPartition) shrink() {
	const few = 64
	if of.peak <= few || len(of.rests) >= of.peak/4 {
		return
	}
	rests := make(map[dormantKey]owner.Rest, len(of.rests))
	maps.Copy(rests, of.rests) // a clone would keep the room
	of.rests, of.peak = rests, len(rests)
}

// next is the partition whose turn it is, of those that have rests, or nil.
func (d *dormant) next() *dormantPartition {
	if d.n == 0 {
		return nil
	}
	for range d.partitions {
		of := &d.partitions[d.cursor]
		d.cursor = ring.Partition((int(d.cursor) + 1) % len(d.partitions))
		if len(of.rests) > 0 {
			return of
		}
	}
	return nil
}

// dormantOf are the dormant keys of a partition. What they hold is given up if the partition has another epoch than when they became dormant,
// or is no longer here: an actor would go on with its line in the new epoch, but a rest does not say whether its partition was away
// in the meantime.
func (sh *shard) dormantOf(p ring.Partition, at *place) *dormantPartition {
	of := &sh.dormant.partitions[p]
	if of.terms != at.terms && of.terms != nil {
		sh.held -= sh.dormant.clear(of)
	}
	return of
}

// keepRest keeps what is left of a key that has no actor any more.
func (sh *shard) keepRest(key string, p ring.Partition, at *place, rest owner.Rest, now int64) {
	d, of, k := &sh.dormant, sh.dormantOf(p, at), sh.dormant.keyOf(key)
	if twice, found := of.rests[k]; found { // a bug: which of the two has spent more is not known
		sh.held -= d.drop(of, k, &twice)
		return
	}
	if of.rests == nil {
		of.rests, of.terms = map[dormantKey]owner.Rest{}, at.terms
	}
	if d.n == 0 {
		d.sweepAt = now + mostBetweenSweeps
	}
	of.rests[k] = rest
	of.peak = max(of.peak, len(of.rests))
	weight := dormantBytes + rest.Bytes()
	of.bytes += weight
	sh.held += weight
	d.n++
}

// takeRest takes what is left of a dormant key out of the shard, for its actor to go on with.
func (sh *shard) takeRest(key string, p ring.Partition, at *place) (rest owner.Rest, ok bool) {
	if sh.dormant.n == 0 {
		return rest, false
	}
	of, k := sh.dormantOf(p, at), sh.dormant.keyOf(key)
	if rest, ok = of.rests[k]; ok {
		sh.held -= sh.dormant.drop(of, k, &rest)
	}
	return rest, ok
}

// peekRest is an owner with what is left of a dormant key, to look at only.
func (sh *shard) peekRest(key string, p ring.Partition) (o owner.Owner, ok bool) {
	at := sh.placeOf(p)
	if sh.dormant.n == 0 || at.Placement == nil {
		return o, false
	}
	rest, ok := sh.dormantOf(p, at).rests[sh.dormant.keyOf(key)]
	if ok {
		o.Terms = at.terms
		o.Restore(rest, sh.cfg.Now())
	}
	return o, ok
}

// How rests are swept whose line has passed: a piece after the other, and each of them within about sweepWithin.
const (
	sweepPiece        = 1024          // rests that are looked at before checks get their turn
	sweepWithin       = int64(30e9)   // nanoseconds
	leastBetweenSweep = int64(5e6)    // nanoseconds
	mostBetweenSweeps = int64(1000e6) // nanoseconds
)

// sweepDormant drops the next rests whose line has passed, and those of partitions that are elsewhere.
func (sh *shard) sweepDormant(now int64) {
	d := &sh.dormant
	if d.n == 0 || now < d.sweepAt {
		return
	}
	for looked, rounds := 0, len(d.partitions); looked < sweepPiece && rounds > 0; rounds-- {
		p := d.cursor
		d.cursor = ring.Partition((int(p) + 1) % len(d.partitions))
		if len(d.partitions[p].rests) == 0 {
			continue
		}
		of := sh.dormantOf(p, sh.placeOf(p))
		for key, rest := range of.rests { // of many, other ones each time
			if looked++; looked > sweepPiece {
				break
			}
			if rest.Passed(now) {
				sh.held -= d.drop(of, key, &rest)
			}
		}
		of.shrink()
	}
	d.sweepAt = now + max(leastBetweenSweep, min(mostBetweenSweeps, sweepWithin/int64(1+d.n/sweepPiece)))
}

// dropDormant gives up all that dormant keys hold.
func (sh *shard) dropDormant() {
	for p := range sh.dormant.partitions {
		sh.held -= sh.dormant.clear(&sh.dormant.partitions[p])
	}
}

// leastSample is how many rests are compared for one that is let go.
const leastSample = 8

// leastRest is that of a few dormant keys with which the smallest share of a bucket is lost. There must be one.
func (sh *shard) leastRest(now int64) (of *dormantPartition, least dormantKey) {
	of = sh.dormant.next()
	n, share := 0, 0.0
	for key, rest := range of.rests {
		if s := rest.Share(now); n == 0 || s < share {
			least, share = key, s
		}
		if n++; n == leastSample {
			break
		}
	}
	return of, least
}

// dropRest lets go of a rest.
func (sh *shard) dropRest(of *dormantPartition, key dormantKey) {
	rest := of.rests[key]
	sh.held -= sh.dormant.drop(of, key, &rest)
	of.shrink()
}
