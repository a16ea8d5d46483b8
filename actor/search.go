package actor

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

// How a search goes through a shard: searchPiece actors at a time, for which a check waits less than a millisecond, and no longer than
// searchWithin in all shards together. Then it has found what it has.
const (
	searchPiece  = 2048
	searchWithin = 150 * time.Millisecond
	showPiece    = 64 // keys whose buckets are looked at, likewise
)

// A Search says which keys are wanted.
type Search struct {
	// Prefix is a whole key, or how keys begin.
	Prefix string
	// Limit is the name of a limit of which the keys must have an awake bucket. Empty: any.
	Limit string
	// Most is how many keys are wanted at most.
	Most int
}

// Search finds keys: the one that is called Prefix first, awake or dormant, then awake ones that begin with it, by name. What a dormant
// key is called is not kept. complete is false if there are more than were wanted, or than there was time for. Its errors are those of a
// [limit.Checker].
func (s *System) Search(ctx context.Context, q Search) (found []KeyState, complete bool, err error) {
	exact, err := s.searchExact(ctx, q)
	if err != nil {
		return nil, false, err
	}
	q.Most = max(q.Most, 0)
	c := candidates{most: q.Most}
	ends := time.Now().Add(searchWithin)
	complete = true
	for _, sh := range s.shards {
		whole, err := s.searchShard(ctx, sh, q, &c, ends)
		if err != nil {
			return nil, false, err
		}
		complete = complete && whole
	}
	keys := c.sorted()
	if exact != nil {
		found = append(found, *exact)
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == exact.Key })
	}
	for _, key := range keys {
		found = append(found, KeyState{CheckedKey: CheckedKey{Key: key}})
	}
	if len(found) > q.Most {
		found, complete = found[:q.Most], false
	}
	return found, complete && !c.dropped, s.showFound(ctx, found)
}

// searchExact is the key that is called as the search says; nil if it is not here, or has no bucket of the limit.
func (s *System) searchExact(ctx context.Context, q Search) (*KeyState, error) {
	if q.Prefix == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	partition := ring.PartitionOf(ring.Hash(q.Prefix), s.cfg.Partitions)
	found := &KeyState{CheckedKey: CheckedKey{Key: q.Prefix}}
	here := new(bool)
	err := s.look(ctx, q.Prefix, func(sh *shard, a *actor) {
		if a != nil {
			*here = q.Limit == "" || a.owner.Has(q.Limit)
			return // its buckets are shown later, with the others'
		}
		if o, dormant := sh.peekRest(q.Prefix, partition); dormant && (q.Limit == "" || o.Has(q.Limit)) {
			*here = true
			found.show(&o, s.cfg.Now())
		}
	})
	if err != nil || !*here {
		return nil, err
	}
	return found, nil
}

// searchShard looks through the actors of a shard, piece by piece, and says whether it has seen them all.
func (s *System) searchShard(ctx context.Context, sh *shard, q Search, c *candidates, ends time.Time) (whole bool, err error) {
	// The shard runs a piece at some time, unless its caller has gone.
	var (
		mu   sync.Mutex
		gone bool
		next func() ([]*actor, bool)
		stop = func() {}
	)
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		gone = true
		stop()
	}()
	for more := true; more; {
		err := s.askShard(ctx, sh, &mail{kind: look, other: &otherMail{look: func() {
			mu.Lock()
			defer mu.Unlock()
			if gone {
				return
			}
			if next == nil {
				next, stop = iter.Pull(sh.actors.pieces(searchPiece))
			}
			var piece []*actor
			piece, more = next()
			c.look(piece, &q)
		}}})
		if err != nil {
			return false, err
		}
		if more && time.Now().After(ends) {
			return false, nil
		}
	}
	return true, nil
}

// showFound says how full the buckets are of keys that were found.
func (s *System) showFound(ctx context.Context, found []KeyState) error {
	_, busiest, denied := s.busy()
	busy := slices.Concat(busiest, denied)
	for i := range found {
		if at := slices.IndexFunc(busy, func(k CheckedKey) bool { return k.Key == found[i].Key }); at >= 0 {
			limits := found[i].Limits
			found[i].CheckedKey = busy[at]
			found[i].Limits = limits
		}
	}
	for piece := range slices.Chunk(found, showPiece) {
		for _, sh := range s.shards {
			shown := slices.Clone(piece)
			err := s.askShard(ctx, sh, &mail{kind: look, other: &otherMail{look: func() { sh.fillIn(shown) }}})
			if err != nil {
				return err
			}
			copy(piece, shown)
		}
	}
	return nil
}

// candidates are the first of the names that a search finds. They are its caller's, but for the time that a shard looks at a piece.
type candidates struct {
	most    int
	keys    []string
	last    string // of those that are kept, if some were dropped
	dropped bool   // some were too many
}

// look takes in those of some actors that are wanted.
func (c *candidates) look(piece []*actor, q *Search) {
	for _, a := range piece {
		if strings.HasPrefix(a.key, q.Prefix) && !a.gone && (q.Limit == "" || a.owner.Has(q.Limit)) {
			c.add(a.key)
		}
	}
}

// add takes in a name. Twice as many as are wanted are kept, so that they need not be sorted for each.
func (c *candidates) add(key string) {
	if c.dropped && key > c.last {
		return
	}
	if c.keys = append(c.keys, key); len(c.keys) > 2*c.most+16 {
		c.sorted()
	}
}

// sorted are the first names, with one more than are wanted: the one that was asked for may be among them.
func (c *candidates) sorted() []string {
	slices.Sort(c.keys)
	if most := c.most + 1; len(c.keys) > most {
		clear(c.keys[most:])
		c.keys, c.last, c.dropped = c.keys[:most], c.keys[most-1], true
	}
	return c.keys
}
