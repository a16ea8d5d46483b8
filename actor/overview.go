package actor

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

// An Overview is what a System's actors are doing at one moment.
type Overview struct {
	Awake   int             // actors held in memory
	Waiting int             // checks that wait in their mailboxes
	Shards  []ShardOverview // one for each shard
	Busiest []Busy          // the awake keys with the highest demand, highest first

	PerSecond float64      // checks, in the last half second
	Checked   []CheckedKey // the keys that had most of these: see [System.Checked]

	Gauged []GaugedBucket // the buckets that metrics show, by limit, those of the busiest keys first
}

// A ShardOverview is what one shard is doing.
type ShardOverview struct {
	Awake   int // actors
	Waiting int // checks in its actors' mailboxes
	Inbox   int // checks handed in and not yet looked at
}

// Busy is a key that is checked often.
type Busy struct {
	Key       string
	Limits    []string // its awake buckets
	PerSecond float64  // tokens spent a second, smoothed over about Δ, of its busiest bucket
	Waiting   int      // checks that wait in its mailbox
}

// Used says how long ago, on the node clock, each stored limit decided a check here, of those that did so within the given
// time.
func (s *System) Used(within time.Duration) map[string]time.Duration {
	now, recent := s.cfg.Now(), map[string]time.Duration{}
	s.metrics.used.Range(func(name, at any) bool {
		ago := time.Duration(max(0, now-at.(*atomic.Int64).Load()))      //nolint:forcetypeassert // nothing else is stored
		if name := name.(string); ago <= within && name != inlineLabel { //nolint:forcetypeassert // likewise
			recent[name] = ago
		}
		return true
	})
	return recent
}

// maxScanned is how many actors of a shard Overview looks at to find the busiest ones.
const maxScanned = 100_000

// Overview tells what the actors are doing, with the busiest keys, at most top of them. Its errors are those
// of a [limit.Checker].
func (s *System) Overview(ctx context.Context, top int) (Overview, error) {
	var o Overview
	o.PerSecond, o.Checked = s.Checked()
	o.Gauged = s.gauged()
	for _, sh := range s.shards {
		err := s.askShard(ctx, sh, &mail{kind: look, other: &otherMail{look: func() {
			one := ShardOverview{Awake: sh.actors.len(), Inbox: sh.inbox.len()}
			o.Busiest = append(o.Busiest, sh.busiest(&one, top)...)
			o.Shards = append(o.Shards, one)
			o.Awake += one.Awake
			o.Waiting += one.Waiting
			sh.nameLimits(o.Checked)
		}}})
		if err != nil {
			return Overview{}, err
		}
		o.Busiest = cut(o.Busiest, top)
	}
	return o, nil
}

// cut leaves of keys the busiest, at most n of them.
func cut(keys []Busy, n int) []Busy {
	slices.SortFunc(keys, func(a, b Busy) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), cmp.Compare(a.Key, b.Key))
	})
	return keys[:min(max(n, 0), len(keys))]
}

// busiest are the shard's keys with the highest demand, if they have any, at most n of them. It counts what waits.
func (sh *shard) busiest(one *ShardOverview, n int) []Busy {
	var found []Busy
	now, scanned := sh.cfg.Now(), 0
	for a := range sh.actors.all() {
		if scanned++; scanned > maxScanned {
			break
		}
		waiting := a.waiting()
		one.Waiting += waiting
		if demand := a.owner.Load(now); demand > 0 {
			found = append(found, Busy{Key: a.key, PerSecond: demand, Waiting: waiting})
		}
	}
	found = cut(found, n)
	for i := range found {
		found[i].Limits = sh.limitsOf(found[i].Key, now)
	}
	return found
}

// nameLimits names the limits of those keys that are the shard's.
func (sh *shard) nameLimits(keys []CheckedKey) {
	now := sh.cfg.Now()
	for i := range keys {
		if limits := sh.limitsOf(keys[i].Key, now); limits != nil {
			keys[i].Limits = limits
		}
	}
}

// limitsOf are the names of a key's awake buckets.
func (sh *shard) limitsOf(key string, now int64) (names []string) {
	if a := sh.actors.find(ring.Hash(key), key); a != nil {
		for _, v := range a.owner.Views(now) {
			names = append(names, v.Rule.Name)
		}
	}
	return names
}
