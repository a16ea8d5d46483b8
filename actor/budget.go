package actor

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// What is estimated of the memory that things take, in bytes. What an allocation is rounded up to is in it.
const (
	// actorBytes is an awake key besides its name and what its owner has allocated: the actor, its places in the map, which
	// may be half empty, and in the visits, and an alarm.
	actorBytes = int64(unsafe.Sizeof(actor{})) + 40 + 8 + 16
	// requestsBytes is what remembers the ids of a key, requestBytes each of them with its places, besides the id itself, and
	// outcomeBytes is what one limit has said.
	requestsBytes = int64(unsafe.Sizeof(requests{})) + 300
	requestBytes  = int64(unsafe.Sizeof(request{})) + 40
	outcomeBytes  = int64(unsafe.Sizeof(limit.Outcome{})) + 8
	receiptBytes  = int64(unsafe.Sizeof(limit.Receipt{}))
	spanBytes     = int64(unsafe.Sizeof(limit.Span{}))
	// mailBytes is a check that is under way, with its question and its answer.
	mailBytes = int64(unsafe.Sizeof(mail{})+unsafe.Sizeof(limit.Request{})+unsafe.Sizeof(limit.Result{})) + outcomeBytes + 100
)

// A budget is how many bytes a shard may hold. What is given up first costs callers the least, and everything that is given
// up makes the node stricter:
//
//	above 70 %   receipts and returned line, of the keys that were visited longest ago
//	above 80 %   their request ids
//	above 85 %   the keys themselves, if they are idle, however short a time
//	above 90 %   those too that hold line which nobody has asked for since Δ: for slow limits, that may be days of it
//	above 95 %   no further key wakes, and no further limit of a key that a request defines
type budget struct {
	receipts, ids, idle, line, keys int64
}

func newBudget(bytes int64) budget {
	if bytes <= 0 {
		return budget{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
	}
	share := func(percent int64) int64 { return bytes / 100 * percent }
	return budget{receipts: share(70), ids: share(80), idle: share(85), line: share(90), keys: share(95)}
}

// What is shed, as a metric's label and in the log.
const (
	shedReceipts = iota
	shedIDs
	shedIdle
	shedLine
	shedKeys
	shedLimits
	shedKinds
)

var shedLabels = [shedKinds]string{"receipts", "request_ids", "idle_keys", "held_line", "new_keys", "new_limits"}

// shedSays is what a shedding means to callers.
var shedSays = [shedKinds]string{
	"receipts are forgotten: what they prove can no longer be returned",
	"request ids are forgotten: a repeated request is charged again",
	"idle keys are forgotten early: their next check reserves anew",
	"keys that hold line are forgotten: what they had reserved and not spent comes back with time",
	"checks of further keys are refused",
	"a key has too many limits that requests define: further ones are refused",
}

// warnEvery is how often the log says that something of a kind is shed.
const warnEvery = 10 * time.Second

// A warner says in the log that something is shed, now and then. It is safe for concurrent use.
type warner struct {
	sys  *System
	next [shedKinds]atomic.Int64 // when it may be said again, in Unix nanoseconds
}

func (w *warner) shed(what, n int) {
	if n == 0 {
		return
	}
	w.sys.metrics.shed[what].Add(float64(n))
	now := time.Now()
	next := w.next[what].Load()
	if now.UnixNano() < next || !w.next[what].CompareAndSwap(next, now.Add(warnEvery).UnixNano()) {
		return
	}
	held := int64(0)
	for _, sh := range w.sys.shards {
		held += sh.heldNow.Load()
	}
	w.sys.cfg.Logger.Warn("overloaded", "what", shedLabels[what], "means", shedSays[what],
		"held_bytes", held, "budget_bytes", w.sys.cfg.Memory, "metric", "jeton_shed_total")
}

// bytes is about how much memory the actor takes, all in all.
func (a *actor) bytes() int64 {
	n := actorBytes + int64(len(a.key)+7)&^7 + a.owner.Bytes()
	if a.requests != nil {
		n += requestsBytes + a.requests.bytes
	}
	return n
}

// weigh calls f, which may change how much memory an actor takes, or forget it.
func (sh *shard) weigh(a *actor, f func()) {
	sh.held -= a.bytes()
	sh.weighing = a
	f()
	sh.weighing = nil
	if !a.gone {
		sh.held += a.bytes()
	}
}

// shedPerCheck is how many actors are looked at, for each check of a round, for what they can do without: more than a check
// wakes, and few enough that a caller who asks for one key does not look through all others.
const shedPerCheck = 4

// shed gives up what the shard has no memory for. It takes the actors in the order of [visits.inTurn], and no more than so many
// of them, so that checks get their turn.
func (sh *shard) shed(now int64, most int) {
	b, n := &sh.budget, [shedKinds]int{}
	for i := 0; i < most && sh.held > b.receipts; i++ {
		a, pace := sh.visits.inTurn()
		if a == nil {
			break
		}
		if !a.gone {
			sh.strip(a, &n)
		}
		before := sh.actors.len()
		sh.call(a, pace, now)
		if sh.held > b.idle {
			n[shedIdle] += before - sh.actors.len()
		}
		if sh.held > b.line && !a.gone && a.leavesLine(now) {
			sh.forget(a, nil)
			n[shedLine]++
		}
	}
	for what := range n {
		sh.sys.warner.shed(what, n[what])
	}
}

// strip takes from an actor what its key can do without.
func (sh *shard) strip(a *actor, n *[shedKinds]int) {
	sh.weigh(a, func() {
		n[shedReceipts] += a.owner.ForgetReturns()
		if a.requests != nil && sh.held > sh.budget.ids {
			n[shedIDs] += a.requests.forget()
		}
	})
}

// leavesLine says whether nothing but line that is held keeps the actor awake, and nobody has asked for it since Δ. A busy
// key would lose what it needs next.
func (a *actor) leavesLine(now int64) bool {
	_, until := a.owner.Idle(now)
	return until < math.MaxInt64 && now-a.last >= owner.DefaultDelta
}

// errNoMemory answers checks of keys that there is no memory for.
var errNoMemory = fmt.Errorf("%w: this node has no memory for further keys", limit.ErrOverloaded)
