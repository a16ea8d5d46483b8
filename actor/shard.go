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

const (
	// maxSending is after how many reservations a shard sends, and hears what has been answered, without finishing its
	// round: what it has in hand is to stay in the processor's caches.
	maxSending = 128
	// lookAhead is how many mails have their actors looked up at once: first in the map, then in memory, so that they wait
	// for memory together and not one after another.
	lookAhead = 32
	// visitSlack is how late a visit may be, so that the shard's goroutine makes many at a time, in nanoseconds.
	visitSlack = int64(20e6)
	// maxVisits is how many visits are made before checks get their turn.
	maxVisits = 512
)

// A shard runs many actors, one at a time, in rounds: a round takes what has arrived and does it. A caller who finds the
// shard at rest runs the round of his own mail himself, which spares him two changes of goroutine; all else is done by
// the shard's goroutine.
type shard struct {
	sys       *System
	inbox     inbox
	placement func(ring.Partition) *Placement // the Config's

	awakeNow atomic.Int64 // how many actors there are, and how many bytes they take, for others to read
	heldNow  atomic.Int64

	// Whoever runs a round holds mu, which guards everything below.
	mu      sync.Mutex
	actors  actors
	visits  visits
	alarms  alarms
	timer   int64 // when the shard's goroutine will wake by itself, or earlier
	ahead   int64 // by how much the node clock had been put forward in the last round
	out     owner.Out
	mail    []*mail // of this round
	places  []place // by partition
	sending sendings
	heard   []answered // scratch
	warmth  int        // means nothing: see warm
	counts  counts
	replied replied

	budget   budget
	held     int64  // bytes of all actors but the one that is weighed
	weighing *actor // nil for none
}

func newShard(s *System) *shard {
	sh := &shard{
		sys: s, placement: s.cfg.Placement, timer: math.MaxInt64,
		actors: newActors(), places: make([]place, s.cfg.Partitions), counts: newCounts(s.metrics),
		budget: newBudget(s.cfg.Memory / int64(s.cfg.Shards)),
	}
	sh.inbox = inbox{
		lanes:    map[limit.Caller]*lane{},
		bound:    s.cfg.Inbox,
		wake:     make(chan struct{}, 1),
		rejected: func(n int) { s.metrics.rejected.Add(float64(n)) },
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
		if !sh.mu.TryLock() { // whoever runs a round will say if there is more to do
			if fired {
				timer.Reset(time.Millisecond)
			}
			continue
		}
		if fired {
			sh.timer = math.MaxInt64
		}
		closed = sh.round()
		sh.leapt()
		sh.look(sh.sys.cfg.Now())
		if at := sh.next(); at < sh.timer {
			sh.timer = at
			timer.Reset(time.Duration(max(at-sh.sys.cfg.Now(), 0)))
		}
		sh.mu.Unlock()
		if !closed && sh.inbox.waits() {
			sh.inbox.notify()
			runtime.Gosched() // whoever has something small to do need not wait for all that is here
		}
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for a := range sh.actors.all() {
		sh.forget(a, errStopping)
	}
	sh.inbox.drain(errStopping)
	sh.awakeNow.Store(0)
}

// push hands in mail and sees to it that it is looked at.
func (sh *shard) push(ms ...*mail) {
	if sh.inbox.push(ms...) {
		sh.attend()
	}
}

// attend has what has arrived looked at: by the caller if the shard is at rest. What arrives during his round is not for
// him to do.
func (sh *shard) attend() {
	if !sh.mu.TryLock() {
		sh.inbox.notify()
		return
	}
	if early := sh.attended(); early || sh.inbox.waits() {
		sh.inbox.notify()
	}
}

// attended runs a caller's round, with mu held, and gives mu up. It says whether something is due before the shard's
// goroutine will wake. A panic ends the process, as it does on that goroutine: the caller might recover from it, and the
// shard would be stuck.
func (sh *shard) attended() (early bool) {
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
	sh.mail, closed = sh.inbox.take(sh.mail)
	sh.leapt()
	// Read after what has arrived was taken: a check's time lies within its call.
	now := sh.sys.cfg.Now()
	sh.hearAll(now)
	if err := sh.serving(); err != nil {
		sh.refuse(sh.mail, err, now)
	} else {
		sh.deliverAll(sh.mail, now)
	}
	sh.shed(now, shedPerCheck*(1+len(sh.mail)))
	sh.finish(now)
	return closed
}

// serving is why the mail of this round is not to be delivered, or nil.
func (sh *shard) serving() error {
	if len(sh.mail) == 0 || sh.sys.cfg.Serving == nil {
		return nil
	}
	return sh.sys.cfg.Serving()
}

// look does what is due, but of visits only so many: the timer brings it back.
func (sh *shard) look(now int64) {
	for a := sh.alarms.next(); a != nil && a.at <= now; a = sh.alarms.next() {
		sh.ring(a.actor, now)
	}
	n := 0
	for a, pace := sh.visits.next(); a != nil && n < maxVisits && (a.gone || a.visit <= now); a, pace = sh.visits.next() {
		sh.call(a, pace, now)
		n++
	}
	sh.shed(now, shedPerCheck*maxRound)
	sh.finish(now)
}

// finish passes on what a round has come to.
func (sh *shard) finish(now int64) {
	for sh.send() { // a replica may answer at once
		sh.hearAll(now)
	}
	sh.replied.flush()
	sh.inbox.ease()
	sh.counts.flush(now)
	sh.awakeNow.Store(int64(sh.actors.len()))
	sh.heldNow.Store(sh.held)
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
	return at
}
