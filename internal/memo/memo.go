// Package memo remembers what is derived from values that others choose, at a cost that a look-up saves.
//
// It has a fixed number of places, and what it remembers it gives up only when it is not asked for: so callers who invent values neither make
// it larger nor drive others out.
package memo

import "sync/atomic"

// Places is how many values a Memo remembers.
const Places = 1024

// givenUpAfter is how many other keys of its place are asked for before a value is given up.
const givenUpAfter = 1000

// A Memo remembers values by their keys, one for each place that keys are hashed to. The zero value remembers nothing. It is safe for
// concurrent use.
type Memo[K comparable, V any] struct {
	places [Places]place[K, V]
}

type place[K comparable, V any] struct {
	kept   atomic.Pointer[entry[K, V]]
	others atomic.Int32 // keys asked for since that of kept was
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Get is the value of the key with that hash, if it is remembered.
func (m *Memo[K, V]) Get(hash uint64, key *K) (value V, ok bool) {
	p := &m.places[hash%Places]
	e := p.kept.Load()
	if e == nil || e.key != *key {
		return value, false
	}
	if p.others.Load() != 0 {
		p.others.Store(0)
	}
	return e.value, true
}

// Free says whether there is a place for a key with that hash, which was not remembered: for Put.
func (m *Memo[K, V]) Free(hash uint64) bool {
	p := &m.places[hash%Places]
	return p.kept.Load() == nil || p.others.Add(1) > givenUpAfter
}

// Put remembers the value of a key.
func (m *Memo[K, V]) Put(hash uint64, key K, value V) {
	p := &m.places[hash%Places]
	p.kept.Store(&entry[K, V]{key, value})
	p.others.Store(0)
}
