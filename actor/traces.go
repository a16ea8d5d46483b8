package actor

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// traces are the spans that wait for what a shard's actors have reserved, or will reserve once replicas have answered: of each actor, that
// of the traced check which arrived last, until it is answered. There are none while no check is traced, and then they cost nothing.
type traces struct{ waiting map[*actor]waitingTrace }

// A waitingTrace is the span of a check that waits.
type waitingTrace struct {
	trace limit.Trace
	mail  *mail
}

// of is the span for which a step of an actor runs, or nil for none, and whether it is that of m, the mail of the step.
func (t *traces) of(a *actor, m *mail) (trace limit.Trace, own bool) {
	if m != nil && m.bundle.trace != nil {
		return m.bundle.trace, true
	}
	if len(t.waiting) == 0 {
		return nil, false
	}
	return t.waiting[a].trace, false
}

// note tells the span of a step what came of it, before the answers are given. Own says that it is that of m.
func (t *traces) note(a *actor, m *mail, trace limit.Trace, own bool, out *owner.Out) {
	if own {
		waits := !answers(out, m)
		if waits || len(out.Sends) > 0 {
			trace.Reserves(waits)
		}
		if waits && a.waitsFor(m) {
			if t.waiting == nil {
				t.waiting = map[*actor]waitingTrace{}
			}
			t.waiting[a] = waitingTrace{trace, m}
		}
	}
	// Where a key is busy, others wait on and on. What is reserved for them is not of a span that has ended.
	if w, ok := t.waiting[a]; ok && (a.owner.Waiting() == 0 || answers(out, w.mail)) {
		t.forget(a)
	}
}

// answers says whether m is among those that a step has answered.
func answers(out *owner.Out, m *mail) bool {
	return slices.ContainsFunc(out.Replies, func(r owner.Reply) bool { return r.Tag == m })
}

// waitsFor says whether m waits for replicas; it does not where it repeats a request that does.
func (a *actor) waitsFor(m *mail) (waits bool) {
	a.owner.Tags(func(tag any) { waits = waits || tag == m })
	return waits
}

// forget forgets the span that waits for an actor.
func (t *traces) forget(a *actor) {
	if len(t.waiting) > 0 {
		delete(t.waiting, a)
	}
}
