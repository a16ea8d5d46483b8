package actor

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// errFullMailbox answers checks of a key that has too many waiting already.
var errFullMailbox = fmt.Errorf("%w: too many checks of this key are waiting", limit.ErrOverloaded)

// maxInvented is how many buckets a key may have with checks waiting before those that define their limits themselves are
// turned away: what they invent can only be forgotten while nobody waits.
const maxInvented = 256

// An actor is one key that is awake: its owner's state, and what this package adds to it. It is one piece of memory.
type actor struct {
	key       string
	owner     owner.Owner
	last      int64 // when it was last asked something
	visit     int64 // when to look at it again, whatever is due
	requests  *requests
	alarm     int32 // its place in the shard's alarms, from 1 on; 0 for none
	partition ring.Partition
	gone      bool // it has been forgotten
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
		Tag: m, At: now, Deadline: m.call.deadline, Rules: m.rules, Cost: m.cost, Receipts: m.receipt, Outcomes: m.room,
	}, out)
}

// awake makes the actor of m's key, or answers m if it needs none. The key is copied: it may be a part of something
// larger.
func (sh *shard) awake(m *mail, now int64) *actor {
	partition := ring.PartitionOf(m.hash, sh.sys.cfg.Partitions)
	at := sh.placeOf(partition)
	switch {
	case at.Placement == nil:
		m.fail(ErrMoved)
		return nil
	case m.kind == giveBack: // there is nothing that it could come back to
		m.others.returned = make([]bool, len(m.others.receipts))
		m.call.answered(1)
		return nil
	}
	a := &actor{
		key:       strings.Clone(m.key),
		partition: partition,
		owner:     owner.Owner{Terms: at.terms},
		visit:     now + int64(sh.sys.cfg.IdleAfter),
	}
	sh.actors.add(m.hash, a)
	sh.visits.add(a)
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
	invents := m.inline != 0 && a.owner.Waiting() > 0 && a.owner.Buckets() >= maxInvented
	if a.waiting() < sh.sys.cfg.Mailbox && !invents {
		return false
	}
	sh.sys.metrics.rejected.Inc()
	sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errFullMailbox})
	return true
}

// remove drops an actor. It is left in the visits: who visits it sees that it is gone.
func (sh *shard) remove(a *actor) {
	a.gone = true
	sh.actors.remove(a)
	sh.alarms.remove(a)
}
