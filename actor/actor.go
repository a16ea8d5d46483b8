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

// errInvented answers checks that define one limit too many.
var errInvented = fmt.Errorf("%w: this key has too many limits that requests define: store them, or define fewer", limit.ErrOverloaded)

// maxInvented is how many buckets a key may have before checks that define further limits themselves are turned away. All of
// a key's buckets are looked through for nearly every check of it.
const maxInvented = 128

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
		m.done()
		return nil
	case sh.held > sh.budget.keys || sh.sys.cfg.Full():
		sh.sys.warner.shed(shedKeys, 1)
		m.fail(errNoMemory)
		return nil
	}
	a := &actor{
		key:       strings.Clone(m.key),
		partition: partition,
		owner:     owner.Owner{Terms: at.terms},
		visit:     now + int64(sh.sys.cfg.IdleAfter),
	}
	sh.actors.add(m.hash, a)
	sh.visits.queues[0].add(a)
	sh.held += a.bytes()
	return a
}

// check puts one check before the owner, unless its request id has an answer already, or will have one.
func (sh *shard) check(a *actor, m *mail, now int64) {
	if m.id == "" {
		if !sh.full(a, m, now) {
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
	case sh.full(a, m, now):
	case r != nil:
		a.requests.attach(r, m)
	default:
		a.requests.begin(m)
		a.decide(m, now, &sh.out)
	}
}

// full says whether the actor has no room for m, which is then answered.
func (sh *shard) full(a *actor, m *mail, now int64) bool {
	switch {
	case a.waiting() >= sh.sys.cfg.Mailbox:
		sh.sys.metrics.rejected.Inc()
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errFullMailbox})
	case m.inline != 0 && sh.invents(a, m, now):
		sh.sys.warner.shed(shedLimits, 1)
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errInvented})
	default:
		return false
	}
	return true
}

// invents says whether m defines limits of which the key must not have more. Before it comes to that, the key forgets the
// buckets that lose nothing by it, and then those of which only receipts are left.
func (sh *shard) invents(a *actor, m *mail, now int64) bool {
	most := maxInvented
	if sh.held > sh.budget.keys {
		most = 1
	}
	if a.owner.Buckets() < most || a.owner.Knows(m.rules) {
		return false
	}
	if a.owner.Tidy(now) < most {
		return false
	}
	if n := a.owner.ForgetReturns(); n > 0 {
		sh.sys.warner.shed(shedReceipts, n)
		return a.owner.Tidy(now) >= most
	}
	return true
}

// remove drops an actor. It is left in the visits: who visits it sees that it is gone.
func (sh *shard) remove(a *actor) {
	if sh.weighing != a {
		sh.held -= a.bytes()
	}
	a.gone = true
	sh.actors.remove(a)
	sh.alarms.remove(a)
}
