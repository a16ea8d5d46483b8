package fallback

import (
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// MaxKnown is how long a denial is known at most. A gateway does not hear of a reset, a return or an override: after one, it may go on for
// so long to deny a request that would pass.
const MaxKnown = time.Second

// Bounds of the denials that are known: 65,536 of the last second, and those of the second before.
const (
	knownShards   = 64
	knownPerShard = 1024
)

// known are denials of the cluster that still hold. The cluster said when the request would pass, and what other requests take until then
// makes that later, not earlier. So until then the same request is denied here, and a flood of it does not reach the cluster. What can make it
// pass earlier, such as a reset, is heard of when the denial ends: docs/protect-an-api.md has the list.
//
// What the cluster could decide otherwise earlier than that is asked again: a request that may wait, or takes a hold; one with an id,
// which may have been admitted before; a limit of concurrent permits, which come back at any time; one with a penalty, whose owner counts
// denials in a row, as long as the bucket is not closed. So is a key of which the denial comes from another node than the one that decides
// about it first, as that other one has less of its line.
type known struct {
	lasts  time.Duration           // at most; 0 for no memory
	first  func(key string) string // the node that decides about key first; nil if that is not known
	seed   maphash.Seed
	shards [knownShards]knownShard
}

// A knownShard is a part of the denials with a lock of its own. Every MaxKnown, the old half is dropped: what is in it has ended.
type knownShard struct {
	mu         sync.Mutex
	turned     int64 // when young was made
	young, old map[knownID]*knownDenial
}

// A knownID finds a denial.
type knownID struct {
	key, plan string
	limit     string // the first one of the request
	cost      int64
}

// A knownDenial is one. Nothing of it changes but how many times it was repeated.
type knownDenial struct {
	repeated     atomic.Int64
	limits       []limit.Ref
	stored       *limit.Document // the limits in force
	decision     limit.Decision
	heard, until int64 // when it came, and how long it holds
}

func newKnown(lasts time.Duration, checker limit.Checker) *known {
	k := &known{lasts: lasts, seed: maphash.MakeSeed()}
	if places, ok := checker.(interface{ First(key string) string }); ok {
		k.first = places.First
	}
	return k
}

// asks says whether the denial of r may be known at all.
func (k *known) asks(r *limit.Request) bool {
	return k.lasts > 0 && r.ID == "" && r.Wait == 0 && r.Hold == 0 && r.Extend == 0 && len(r.Limits) > 0
}

func (k *known) shard(id *knownID) *knownShard {
	return &k.shards[maphash.String(k.seed, id.key)%knownShards]
}

func idOf(r *limit.Request) knownID {
	return knownID{key: r.Key, plan: r.Plan, limit: r.Limits[0].Name, cost: r.Tokens()}
}

// recall is the denial of r that holds at now, with its times as they are then, and since when it is known; nil for none.
func (k *known) recall(r *limit.Request, stored *limit.Document, now int64) (d *limit.Decision, since int64) {
	if !k.asks(r) {
		return nil, 0
	}
	id := idOf(r)
	s := k.shard(&id)
	s.mu.Lock()
	found := s.young[id]
	if found == nil {
		found = s.old[id]
	}
	s.mu.Unlock()
	if found == nil || !found.holds(r, stored, now) {
		return nil, 0
	}
	found.repeated.Add(1)
	return found.at(now), found.heard
}

// holds says whether r is denied at now as well.
func (f *knownDenial) holds(r *limit.Request, stored *limit.Document, now int64) bool {
	return f.heard <= now && now < f.until && f.stored == stored && slices.Equal(f.limits, r.Limits)
}

// at is the decision as it is at now: so much later, all that was to come is so much nearer.
func (f *knownDenial) at(now int64) *limit.Decision {
	passed := time.Duration(now - f.heard)
	d := f.decision
	d.Limits = slices.Clone(d.Limits)
	for i := range d.Limits {
		o := &d.Limits[i]
		o.RetryAfter = max(o.RetryAfter-passed, 0)
		o.ResetAfter = max(o.ResetAfter-passed, 0)
	}
	return &d
}

// note remembers that the cluster has denied r, which was sent to it at sent, by the limits stored, if that may be known. Either way it
// returns how many times the denial before was repeated.
func (k *known) note(r *limit.Request, d *limit.Decision, stored *limit.Document, sent, now int64) (repeated int64) {
	if d.Allowed || !k.asks(r) {
		return 0
	}
	id := idOf(r)
	s := k.shard(&id)
	if stored == nil || k.first != nil && k.first(r.Key) != d.Node {
		return s.repeated(id)
	}
	lasts := min(surely(r, d, stored), k.lasts)
	if lasts == k.lasts { // gateways that have asked together do not do so again
		lasts -= rand.N(k.lasts/8 + 1)
	}
	if sent+int64(lasts) <= now {
		return s.repeated(id)
	}
	id.key = strings.Clone(id.key) // it may share memory with a whole request
	return s.put(id, &knownDenial{
		limits: r.Limits, stored: stored, decision: *d, heard: now, until: sent + int64(lasts),
	}, now)
}

// surely is how long after its decision the denial of r holds whatever others do, returns and changes aside.
func surely(r *limit.Request, d *limit.Decision, stored *limit.Document) (lasts time.Duration) {
	for i := range d.Limits {
		o := &d.Limits[i]
		if r.Limits[i].Inline != nil {
			return 0
		}
		if o.Allowed {
			continue
		}
		rule := stored.DecidedBy(o, r.Key)
		if rule != nil && rule.Capacity != o.Limit { // the node has not heard yet of the limits in force, or the gateway has not
			return 0
		}
		if rule == nil && o.Override != "" { // set live: not in the document. It has numbers of its own; penalty and permits are the limit's
			rule, _ = stored.Rule(o.Name)
		}
		switch {
		case rule == nil, rule.Penalty != (limit.Penalty{}) && !o.Closed:
			return 0
		case rule.Permits():
		case o.Never:
			lasts = MaxKnown
		default:
			lasts = max(lasts, o.RetryAfter)
		}
	}
	return lasts
}

// put keeps a denial, in place of the one before, and returns how many times that was repeated. While there are too many, it is asked for
// again.
func (s *knownShard) put(id knownID, f *knownDenial, now int64) (repeated int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	repeated = s.repeatedLocked(id)
	if now-s.turned >= int64(MaxKnown) || now < s.turned {
		s.old, s.young, s.turned = s.young, map[knownID]*knownDenial{}, now
	}
	if len(s.young) < knownPerShard || s.young[id] != nil {
		s.young[id] = f
	}
	return repeated
}

// repeated is how many times a denial was repeated since it last said so.
func (s *knownShard) repeated(id knownID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repeatedLocked(id)
}

func (s *knownShard) repeatedLocked(id knownID) (repeated int64) {
	for _, half := range []map[knownID]*knownDenial{s.young, s.old} {
		if found := half[id]; found != nil {
			repeated += found.repeated.Swap(0)
		}
	}
	return repeated
}
