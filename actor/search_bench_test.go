package actor

import (
	"strconv"
	"testing"
)

// BenchmarkShowFound reports for how long a search holds a shard while it looks at the buckets of the keys of a piece: full ones of limits
// that count entries, which take longest, and token buckets.
func BenchmarkShowFound(b *testing.B) {
	for name, text := range map[string]string{
		"counted": "limits: {l: {algorithm: sliding-log, limit: 900, window: 10m}}", "token bucket": "limits: {l: {capacity: 1000, refill: 1/s}}",
	} {
		s := start(b, Config{Shards: 1, Limits: fixed(document(b, text))})
		keys := make([]KeyState, showPiece)
		for i := range keys {
			keys[i].Key = "key:" + strconv.Itoa(i)
			for range 800 { // each an entry of its own
				spendAll(b, s, spend(keys[i].Key, 1, "l"), 1)
			}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for i := range keys {
					keys[i] = KeyState{CheckedKey: CheckedKey{Key: keys[i].Key}}
				}
				s.shards[0].fillIn(keys)
			}
		})
	}
}
