package actor

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// A shard runs many actors, one at a time, in rounds: a round takes what has arrived and does it. A call that finds the
// shard at rest runs the round for its own mail in its own goroutine, which spares two changes of goroutine. The shard's goroutine does
// all else.
type shard struct {
	*shared

	inbox     inbox
	placement func(ring.Partition) *Placement // the Config's

	awakeNow atomic.Int64 // how many actors there are, and how many bytes they take, for others to read
	heldNow  atomic.Int64

	dormantNow atomic.Int64 // likewise, how many keys are dormant

	// The goroutine that runs a round holds mu, which guards everything below.
	mu         sync.Mutex
	actors     actors
	dormant    dormant
	visits     visits
	alarms     alarms
	timer      int64 // when the shard's goroutine will wake by itself, or earlier
	ahead      int64 // by how much the node clock had been put forward in the last round
	out        owner.Out
	mail       []*mail // of this round
	places     []place // by partition
	sending    sendings
	answers    []answered // scratch
	prefetched int        // means nothing: see prefetch
	counts     counts
	replied    replied
	heat       heat
	gauges     gauges
	traces     traces

	budget   budget
	held     int64  // bytes of all actors but the one that is weighed, and of dormant keys
	weighing *actor // nil for none
}

func newShard(s *shared) *shard {
	sh := &shard{
		shared: s, placement: s.cfg.Placement, timer: math.MaxInt64,
		actors: newActors(), dormant: newDormant(s.cfg.Partitions), places: make([]place, s.cfg.Partitions), counts: newCounts(s.metrics),
		budget: newBudget(s.cfg.Memory / int64(s.cfg.Shards)),
	}
	sh.heat.node = &s.checked
	sh.inbox = inbox{
		lanes:    map[limit.Caller]*lane{},
		bound:    s.cfg.Inbox,
		wake:     make(chan struct{}, 1),
		rejected: func(n int) { s.metrics.rejected.Add(float64(n)) },
	}
	sh.sending.arrived = func(a answered) {
		about := a.sent.handing.Load() // a round is about to look
		if sh.inbox.pushAnswers(a) && !about {
			sh.inbox.notify()
		}
	}
	return sh
}

// run is the shard's goroutine. It ends when the inbox is closed.
func (sh *shard) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for closed := false; !closed; {
		fired := false
		select {
		case <-sh.inbox.wake:
		case <-timer.C:
			fired = true
		}
		if !sh.mu.TryLock() { // the goroutine that runs a round notifies the inbox if there is more to do
			if fired {
				timer.Reset(time.Millisecond)
			}
			continue
		}
		if fired {
			sh.timer = math.MaxInt64
		}
		closed = sh.round()
		sh.clockJumped()
		sh.runDue(sh.cfg.Now())
		if at := sh.next(); at < sh.timer {
			sh.timer = at
			timer.Reset(time.Duration(max(at-sh.cfg.Now(), 0)))
		}
		sh.mu.Unlock()
		if !closed && sh.inbox.waits() {
			sh.inbox.notify()
			runtime.Gosched() // a goroutine with little to do need not wait for all that is here
		}
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for a := range sh.actors.all() {
		sh.forget(a, errStopping)
	}
	sh.dropDormant()
	sh.inbox.drain(errStopping)
	sh.awakeNow.Store(0)
	sh.dormantNow.Store(0)
}

// push hands in mail and sees to it that it is looked at.
func (sh *shard) push(ms ...*mail) {
	if sh.inbox.push(ms...) {
		sh.runOrNotify()
	}
}

// runOrNotify runs a round in the goroutine of the call if the shard is at rest, and otherwise wakes the shard's goroutine. Mail that
// arrives during the round is left to the shard's goroutine.
func (sh *shard) runOrNotify() {
	if !sh.mu.TryLock() {
		sh.inbox.notify()
		return
	}
	if early := sh.runRound(); early || sh.inbox.waits() {
		sh.inbox.notify()
	}
}

// runRound runs a caller's round, with mu held, and gives mu up. It says whether something is due before the shard's
// goroutine will wake. A panic ends the process, as it does on that goroutine: the caller might recover from it, and the
// shard would be stuck.
func (sh *shard) runRound() (early bool) {
	defer func() {
		if p := recover(); p != nil {
			go panic(p)
			select {}
		}
		sh.mu.Unlock()
	}()
	sh.round()
	return sh.next() < sh.timer
}

// round does what has arrived, and says whether the inbox is closed.
func (sh *shard) round() (closed bool) {
	now, closed := sh.turn()
	sh.shed(now, shedPerCheck*(1+len(sh.mail)))
	sh.finish(now)
	return closed
}

// next is when the shard has something to do, if nothing arrives before.
func (sh *shard) next() int64 {
	at := int64(math.MaxInt64)
	if a := sh.alarms.next(); a != nil {
		at = a.at
	}
	if a, _ := sh.visits.next(); a != nil {
		at = min(at, a.visit+visitSlack)
	}
	if sh.dormant.n > 0 {
		at = min(at, sh.dormant.sweepAt)
	}
	return min(at, sh.heat.due(at))
}
