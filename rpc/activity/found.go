package activity

import (
	"slices"
	"strings"
)

// How many keys a search finds: so many unless it says how many, and at most so many.
const (
	DefaultKeys = 100
	MaxKeys     = 1000
)

// KeysAsked is a search for keys.
type KeysAsked struct {
	Prefix string `json:"prefix"`          // a whole key, or how keys begin
	Limit  string `json:"limit,omitempty"` // only keys with an awake bucket of that limit; empty: any
	Most   int    `json:"most,omitempty"`  // how many; 0: DefaultKeys, and never more than MaxKeys
}

// most is how many keys a question gets, whoever asks it.
func (q *KeysAsked) most() int {
	if q.Most <= 0 {
		return DefaultKeys
	}
	return min(q.Most, MaxKeys)
}

// KeysFound is what a search has found: the key that has that very name first, then by name.
type KeysFound struct {
	Keys []Key `json:"keys"`
	// Complete is false where there are more keys than were asked for, or than there was time for, or where nodes are silent.
	Complete bool     `json:"complete"`
	Silent   []string `json:"silent,omitempty"` // nodes that have not answered
}

// A finding gathers what nodes have found.
type finding struct {
	KeysFound

	at map[string]int // the places of Keys, by the escaped key: a search of every key for every key takes seconds
}

// add adds what a node has found.
func (f *finding) add(there KeysFound, node string) {
	f.Complete = f.Complete && there.Complete
	for _, k := range there.Keys {
		k.Node = node
		if at, known := f.at[k.Escaped]; known {
			f.Keys[at] = f.Keys[at].plus(k)
			continue
		}
		f.at[k.Escaped] = len(f.Keys)
		f.Keys = append(f.Keys, k)
	}
}

// finish sorts what was found, and cuts it to what was asked for.
func (f *KeysFound) finish(q KeysAsked) {
	slices.SortFunc(f.Keys, func(a, b Key) int { return strings.Compare(a.Key, b.Key) })
	if len(f.Keys) > q.Most {
		f.Keys, f.Complete = f.Keys[:q.Most], false
	}
	if f.Keys == nil {
		f.Keys = []Key{}
	}
	slices.Sort(f.Silent)
	f.Complete = f.Complete && len(f.Silent) == 0
}
