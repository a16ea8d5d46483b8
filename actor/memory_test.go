package actor

import (
	"runtime"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// mostBytes is what an awake key of 16 bytes with one bucket may cost of the live heap, all in all.
const mostBytes = 250

// silent is a replica that never answers.
func silent([]register.Reservation, func([]register.Answer, error)) {}

// bytesPerKey is what one of n keys costs that are awake: keys of 16 bytes, each of which was checked once. What a System
// needs to wake keys at all, whatever their number, is there before.
func bytesPerKey(tb testing.TB, shards, n int, replicas ...replica) float64 {
	tb.Helper()
	cfg := Config{IdleAfter: time.Hour, Shards: shards}
	for _, r := range replicas {
		cfg.Replicas = append(cfg.Replicas, r)
	}
	s := start(tb, cfg)
	defer s.Close()
	heap := func(awake int) int64 {
		wake(tb, s, awake)
		found := 0
		for _, sh := range s.shards { // which have then heard all replicas, and let go of the last batch
			count := &mail{kind: look, other: &otherMail{look: func() { found += sh.actors.len() }}}
			if err := s.askShard(tb.Context(), sh, count); err != nil {
				tb.Fatal(err)
			}
		}
		if found != awake {
			tb.Fatalf("%d keys are awake, want %d", found, awake)
		}
		return liveHeap()
	}
	const first = 2 * limit.MaxBatch
	before := heap(first)
	return float64(heap(n)-before) / float64(n-first)
}

// TestAwakeBucket bounds what an awake key costs. Of that, 25 bytes for each place are the map's, which doubles its places
// when 7 in 8 are taken: with 120,000 keys it has just done so, and costs the most for each key; with 102,000 it is full
// to three quarters. The slice of the alarms may be larger by a quarter than it needs to be.
func TestAwakeBucket(t *testing.T) {
	agrees, silent := replica{reserve: agreeable}, replica{reserve: silent}
	for _, c := range []struct {
		name     string
		replicas []replica
	}{
		{"one replica", []replica{agrees}},
		{"three replicas", []replica{agrees, agrees, agrees}},
		{"three replicas, of which one is silent", []replica{agrees, silent, agrees}},
		{"five replicas", []replica{agrees, agrees, agrees, agrees, agrees}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, keys := range []int{102_000, 120_000} {
				got := bytesPerKey(t, 1, keys, c.replicas...)
				t.Logf("%d keys: %.1f bytes each", keys, got)
				if got > mostBytes {
					t.Errorf("each of %d awake keys costs %.1f bytes, want at most %d", keys, got, mostBytes)
				}
			}
		})
	}
}

// BenchmarkMillionAwake reports what one of a million awake keys costs.
func BenchmarkMillionAwake(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(bytesPerKey(b, runtime.GOMAXPROCS(0), 1_000_000, replica{reserve: agreeable}), "B/bucket")
	}
}
