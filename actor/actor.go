package actor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
)

// errFullMailbox answers checks of a key that has too many waiting already.
var errFullMailbox = fmt.Errorf("%w: too many checks of this key are waiting", limit.ErrOverloaded)

// fewActors is how many actors a shard always keeps room for.
const fewActors = 1024

// An actor is one key that is awake: its owner's state, and what this package adds to it. It is one piece of memory.
type actor struct {
	key       string
	owner     owner.Owner
	last      int64 // when it was last asked something
	alarm     int64 // when to look at it again
	requests  *requests
	index     int32 // in the shard's alarms
	partition ring.Partition
}

// waiting is how many checks and resets wait in the actor's mailbox.
func (a *actor) waiting() int {
	if a.requests == nil {
		return a.owner.Waiting()
	}
	return a.owner.Waiting() + a.requests.attached
}

// decide hands a check to the owner.
func (a *actor) decide(m *mail, now int64, out *owner.Out) {
	a.owner.Check(owner.Check{
		Tag: m, At: now, Deadline: m.deadline, Rules: m.rules, Cost: m.cost, Receipts: m.receipt,
	}, out)
}

// awake makes the actor of m's key.
func (sh *shard) awake(m *mail, now int64) *actor {
	s := sh.sys
	a := &actor{
		key:       m.key,
		partition: ring.PartitionOf(m.hash, s.cfg.Partitions),
		owner:     sh.out.New(&s.owners, s.id, storage.FirstEpoch),
		alarm:     now + int64(s.cfg.IdleAfter),
	}
	sh.actors[a.key] = a
	sh.alarms.add(a)
	sh.most = max(sh.most, len(sh.actors))
	return a
}

// check puts one check before the owner, unless its request id has an answer already, or will have one.
func (sh *shard) check(a *actor, m *mail, now int64) {
	if m.id == "" {
		if !sh.full(a, m) {
			a.decide(m, now, &sh.out)
		}
		return
	}
	if a.requests == nil {
		a.requests = newRequests()
	}
	switch r := a.requests.find(m.id, now); {
	case r != nil && !r.asks(m):
		m.repeats = true
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errReused})
	case r != nil && r.first == nil:
		m.repeats = true
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Decision: copyOf(r.decision)})
	case sh.full(a, m):
	case r != nil:
		a.requests.attach(r, m)
	default:
		a.requests.begin(m)
		a.decide(m, now, &sh.out)
	}
}

// full says whether the actor's mailbox has no room for m, which is then answered.
func (sh *shard) full(a *actor, m *mail) bool {
	if a.waiting() < sh.sys.cfg.Mailbox {
		return false
	}
	sh.sys.metrics.rejected.Inc()
	sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errFullMailbox})
	return true
}

func (sh *shard) remove(a *actor) {
	delete(sh.actors, a.key)
	sh.alarms.remove(a)
	if sh.most > fewActors && len(sh.actors) < sh.most/4 {
		sh.shrink()
	}
}

// shrink gives back the room of actors that are no more, which maps and slices keep.
func (sh *shard) shrink() {
	sh.most = max(len(sh.actors), fewActors)
	actors := make(map[string]*actor, len(sh.actors))
	maps.Copy(actors, sh.actors)
	sh.actors, sh.alarms = actors, slices.Clone(sh.alarms)
}
