package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
)

// However many tokens are believed, what is remembered is bounded; and what is asked for again and again stays.
func TestMemoryIsBounded(t *testing.T) {
	m := newMemory()
	hash := func(i int) [sha256.Size]byte { return sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i))) }
	favorite := &memo{}
	m.remember(hash(0), 800, favorite)
	for i := 1; i < 100_000; i++ {
		m.remember(hash(i), 800, &memo{})
		if m.recall(hash(0)) != favorite {
			t.Fatalf("after %d other tokens one that is always used is forgotten", i)
		}
	}
	total := 0
	for i := range m.shards {
		s := &m.shards[i]
		young := 0
		for _, known := range s.young {
			young += known.bytes
		}
		if young != s.bytes {
			t.Errorf("shard %d reckons with %d bytes, it has %d", i, s.bytes, young)
		}
		for _, known := range s.old {
			total += known.bytes
		}
		total += young
	}
	if most := 2 * shards * shardBytes; total > most || total < most/4 {
		t.Errorf("%d bytes are remembered, want at most %d and not much less", total, most)
	}
	if m.recall(hash(1)) != nil {
		t.Error("a token of long ago is remembered")
	}
}

// The same token again and again takes no more room.
func TestMemoryOfOneToken(t *testing.T) {
	m := newMemory()
	last := &memo{}
	for range 10_000 {
		last = &memo{}
		m.remember([sha256.Size]byte{}, maxToken, last)
	}
	if s := &m.shards[0]; s.bytes != last.bytes || len(s.young) != 1 || s.old != nil {
		t.Errorf("one token takes %d bytes, in %d places", s.bytes, len(s.young)+len(s.old))
	}
	if m.recall([sha256.Size]byte{}) != last {
		t.Error("the last memo is not the one that is remembered")
	}
}
