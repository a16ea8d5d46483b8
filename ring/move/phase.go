package move

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// A Phase is how far the move of a partition has come.
type Phase uint8

// The phases, in their order.
const (
	Settled    Phase = iota // nothing to do
	Completing              // a member of the present epoch has not installed it yet, as far as this move knows
	Copying
	Agreeing
	Sealing
	Installing
	Committing
)

// String is the phase for logs and terminals.
func (p Phase) String() string {
	return [...]string{"settled", "completing", "copying", "agreeing", "sealing", "installing", "committing"}[p]
}

// Phase is the present phase.
func (m *Move) Phase() Phase {
	p := &m.place
	switch {
	case len(p.Next) > 0 && m.carried():
		return Committing
	case len(p.Next) > 0 && m.mayInstall():
		return Installing
	case len(p.Next) > 0:
		return Sealing
	case len(p.Target) > 0 && !m.copied():
		return Copying
	case len(p.Target) > 0:
		return Agreeing
	case len(p.Replicas) > 1 && len(m.completed.done(p.Replicas)) < len(p.Replicas):
		return Completing
	}
	return Settled
}

// Wants reports whether an action that has not started is still useful. The driver may report any other as failed.
func (m *Move) Wants(a Action) bool {
	p := &m.place
	switch a := a.(type) {
	case Copy:
		return a.Epoch == p.Epoch && len(p.Next) == 0 && slices.Contains(p.Target, a.Node)
	case Agree:
		return a.Epoch == p.Epoch && slices.Equal(a.Next, p.Target) && !slices.Equal(a.Next, p.Next)
	case Seal:
		return a.Epoch == p.Epoch && len(p.Next) > 0
	case Install:
		return m.wantsInstall(a.Node, a.Epoch)
	case Complete:
		return m.wantsInstall(a.Node, a.Epoch)
	case Commit:
		return a.Epoch == p.Epoch && slices.Equal(a.Next, p.Next)
	}
	return false
}

func (m *Move) wantsInstall(node ring.NodeID, epoch uint64) bool {
	switch epoch {
	case m.place.Epoch:
		return m.place.Has(node) && !m.completed.of(node).done
	case m.place.Epoch + 1:
		return slices.Contains(m.place.Next, node) && !m.installs.of(node).done
	}
	return false
}
