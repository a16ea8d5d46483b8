package actor

import (
	"cmp"
	"context"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	measured "github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring"
)

// An Activity is what a System has done since it started, as counters, and what it is doing.
type Activity struct {
	// Limits are the limits that have said something, by name; those that requests define count as one, "(inline)".
	Limits map[string]Said
	// Latency is of checks, and of batches of them.
	Latency Latency
	// Shed counts what was given up for want of memory, by what it was, as jeton_shed_total has it.
	Shed map[string]float64

	Awake, Dormant int   // keys
	Waiting        int   // checks that have come and are not answered
	Held, Budget   int64 // bytes of keys; a Budget of 0 has no bound

	// Keys are those with most checks of the last half second, the busiest first, and those of them that are denied most: see [System.Checked].
	Keys []KeyState
}

// Said counts what a limit has said.
type Said struct{ Allowed, Denied, Spared float64 }

// A Latency counts durations in buckets, whose upper ends are Bounds, in seconds. A last bucket without one follows.
type Latency struct{ Bounds, Counts []float64 }

// A KeyState is a key and how full its buckets are.
type KeyState struct {
	CheckedKey

	Buckets []BucketState // of those that are awake and known
}

// A BucketState is how full a bucket is.
type BucketState struct {
	Limit               string
	Capacity, Remaining int64
}

// Used is the share of the capacity that is not there, 0 to 1.
func (b BucketState) Used() float64 {
	if b.Capacity <= 0 {
		return 0
	}
	return min(1, max(0, 1-float64(b.Remaining)/float64(b.Capacity)))
}

// Activity tells what the System does. It costs checks no more than a look at a few keys of each shard. Its errors are those of a
// [limit.Checker].
func (s *System) Activity(ctx context.Context) (Activity, error) {
	a := Activity{
		Limits: s.metrics.said(), Shed: map[string]float64{},
		Awake: int(s.awake()), Dormant: int(s.dormant()), Held: s.held(), Budget: s.cfg.Memory,
	}
	a.Latency.Bounds, a.Latency.Counts = measured.Buckets(s.metrics.latency)
	for what, label := range shedLabels {
		if n := measured.Counted(s.metrics.shed[what]); n > 0 {
			a.Shed[label] = n
		}
	}
	_, busiest, denied := s.busy()
	for _, k := range append(busiest, denied...) {
		if !slices.ContainsFunc(a.Keys, func(other KeyState) bool { return other.Key == k.Key }) {
			a.Keys = append(a.Keys, KeyState{CheckedKey: k})
		}
	}
	slices.SortStableFunc(a.Keys, func(a, b KeyState) int { return cmp.Compare(b.PerSecond, a.PerSecond) })
	for _, sh := range s.shards {
		found := make([]KeyState, len(a.Keys)) // of its own: a look whose caller has gone may come later
		waiting := 0
		copy(found, a.Keys)
		err := s.askShard(ctx, sh, &mail{kind: look, other: &otherMail{look: func() {
			waiting = sh.waiting()
			sh.fillIn(found)
		}}})
		if err != nil {
			return Activity{}, err
		}
		a.Keys, a.Waiting = found, a.Waiting+waiting
	}
	return a, nil
}

// waiting is how many checks have come to the shard and are not answered. A look calls it, which is not counted.
func (sh *shard) waiting() int { return max(0, sh.inbox.unanswered()-1) }

// fillIn says how full the buckets are of those keys that are awake in the shard.
func (sh *shard) fillIn(keys []KeyState) {
	now := sh.cfg.Now()
	for i := range keys {
		k := &keys[i]
		if a := sh.actors.find(ring.Hash(k.Key), k.Key); a != nil {
			k.show(&a.owner, now)
		}
	}
}

// show says which buckets an owner has awake, and how full they are.
func (k *KeyState) show(o *owner.Owner, now int64) {
	o.Left(now, func(rule *limit.Rule, tokens int64) {
		k.Limits = append(k.Limits, rule.Name)
		if tokens >= 0 {
			k.Buckets = append(k.Buckets, BucketState{Limit: rule.Name, Capacity: rule.Capacity, Remaining: tokens})
		}
	})
}

// said is what every limit has said so far.
func (m *metrics) said() map[string]Said {
	all := map[string]Said{}
	m.used.Range(func(name, _ any) bool {
		label := name.(string) //nolint:forcetypeassert // nothing else is stored
		of := func(what int) float64 {
			return measured.Counted(m.decisions.WithLabelValues(label, outcomeLabels[what]))
		}
		all[label] = Said{Allowed: of(allowed), Denied: of(denied), Spared: of(spared)}
		return true
	})
	return all
}
