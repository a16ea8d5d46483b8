package actor

import (
	"iter"
	"maps"

	"github.com/jeton-dev/jeton/ring"
)

// fewActors is how many actors a shard always keeps room for.
const fewActors = 1024

// actors are those of one shard, found by the hash of their key, which every check brings along. Where two keys have the
// same hash, which a client may have contrived, the second one is found by its name.
type actors struct {
	byHash map[uint64]*actor
	others map[string]*actor
	peak   int // actors since the maps were made
}

func newActors() actors {
	return actors{byHash: map[uint64]*actor{}, others: map[string]*actor{}, peak: fewActors}
}

// find is the actor of a key, or nil.
func (as *actors) find(hash uint64, key string) *actor {
	if a := as.byHash[hash]; a != nil && a.key == key {
		return a
	}
	if len(as.others) == 0 {
		return nil
	}
	return as.others[key]
}

// add takes in the actor of a key that has none.
func (as *actors) add(hash uint64, a *actor) {
	if as.byHash[hash] == nil {
		as.byHash[hash] = a
	} else {
		as.others[a.key] = a
	}
	as.peak = max(as.peak, as.len())
}

func (as *actors) remove(a *actor) {
	if hash := ring.Hash(a.key); as.byHash[hash] == a {
		delete(as.byHash, hash)
	} else {
		delete(as.others, a.key)
	}
	if as.peak > fewActors && as.len() < as.peak/4 {
		as.shrink()
	}
}

// shrink gives back the room of actors that are no more, which maps keep.
func (as *actors) shrink() {
	as.peak = max(as.len(), fewActors)
	byHash, others := make(map[uint64]*actor, len(as.byHash)), make(map[string]*actor, len(as.others))
	maps.Copy(byHash, as.byHash) // a clone would keep the room
	maps.Copy(others, as.others)
	as.byHash, as.others = byHash, others
}

func (as *actors) len() int { return len(as.byHash) + len(as.others) }

func (as *actors) all() iter.Seq[*actor] {
	return func(yield func(*actor) bool) {
		for _, a := range as.byHash {
			if !yield(a) {
				return
			}
		}
		for _, a := range as.others {
			if !yield(a) {
				return
			}
		}
	}
}

// pieces are all actors, so many at a time. Between two pieces, actors may be added and removed: who is there all the time is in exactly one
// of them, and some of a piece may be gone by the next.
func (as *actors) pieces(size int) iter.Seq[[]*actor] {
	return func(yield func([]*actor) bool) {
		piece := make([]*actor, 0, size)
		for a := range as.all() {
			if piece = append(piece, a); len(piece) == size {
				if !yield(piece) {
					return
				}
				piece = piece[:0]
			}
		}
		yield(piece)
	}
}
