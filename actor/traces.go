package actor

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// traces are the spans that wait for what a shard's actors have reserved, or will reserve once replicas have answered: of each actor, that
// of the traced check which arrived last. There are none while no check is traced, and then they cost nothing.
type traces struct{ waiting map[*actor]limit.Trace }

// of is the span for which a step of an actor runs, or nil for none, and whether it is that of m, the mail of the step.
func (t *traces) of(a *actor, m *mail) (trace limit.Trace, own bool) {
	if m != nil && m.bundle.trace != nil {
		return m.bundle.trace, true
	}
	if len(t.waiting) == 0 {
		return nil, false
	}
	return t.waiting[a], false
}

// note tells the span of a step what came of it, before the answers are given. Own says that it is that of m.
func (t *traces) note(a *actor, m *mail, trace limit.Trace, own bool, out *owner.Out) {
	if own {
		waits := !slices.ContainsFunc(out.Replies, func(r owner.Reply) bool { return r.Tag == m })
		if waits || len(out.Sends) > 0 {
			trace.Reserves(waits)
		}
		if waits {
			if t.waiting == nil {
				t.waiting = map[*actor]limit.Trace{}
			}
			t.waiting[a] = trace
		}
	}
	if a.owner.Waiting() == 0 {
		t.forget(a)
	}
}

// forget forgets the span that waits for an actor.
func (t *traces) forget(a *actor) {
	if len(t.waiting) > 0 {
		delete(t.waiting, a)
	}
}
