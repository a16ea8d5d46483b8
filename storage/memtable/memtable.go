// Package memtable holds registers in memory, found by the bytes of their key. Its lookup is the hot path of every check:
// it is in halves, so that a caller with many keys can overlap their cache misses.
//
// Start with [Table].
package memtable

import (
	"iter"
	"maps"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/jeton-dev/jeton/storage/register"
)

// An Entry is a register in memory.
type Entry struct {
	Key      string
	Register register.Register

	// The rest is the caller's: where in its own lists the entry is.

	Rotation  uint64 // on disk: after which rotation of the memtable it was last written
	ChangeLog uint32 // the last change log that lists it
	Place     uint32 // its index there
}

// entryBytes is the size of an entry, and of its place in a map that may be half empty.
const entryBytes = int64(unsafe.Sizeof(Entry{})) + 40

// Bytes is about how much memory e takes.
func (e *Entry) Bytes() int64 {
	return entryBytes + int64(len(e.Key)) + int64(len(e.Register.Ledger))
}

// Set replaces the register, and says by how much that grew the entry. It keeps the ledger, whose bytes never change.
func (e *Entry) Set(r register.Register) (grown int64) {
	grown = int64(len(r.Ledger)) - int64(len(e.Register.Ledger))
	e.Register = r
	return grown
}

// A Slot is one lookup: the key, and the entry if there is one.
type Slot struct {
	Key   []byte
	Entry *Entry
	hash  uint64

	foundKey string // the key of the entry with the same hash
	sink     uint64 // keeps the compiler from leaving out the loads of Prefetch
}

// A Table holds entries by the hash of their key. Of two keys with the same hash the second one is held by its text.
type Table struct {
	byHash     map[uint64]*Entry
	collisions map[string]*Entry
	maxLen     int // the most entries since the maps were made
}

// New makes an empty Table.
func New() Table {
	return Table{byHash: map[uint64]*Entry{}, collisions: map[string]*Entry{}}
}

// Lookup is the slot of a key.
func (t *Table) Lookup(key []byte) Slot {
	s := Slot{Key: key}
	t.Seek(&s)
	s.Prefetch()
	t.Find(&s)
	return s
}

// Seek is the first half of a lookup, and Find the second. Called for many slots, first the one and then the other, their
// cache misses overlap.
func (t *Table) Seek(s *Slot) {
	s.hash = xxhash.Sum64(s.Key)
	s.Entry = t.byHash[s.hash]
}

// Prefetch is called between Seek and Find: it loads the entry.
func (s *Slot) Prefetch() {
	if s.Entry != nil {
		s.foundKey, s.sink = s.Entry.Key, s.Entry.Rotation
	}
}

// PrefetchKey is called between Prefetch and Find: it loads the text of the entry's key. It may be left out.
func (s *Slot) PrefetchKey() {
	if s.foundKey != "" {
		s.sink += uint64(s.foundKey[len(s.foundKey)-1])
	}
}

// Find is the second half of a lookup.
func (t *Table) Find(s *Slot) {
	if s.Entry != nil && s.foundKey == string(s.Key) {
		return
	}
	s.Entry = nil
	if len(t.collisions) > 0 {
		s.Entry = t.collisions[string(s.Key)]
	}
}

// Add makes the entry of a slot that has none.
func (t *Table) Add(s *Slot) *Entry {
	e := &Entry{Key: string(s.Key)}
	if t.byHash[s.hash] == nil {
		t.byHash[s.hash] = e
	} else {
		t.collisions[e.Key] = e
	}
	t.maxLen = max(t.maxLen, t.Len())
	return e
}

// Remove removes an entry.
func (t *Table) Remove(e *Entry) {
	if hash := xxhash.Sum64String(e.Key); t.byHash[hash] == e {
		delete(t.byHash, hash)
	} else {
		delete(t.collisions, e.Key)
	}
}

// Shrink frees the memory that the maps keep for removed entries, if that is most of it.
func (t *Table) Shrink() {
	if t.Len() >= t.maxLen/4 {
		return
	}
	t.maxLen = t.Len()
	byHash, collisions := make(map[uint64]*Entry, len(t.byHash)), make(map[string]*Entry, len(t.collisions))
	maps.Copy(byHash, t.byHash) // maps.Clone would keep the memory
	maps.Copy(collisions, t.collisions)
	t.byHash, t.collisions = byHash, collisions
}

// Len is the number of entries.
func (t *Table) Len() int { return len(t.byHash) + len(t.collisions) }

// Inline is the number of registers whose limit a request has defined.
func (t *Table) Inline() (n int) {
	for e := range t.All() {
		if e.Register.Inline {
			n++
		}
	}
	return n
}

// All yields the entries in no particular order. The caller may remove the one that it was given.
func (t *Table) All() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, e := range t.byHash {
			if !yield(e) {
				return
			}
		}
		for _, e := range t.collisions {
			if !yield(e) {
				return
			}
		}
	}
}

// Tables are one Table for each partition.
type Tables []Table

// NewTables makes n empty Tables.
func NewTables(n int) Tables {
	ts := make(Tables, n)
	for p := range ts {
		ts[p] = New()
	}
	return ts
}

// Shrink shrinks every Table.
func (ts Tables) Shrink() {
	for p := range ts {
		ts[p].Shrink()
	}
}

// Len is the number of entries of all Tables.
func (ts Tables) Len() (n int) {
	for p := range ts {
		n += ts[p].Len()
	}
	return n
}
