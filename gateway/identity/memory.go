package identity

import (
	"crypto/sha256"
	"sync"
)

// Bounds of a memory. A token counts with a few times its length, since its claims are kept as values.
const (
	shards        = 16
	shardBytes    = 1 << 20 // of each of the two halves of a shard
	memoOverhead  = 512     // bytes that a memo takes besides
	memoExpansion = 4
)

// memory is a cache of tokens with a valid signature, since verifying a signature costs far more than all other checks: see
// BenchmarkToken. It holds hashes, not tokens, and 32 MiB at most. It evicts a token that no request has shown while the young
// half of its shard filled up. It does not hold refused tokens: an attacker could make up enough of them to fill it.
type memory struct{ shards [shards]shard }

// shard is a part of the memory with a lock of its own.
type shard struct {
	mu    sync.Mutex
	young map[[sha256.Size]byte]*memo
	old   map[[sha256.Size]byte]*memo
	bytes int // of young
}

// memo is what is remembered of a token. It never changes.
type memo struct {
	claims map[string]any
	window window
	keys   *keySet // that verified it; when the issuer has another set, the signature is verified again
	bytes  int
}

func newMemory() *memory {
	m := &memory{}
	for i := range m.shards {
		m.shards[i].young = map[[sha256.Size]byte]*memo{}
	}
	return m
}

// recall is what is remembered of the token with that hash, nil for nothing.
func (m *memory) recall(hash [sha256.Size]byte) *memo {
	s := &m.shards[hash[0]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.young[hash]; known != nil {
		return known
	}
	known := s.old[hash]
	if known != nil {
		s.putLocked(hash, known)
	}
	return known
}

// remember keeps what was found of a token of that length.
func (m *memory) remember(hash [sha256.Size]byte, length int, known *memo) {
	known.bytes = memoOverhead + memoExpansion*length
	s := &m.shards[hash[0]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(hash, known)
}

func (s *shard) putLocked(hash [sha256.Size]byte, known *memo) {
	if before := s.young[hash]; before != nil {
		s.bytes -= before.bytes
	}
	if s.bytes+known.bytes > shardBytes {
		s.old, s.young, s.bytes = s.young, map[[sha256.Size]byte]*memo{}, 0
	}
	s.young[hash] = known
	s.bytes += known.bytes
}
