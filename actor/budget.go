package actor

import (
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// A budget is how many bytes a shard may hold. What is given up first costs callers the least, and everything that is given
// up makes the node stricter:
//
//	above 70 %   the line of dormant keys, by the smallest share of a bucket first, as far as a few that are compared tell; for slow limits,
//	             that may be days of it. Once no key is dormant, receipts and returned line, of the keys that were visited longest ago
//	above 80 %   their request ids
//	above 85 %   the keys themselves, if they are idle, however short a time; those that hold line are dormant at once
//	above 90 %   line that is held and that no check has asked for since Δ, of keys that cannot be dormant
//	above 92 %   likewise of keys with holds that could give something back: these stay charged
//	above 95 %   no further key wakes, and no further limit of a key that a request defines
type budget struct {
	dormant, ids, idle, line, holds, keys int64
}

func newBudget(bytes int64) budget {
	if bytes <= 0 {
		return budget{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
	}
	share := func(percent int64) int64 { return bytes / 100 * percent }
	return budget{dormant: share(70), ids: share(80), idle: share(85), line: share(90), holds: share(92), keys: share(95)}
}

// What is shed, as a metric's label and in the log.
const (
	shedReceipts = iota
	shedIDs
	shedIdle
	shedLine
	shedHolds
	shedKeys
	shedLimits
	shedKinds
)

var shedLabels = [shedKinds]string{"receipts", "request_ids", "idle_keys", "held_line", "holds", "new_keys", "new_limits"}

// shedSays is what a shedding means to callers.
var shedSays = [shedKinds]string{
	"receipts are forgotten: what they prove can no longer be returned",
	"request ids are forgotten: a repeated request is charged again",
	"idle keys are forgotten early: their next check reserves anew",
	"line that keys hold is let go: what they had reserved and not spent comes back with time",
	"keys with holds are forgotten: what was held and not used stays charged until time brings it back",
	"checks of further keys are refused",
	"a key has too many limits that requests define: further ones are refused",
}

// warnEvery is how often the log says that something of a kind is shed.
const warnEvery = 10 * time.Second

// A shedLog says in the log that something is shed, now and then. It is safe for concurrent use.
type shedLog struct {
	counters *[shedKinds]prometheus.Counter
	held     func() int64 // bytes of all actors and dormant keys
	memory   int64
	logger   *slog.Logger
	next     [shedKinds]atomic.Int64 // when it may be said again, in Unix nanoseconds
}

func (w *shedLog) count(what, n int) {
	if n == 0 {
		return
	}
	w.counters[what].Add(float64(n))
	now := time.Now()
	next := w.next[what].Load()
	if now.UnixNano() < next || !w.next[what].CompareAndSwap(next, now.Add(warnEvery).UnixNano()) {
		return
	}
	w.logger.Warn("overloaded", "what", shedLabels[what], "means", shedSays[what],
		"held_bytes", w.held(), "budget_bytes", w.memory, "metric", "jeton_shed_total")
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

// errNoMemory answers checks of keys that there is no memory for.
var errNoMemory = fmt.Errorf("%w: this node has no memory for further keys", limit.ErrOverloaded)

// errFullMailbox answers checks of a key that has too many waiting already.
var errFullMailbox = fmt.Errorf("%w: too many checks of this key are waiting", limit.ErrOverloaded)

// rejectFull says whether the actor has no room for m, which is then answered.
func (sh *shard) rejectFull(a *actor, m *mail, now int64) bool {
	switch {
	case a.waiting() >= sh.cfg.Mailbox:
		sh.metrics.rejected.Inc()
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errFullMailbox})
	case m.inline != 0 && sh.tooManyInline(a, m, now):
		sh.shedLog.count(shedLimits, 1)
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errTooManyInline})
	default:
		return false
	}
	return true
}

// errTooManyInline answers checks that define one limit too many.
var errTooManyInline = fmt.Errorf("%w: this key has too many limits that requests define: store them, or define fewer", limit.ErrOverloaded)

// maxInline is how many buckets a key may have before checks that define further limits themselves are turned away. All of
// a key's buckets are looked through for nearly every check of it.
const maxInline = 128

// tooManyInline says whether m defines limits of which the key must not have more. Before it comes to that, the key forgets the
// buckets that lose nothing by it, and then those of which only receipts are left.
func (sh *shard) tooManyInline(a *actor, m *mail, now int64) bool {
	most := maxInline
	if m.kind == settle {
		most = 2 * maxInline // what others have held of the key is settled however many limits it has
	}
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
		sh.shedLog.count(shedReceipts, n)
		return a.owner.Tidy(now) >= most
	}
	return true
}
