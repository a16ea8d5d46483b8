package bench

import (
	crand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
)

// keyLength is that of every key, in bytes.
const keyLength = 16

// A keySpace is the keys of a Load. It is made once, before the load, and only read under it.
type keySpace struct {
	kind  string
	keys  []string
	alias aliasTable // of Zipf
	first uint64     // of New: the number of the first key
}

func newKeySpace(l Load) (*keySpace, error) {
	s := &keySpace{kind: l.Keys}
	switch l.Keys {
	case New:
		var b [8]byte
		if _, err := crand.Read(b[:]); err != nil {
			return nil, fmt.Errorf("draw new keys: %w", err)
		}
		s.first = binary.BigEndian.Uint64(b[:])
		return s, nil
	case One:
		s.keys = makeKeys(1)
		return s, nil
	case Zipf:
		s.alias = zipfTable(l.KeyCount, l.Exponent)
	}
	s.keys = makeKeys(l.KeyCount)
	return s, nil
}

// makeKeys are n different keys, side by side in memory.
func makeKeys(n int) []string {
	text := make([]byte, 0, n*keyLength)
	for i := range n {
		text = fmt.Appendf(text, "user:%011d", i)
	}
	return cut(string(text))
}

// cut is text in pieces of the length of a key.
func cut(text string) []string {
	keys := make([]string, len(text)/keyLength)
	for i := range keys {
		keys[i] = text[i*keyLength : (i+1)*keyLength]
	}
	return keys
}

// A picker draws keys for one caller.
type picker struct {
	space *keySpace
	rand  *rand.PCG
	next  uint64 // of New: the number of the next key
}

// pickerOf is the caller's own picker: it shares nothing that it writes.
func (s *keySpace) pickerOf(seed uint64, caller int) *picker {
	return &picker{space: s, rand: rand.NewPCG(seed, uint64(caller)), next: s.first + uint64(caller)<<40}
}

// pick fills keys with the next ones.
func (p *picker) pick(keys []string) {
	s := p.space
	switch s.kind {
	case New:
		p.fresh(keys)
	case One:
		for i := range keys {
			keys[i] = s.keys[0]
		}
	case Zipf:
		for i := range keys {
			keys[i] = s.keys[s.alias.pick(p.rand.Uint64())]
		}
	default:
		for i := range keys {
			keys[i] = s.keys[scale(p.rand.Uint64(), len(s.keys))]
		}
	}
}

// fresh makes keys that were never asked about, with one allocation for all of them.
func (p *picker) fresh(keys []string) {
	text := make([]byte, len(keys)*keyLength)
	var number [8]byte
	for i := range keys {
		binary.BigEndian.PutUint64(number[:], p.next)
		p.next++
		hex.Encode(text[i*keyLength:], number[:])
	}
	all := string(text)
	for i := range keys {
		keys[i] = all[i*keyLength : (i+1)*keyLength]
	}
}

// scale maps 64 random bits to 0 … n-1. n is at most 2³².
func scale(random uint64, n int) int { return int(random >> 32 * uint64(n) >> 32) }

// An aliasTable draws from any distribution in constant time (Walker's method, built as Vose does): the column that a
// draw falls into keeps it, or passes it to its alias.
type aliasTable struct {
	keep  []uint32 // of 2³²: how much of the column is its own
	alias []uint32
}

// zipfTable draws k, from 0, with a probability of 1/(k+1)^s.
func zipfTable(n int, s float64) aliasTable {
	weights, sum := make([]float64, n), 0.0
	for k := range weights {
		weights[k] = math.Pow(float64(k+1), -s)
		sum += weights[k]
	}
	t := aliasTable{keep: make([]uint32, n), alias: make([]uint32, n)}
	var small, large []uint32
	for k := range weights {
		weights[k] *= float64(n) / sum
		t.keep[k], t.alias[k] = math.MaxUint32, uint32(k)
		if weights[k] < 1 {
			small = append(small, uint32(k))
		} else {
			large = append(large, uint32(k))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		l, g := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.keep[l], t.alias[l] = uint32(weights[l]*(1<<32-1)), g
		weights[g] -= 1 - weights[l]
		if weights[g] < 1 {
			large = large[:len(large)-1]
			small = append(small, g)
		}
	}
	return t
}

// pick draws with 64 random bits: the upper half chooses the column, the lower one whether it keeps the draw.
func (t aliasTable) pick(random uint64) uint32 {
	column := scale(random, len(t.keep))
	if random&math.MaxUint32 <= uint64(t.keep[column]) {
		return uint32(column)
	}
	return t.alias[column]
}
