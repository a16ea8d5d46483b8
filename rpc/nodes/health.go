package nodes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// How a node's health is judged.
const (
	suspectAfter    = 50 * time.Millisecond  // how long no waiting call is answered before the node is suspect, at least
	maxSuspectAfter = 250 * time.Millisecond // and at most, where calls usually take long
	unusual         = 3                      // times as long as calls usually take is silence
	lookAgain       = 5 * time.Millisecond   // while calls wait at a silent node, at first
	probeWithin     = 200 * time.Millisecond // that a probe is answered, before the node is bad
	probeLasts      = 2 * time.Second        // that an answer to a probe is waited for: a late one counts, too
	giveUpAfter     = suspectAfter + probeWithin
	deafAfter       = 500 * time.Millisecond // how long a call waits while none is answered before it is given up
	firstPause      = 50 * time.Millisecond  // before a node is probed again
	lastPause       = time.Second            // the longest such pause
	fastPause       = 250 * time.Millisecond // the same where nothing is sent to a bad node that could find out sooner
)

// errSilent ends the attempts that wait for a node which answers no call.
var errSilent = fmt.Errorf("%w: the node does not answer", limit.ErrUnavailable)

// A state is how a node does, as far as is known.
type state int32

const (
	good    state = iota
	suspect       // it has answered no call for a while
	bad           // it cannot be reached, refuses everything, or is silent even when it is probed
)

// A health follows how a node does, by the results of calls:
//
//	good ── answers no call for suspectAfter while some wait ──▶ suspect ── a probe is not answered ──▶ bad
//	  │ ──────── no connection, or it refuses everything ────────────────────────────────────────────▶ bad
//	  ◀── answers a call, or, after a pause, a probe ── suspect, bad
//
// The calls that wait at a suspect node may be sent to another node beside: hedged. Those that wait at a bad one are given up,
// as are those that have waited for deafAfter at one that answers probes but no call.
type health struct {
	probe  func(context.Context) error      // asks the node something cheap
	begin  func(func(context.Context)) bool // runs a function until the node is closed; false, without running it, where the node is closed already
	afford func() bool                      // whether one more call may be hedged; it counts it
	worse  func()                           // is called when the node is good no more
	level  atomic.Int32                     // a state; written under mu

	longest time.Duration // the longest pause between two probes

	mu          sync.Mutex
	calls       waiters
	silentSince time.Time     // while calls wait: when the last of them was answered, or the first began to wait
	answered    time.Time     // when a call was last
	usual       time.Duration // that a call takes, smoothed over the last ones
	silence     time.Duration // how long calls had waited in vain when the last of them left
	timer       *time.Timer   // looks; nil before the first call
	armed       bool          // timer will fire
	interval    time.Duration // to the next look at a silent node: longer and longer while there is nothing to do
	pause       time.Duration // before the next probe; 0 before the first trouble
	recovering  bool          // recovery is running
	better      chan struct{} // closed when the node is good again; of the recovery that is running
	why         error         // it is not good
	idle        chan struct{} // closed when no call waits; nil before rested was called
}

func (h *health) state() state { return state(h.level.Load()) }

// enter notes that a call waits for the node from now on.
func (h *health) enter(w *waiter) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	w.since = now
	if h.calls.empty() {
		h.silentSince = now.Add(-h.silence)
	}
	h.calls.add(w)
	if h.armed {
		return
	}
	h.armed = true
	soon := max(suspectAfter-h.silence, suspectAfter/2) // callers who always leave early must not keep it from being found out
	if h.timer == nil {
		h.timer = time.AfterFunc(soon, h.look)
	} else {
		h.timer.Reset(soon)
	}
}

// leave notes that a call waits no more, and whether the node answered it.
func (h *health) leave(w *waiter, answered bool) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls.remove(w)
	switch {
	case answered:
		h.usual += (now.Sub(w.since) - h.usual) / 8
		h.silence, h.silentSince, h.answered, h.pause = 0, now, now, 0
		h.markUpLocked()
	case h.calls.empty():
		h.silence = now.Sub(h.silentSince)
	}
	if h.idle != nil && h.calls.empty() {
		close(h.idle)
		h.idle = nil
	}
}

// rested is closed when no call waits. It is to be called once.
func (h *health) rested() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	idle := make(chan struct{})
	if h.calls.empty() {
		close(idle)
	} else {
		h.idle = idle
	}
	return idle
}

func (h *health) markUpLocked() {
	if h.state() == good {
		return
	}
	h.level.Store(int32(good))
	close(h.better)
}

// markDownLocked notes that the node is not good, and starts the recovery that finds out when it is good again.
func (h *health) markDownLocked(to state) {
	was := h.state()
	h.level.Store(int32(to))
	if was == good {
		h.better = make(chan struct{})
	}
	if h.recovering {
		return
	}
	h.recovering = true
	h.begin(func(ctx context.Context) { h.recover(ctx, to == suspect) })
}

// fail notes that the node cannot be reached, or refuses everything, and why.
func (h *health) fail(why error) {
	h.mu.Lock()
	h.why = why
	was := h.state()
	if was != bad {
		h.markDownLocked(bad)
	}
	h.mu.Unlock()
	if was == good {
		h.worse()
	}
}

// look is called by timer: it finds out whether the node is silent, and sends waiting calls elsewhere if so.
func (h *health) look() {
	h.mu.Lock()
	if h.calls.empty() {
		h.armed = false
		h.mu.Unlock()
		return
	}
	now := time.Now()
	if left := h.patienceLocked() - now.Sub(h.silentSince); left > 0 {
		h.timer.Reset(left)
		h.mu.Unlock()
		return
	}
	found := h.state() == good
	if found {
		h.why = errSilent
		h.markDownLocked(suspect)
	}
	hedged, lost := h.sortLocked(now)
	if h.interval = min(max(2*h.interval, lookAgain), suspectAfter); found || len(hedged)+len(lost) > 0 {
		h.interval = lookAgain
	}
	h.timer.Reset(h.interval)
	h.mu.Unlock()
	if found {
		h.worse()
	}
	for _, w := range hedged {
		w.of.hedge()
	}
	for _, w := range lost {
		w.of.giveUp()
	}
}

// patienceLocked is how long all calls may stay unanswered before the node counts as silent. One that is asked for so much that
// every answer takes long is slow, and hedges would make it slower.
func (h *health) patienceLocked() time.Duration {
	return min(max(suspectAfter, unusual*h.usual), maxSuspectAfter)
}

// sortLocked finds the calls that are to be hedged, first come, first served, and those to be given up.
func (h *health) sortLocked(now time.Time) (hedged, lost []*waiter) {
	down, rich := h.state() == bad, true
	for w := h.calls.first; w != nil; w = w.next {
		waited := now.Sub(w.since)
		vain := down && waited >= giveUpAfter || min(waited, now.Sub(h.answered)) >= deafAfter
		switch {
		case !vain && !rich:
			return hedged, lost // all others came later
		case w.givenUp:
		case vain:
			if w.of.canMove() || w.of.comesBack() {
				w.givenUp = true
				lost = append(lost, w)
			}
		case !w.hedged && w.of.canMove():
			if rich = h.afford(); rich {
				w.hedged = true
				hedged = append(hedged, w)
			}
		}
	}
	return hedged, lost
}

// recover probes a node that is not good until it is.
func (h *health) recover(ctx context.Context, atOnce bool) {
	for {
		if !atOnce && !h.rest(ctx) {
			return
		}
		probing, cancel := context.WithTimeout(ctx, probeLasts)
		began, late := time.Now(), time.AfterFunc(probeWithin, h.unanswered)
		err := h.probe(probing)
		late.Stop()
		cancel()
		if h.judge(err, time.Since(began), atOnce) {
			return
		}
		atOnce = false
	}
}

// rest waits before the next probe. It says no when none is needed: the node is good already, or the set is closed.
func (h *health) rest(ctx context.Context) bool {
	h.mu.Lock()
	h.pause = min(max(2*h.pause, firstPause), h.longest)
	pause, better := h.pause, h.better
	h.mu.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-better:
	case <-ctx.Done():
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recovering = h.state() != good // it may be in trouble again
	return h.recovering
}

// unanswered draws the conclusion from a probe that has waited for long: the node is bad, until it answers.
func (h *health) unanswered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state() == suspect {
		h.level.Store(int32(bad))
	}
}

// judge draws the conclusion from a probe that took so long, and says whether the recovery is over. A node that answers a probe
// at once but no call must answer the next probe too: it may be unable to decide. A node whose answers take long is far away or slow,
// and not silent.
func (h *health) judge(err error, took time.Duration, atOnce bool) (over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.state() == good:
	case err != nil:
		h.level.Store(int32(bad))
		return false
	case atOnce && took < probeWithin:
		return false
	default:
		h.usual = max(h.usual, took)
		h.silence, h.silentSince = 0, time.Now()
		h.markUpLocked()
	}
	h.recovering = false
	return true
}

// A waiter is a call that waits for a node.
type waiter struct {
	of waiting

	// Guarded by health.mu.
	since          time.Time
	hedged         bool
	givenUp        bool
	previous, next *waiter
}

// A waiting call can go on elsewhere.
type waiting interface {
	canMove() bool   // there is another node to ask
	comesBack() bool // all nodes were asked, and will be once more
	hedge()          // asks another node beside
	giveUp()         // ends the attempt here
}

// waiters are a list, the longest waiting first.
type waiters struct{ first, last *waiter }

func (l *waiters) empty() bool { return l.first == nil }

func (l *waiters) add(w *waiter) {
	w.previous = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

func (l *waiters) remove(w *waiter) {
	if w.previous == nil {
		l.first = w.next
	} else {
		w.previous.next = w.next
	}
	if w.next == nil {
		l.last = w.previous
	} else {
		w.next.previous = w.previous
	}
	w.previous, w.next = nil, nil
}

// errRefuses is why a node is bad that answers every check with an error.
var errRefuses = fmt.Errorf("%w: the node refuses every check", limit.ErrUnavailable)

// A refusedError is the error of a node that refuses every check at present.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }
