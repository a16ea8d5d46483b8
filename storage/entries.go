package storage

import (
	"iter"
	"maps"

	"github.com/cespare/xxhash/v2"

	"github.com/jeton-dev/jeton/storage/register"
)

// An entry is a register in memory.
type entry struct {
	key        string
	register   register.Register
	generation uint64 // on disk: in which it was written last

	recording uint32 // the last in which it was noted
	noted     uint32 // where in that
}

// A slot is where a register is looked for: its key, and its entry if there is one.
type slot struct {
	key   []byte
	hash  uint64
	entry *entry

	found  string // the key of what stands in the place of the hash
	warmth uint64 // means nothing
}

// entries are found by the hash of their key. Where two keys have the same, the second one is found by its name.
type entries struct {
	byHash map[uint64]*entry
	others map[string]*entry
	most   int // entries since the maps were made
}

func newEntries() entries {
	return entries{byHash: map[uint64]*entry{}, others: map[string]*entry{}}
}

// seek is the first half of a search, and find the second. Done for many slots at once, first the one and then the
// other, they wait for memory together and not one after another.
func (es *entries) seek(s *slot) {
	s.hash = xxhash.Sum64(s.key)
	s.entry = es.byHash[s.hash]
}

// touch is between the two, twice: first for the entry, then for the text of its key.
func (s *slot) touch() {
	if s.entry != nil {
		s.found, s.warmth = s.entry.key, s.entry.generation
	}
}

func (s *slot) touchKey() {
	if s.found != "" {
		s.warmth += uint64(s.found[len(s.found)-1])
	}
}

func (es *entries) find(s *slot) {
	if s.entry != nil && s.found == string(s.key) {
		return
	}
	s.entry = nil
	if len(es.others) > 0 {
		s.entry = es.others[string(s.key)]
	}
}

// at is the slot of a key.
func (es *entries) at(key []byte) slot {
	s := slot{key: key}
	es.seek(&s)
	s.touch()
	es.find(&s)
	return s
}

// add takes in an entry for a key that has none.
func (es *entries) add(s *slot) *entry {
	e := &entry{key: string(s.key)}
	if es.byHash[s.hash] == nil {
		es.byHash[s.hash] = e
	} else {
		es.others[e.key] = e
	}
	es.most = max(es.most, es.len())
	return e
}

func (es *entries) remove(e *entry) {
	if hash := xxhash.Sum64String(e.key); es.byHash[hash] == e {
		delete(es.byHash, hash)
	} else {
		delete(es.others, e.key)
	}
}

// shrink gives back the room of entries that are no more, which maps keep.
func (es *entries) shrink() {
	if es.len() >= es.most/4 {
		return
	}
	es.most = es.len()
	byHash, others := make(map[uint64]*entry, len(es.byHash)), make(map[string]*entry, len(es.others))
	maps.Copy(byHash, es.byHash) // a clone would keep the room
	maps.Copy(others, es.others)
	es.byHash, es.others = byHash, others
}

func (es *entries) len() int { return len(es.byHash) + len(es.others) }

// inline is how many are of limits that requests define.
func (es *entries) inline() (n int) {
	for e := range es.all() {
		if e.register.Inline {
			n++
		}
	}
	return n
}

func (es *entries) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, e := range es.byHash {
			if !yield(e) {
				return
			}
		}
		for _, e := range es.others {
			if !yield(e) {
				return
			}
		}
	}
}

// shelves are entries by the partition of their keys.
type shelves []entries

func newShelves(partitions int) shelves {
	s := make(shelves, partitions)
	for p := range s {
		s[p] = newEntries()
	}
	return s
}

// of are the entries among which that register key is, if it is there.
func (s shelves) of(key []byte) *entries { return &s[partitionOf(key)] }

func (s shelves) remove(e *entry) { s[int(e.key[1])<<8|int(e.key[2])].remove(e) }

func (s shelves) shrink() {
	for p := range s {
		s[p].shrink()
	}
}

func (s shelves) len() (n int) {
	for p := range s {
		n += s[p].len()
	}
	return n
}
