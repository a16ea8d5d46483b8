package actor

import (
	"math"
	"strings"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// An actor is one key that is awake: its owner's state, and what this package adds to it. It is one piece of memory.
type actor struct {
	key       string
	owner     owner.Owner
	last      int64 // when it was last asked something
	visit     int64 // when to look at it again, whatever is due
	requests  *requests
	alarm     int32 // its place in the shard's alarms, from 1 on; 0 for none
	partition ring.Partition
	gone      bool  // it has been forgotten
	heat      uint8 // its checks in the shard's window, or its place there, if last is in it: see heat
}

// waiting is how many checks and resets wait in the actor's mailbox.
func (a *actor) waiting() int {
	if a.requests == nil {
		return a.owner.Waiting()
	}
	return a.owner.Waiting() + a.requests.waiting
}

// decide hands a check to the owner.
func (a *actor) decide(m *mail, now int64, out *owner.Out) {
	c := owner.Check{
		Tag: m, At: now, Deadline: m.bundle.deadline, Rules: m.rules, Cost: m.cost, Receipts: m.receipt, Outcomes: m.room, Extend: m.extend, Wait: m.wait,
		Hold: int64(m.hold), Least: m.least, Charges: m.charge, Report: m.report,
	}
	if m.lease != nil {
		c.Lease, c.LeaseAfter = int64(m.lease.Life), int64(m.lease.After)
		c.EdgeHas, c.EdgeID, c.Edge = m.lease.Held, m.lease.ID, strings.Clone(m.lease.Edge)
	}
	a.owner.Check(c, out)
}

// onlyHoldsLine says whether nothing but line that is held keeps the actor awake, and no check has asked for it since Δ. A busy
// key would lose the line that its next checks need.
func (a *actor) onlyHoldsLine(now int64) bool {
	_, until := a.owner.Idle(now)
	return until < math.MaxInt64 && now-a.last >= owner.DefaultDelta
}

// bytes is about how much memory the actor takes, all in all.
func (a *actor) bytes() int64 {
	n := actorBytes + int64(len(a.key)+7)&^7 + a.owner.Bytes()
	if a.requests != nil {
		n += requestsBytes + a.requests.bytes
	}
	return n
}

// actorBytes is about how much memory an awake key takes besides its name and what its owner has allocated: the actor, its
// places in the map, which may be half empty, and in the visits, and an alarm. Here and below, what an allocation is rounded up
// to is counted.
const actorBytes = int64(unsafe.Sizeof(actor{})) + 40 + 8 + 16
