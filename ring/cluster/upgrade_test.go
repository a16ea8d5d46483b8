package cluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// knowing has nodes know the levels from oldest to newest.
func knowing(oldest, newest int, all ...*chair) {
	for _, ch := range all {
		ch.config.Levels = level.Range{Oldest: oldest, Newest: newest}
		ch.config.Release = "v0." + string(rune('0'+newest)) + ".0"
	}
}

// atLevel waits until all see that the cluster is at a level.
func atLevel(l int, all ...*chair) {
	for _, ch := range all {
		ch.rig.t.Helper()
		ch.sees("the level is raised", func(s *agreed.State) bool { return s.AgreedLevel() == l })
	}
}

// restarted restarts a node as another release, one that knows these levels.
func restarted(ch *chair, oldest, newest int) {
	ch.rig.t.Helper()
	ch.stop()
	knowing(oldest, newest, ch)
	startAll(ch)
}

// Nodes of two neighboring releases found a cluster, at the level that both know, and are upgraded and downgraded one by one; once the level
// is raised, the older release is kept out, and the one after the newer one may come.
func TestUpgrade(t *testing.T) {
	all := expecting(3, newRig(t).chairs(3)...)
	knowing(1, 1, all[0])
	knowing(1, 2, all[1:]...)
	startAll(all...)
	atLevel(1, all...)
	for _, ch := range all {
		if _, err := ch.cluster.Upgrade(t.Context(), 2, false); !errors.Is(err, agreed.ErrLevel) || !strings.Contains(err.Error(), "a v0.1.0 knows 1") {
			t.Fatalf("node %s raises the level: %v", ch.config.Name, err)
		}
		if u, err := ch.cluster.Upgrade(t.Context(), 0, false); err != nil || u.From != 1 || u.To != 1 || len(u.Members) != 3 {
			t.Fatalf("node %s raises the level to what all know: %+v, %v", ch.config.Name, u, err)
		}
	}
	restarted(all[1], 1, 1) // back
	restarted(all[1], 1, 2)
	restarted(all[0], 1, 2)
	all[2].soon("it sees that the level can be raised", func() bool { s := all[2].cluster.Status(t.Context()); return s.Level == 1 && s.Raise == 2 })
	if u, err := all[2].cluster.Upgrade(t.Context(), 0, true); err != nil || u.From != 1 || u.To != 2 {
		t.Errorf("it would be raised: %+v, %v", u, err)
	}
	if s := all[2].cluster.State(); s.AgreedLevel() != 1 {
		t.Errorf("it was raised to %d, though it should only be said", s.AgreedLevel())
	}
	u, err := all[1].cluster.Upgrade(WithOrigin(t.Context(), Origin{Who: "token ann"}), 0, false)
	if err != nil || u.From != 1 || u.To != 2 {
		t.Fatalf("it is raised: %+v, %v", u, err)
	}
	atLevel(2, all...)
	log := all[0].cluster.State().Audit
	if last := log[len(log)-1]; last.Verb != agreed.VerbUpgrade || last.Who != "token ann" || last.Detail != "1 to 2" {
		t.Errorf("the audit log has %+v", last)
	}
	if s := all[0].cluster.Status(t.Context()); s.Level != 2 || s.Raise != 0 {
		t.Errorf("the status has level %d, and %d to raise it to", s.Level, s.Raise)
	}
	if u, err := all[0].cluster.Upgrade(t.Context(), 0, false); err != nil || u.From != 2 || u.To != 2 {
		t.Errorf("raised once more: %+v, %v", u, err)
	}
	if _, err := all[0].cluster.Upgrade(t.Context(), 1, false); !errors.Is(err, agreed.ErrLevel) || !strings.Contains(err.Error(), "never lowered") {
		t.Errorf("lowered: %v", err)
	}

	back := all[0]
	back.stop()
	knowing(1, 1, back)
	back.start()
	back.says("rejected a node", "this node is at 1 and knows up to 1")
	back.stop()
	restarted(back, 2, 3)
	one(all...)
}

// An older node that has found the cluster without gossip, as one whose disk knows the addresses, is refused by the leader.
func TestLeaderRefusesOlderNode(t *testing.T) {
	a, b := pair(t)
	atLevel(level.Known().Newest, a)
	b.config.Levels = level.Range{Oldest: level.Known().Newest + 1, Newest: level.Known().Newest + 1}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // one that is let in cannot be reached, and nobody leads any more
	defer cancel()
	for what, levels := range map[string]*level.Range{"an older": nil, "a much newer": &b.config.Levels} {
		for kind, request := range map[string]map[string]any{
			message.KindJoin: {"node": agreed.Node{ID: b.config.ID, Name: "b", GRPC: "b", Raft: "b"}, "levels": levels},
			message.KindMark: {"id": a.config.ID, "mark": agreed.Mark{Boot: 1 << 40}, "process": agreed.Unique{99}, "levels": levels}, // it was let in at another level
		} {
			_, err := message.AskLeader[message.Nothing](ctx, a.cluster.leader, kind, request)
			if !errors.Is(err, message.ErrForeign) || !strings.Contains(err.Error(), "level") {
				t.Errorf("one of %s release is let in by %s: %v", what, kind, err)
			}
		}
	}
}

// A member whose release knows no more the level that was never raised ends, and goes on as the release before.
func TestLevelWasNotRaised(t *testing.T) {
	all := expecting(3, newRig(t).chairs(3)...)
	knowing(1, 1, all...)
	startAll(all...)
	early := all[1]
	early.stop()
	knowing(2, 3, early)
	early.start()
	early.ends(message.ErrForeign)
	if !strings.Contains(early.err.Error(), "the cluster is at level 1, and this node knows levels 2 to 3: upgrade release by release") {
		t.Errorf("it ends with %v", early.err)
	}
	knowing(1, 2, early)
	startAll(early)
	one(all...)
}

// A member that does not answer may be of an older release.
func TestLevelIsNotRaisedWithoutAMember(t *testing.T) {
	all := expecting(3, newRig(t).chairs(3)...)
	knowing(1, 1, all...)
	startAll(all...)
	restarted(all[1], 1, 2)
	restarted(all[2], 1, 2)
	all[0].stop()
	all[1].soon("there is a leader", func() bool { return all[1].cluster.Status(t.Context()).Leader != "a" })
	for _, to := range []int{0, 2} {
		if _, err := all[1].cluster.Upgrade(t.Context(), to, false); !errors.Is(err, agreed.ErrLevel) || !strings.Contains(err.Error(), "a (") {
			t.Errorf("without a it is raised to %d: %v", to, err)
		}
	}
	if s := all[1].cluster.Status(t.Context()); s.Raise != 0 {
		t.Errorf("the status says that it can be raised to %d", s.Raise)
	}
	knowing(1, 2, all[0])
	startAll(all[0])
	if u, err := all[1].cluster.Upgrade(t.Context(), 0, false); err != nil || u.To != 2 {
		t.Errorf("with a: %+v, %v", u, err)
	}
}

// A document with fields that only a higher level allows is refused before it is agreed on.
func TestLimitsTakeALevel(t *testing.T) {
	all := newRig(t).chairs(1)
	all[0].config.Check = func(text []byte) (int, error) { return strings.Count(string(text), "new"), nil }
	startAll(all...)
	known := level.Known().Newest
	if _, err := all[0].cluster.SetLimits(t.Context(), 1, []byte(strings.Repeat("new ", known+1))); !errors.Is(err, agreed.ErrLevel) || !strings.Contains(err.Error(), "jeton cluster upgrade") {
		t.Errorf("a field of the next level: %v", err)
	}
	if err := all[0].cluster.CheckImport(Import{Base: 1, Limits: []byte(strings.Repeat("new ", known+1))}); !errors.Is(err, agreed.ErrLevel) {
		t.Errorf("an import of a field of the next level: %v", err)
	}
	if v, err := all[0].cluster.SetLimits(t.Context(), 1, []byte(strings.Repeat("new ", known))); err != nil || v != 2 {
		t.Errorf("one of this level: %d, %v", v, err)
	}
}

// A founder that is restarted as an older release while it is asked to found a cluster is a founder of that release.
func TestFounderIsRestartedAsAnOlderRelease(t *testing.T) {
	all := expecting(3, newRig(t).chairs(3)...)
	knowing(1, 2, all...)
	var once sync.Once
	all[0].config.tuning.step = func(what string) error {
		if what == "after attempt" {
			once.Do(func() {
				all[1].stop()
				knowing(1, 1, all[1])
				all[1].start()
			})
		}
		return nil
	}
	startAll(all...)
	one(all...)
	atLevel(1, all...)
}

// Who sees that the level was raised, at a node or in its answer, can rely on what the node has written: its disk refuses the older release.
func TestLevelIsAdoptedBeforeItIsShown(t *testing.T) {
	ch := newRig(t).chairs(1)[0]
	var adopted atomic.Int32
	ch.config.AdoptLevel = func(l int) error {
		if shown := ch.cluster.State(); shown.Founded() && shown.AgreedLevel() >= l {
			t.Errorf("level %d is shown, and %d is to be adopted", shown.AgreedLevel(), l)
		}
		adopted.Store(int32(l))
		return nil
	}
	knowing(1, 1, ch)
	startAll(ch)
	restarted(ch, 1, 2)
	if l := adopted.Load(); l != 1 {
		t.Errorf("level %d was adopted before it was raised", l)
	}
	if _, err := ch.cluster.Upgrade(t.Context(), 2, false); err != nil || adopted.Load() != 2 {
		t.Errorf("raised to level 2, %v, it has adopted level %d", err, adopted.Load())
	}
	ch.stop()
	full := errors.New("the disk is full")
	ch.config.AdoptLevel = func(int) error { return full }
	ch.start()
	ch.ends(full)
}

// A founder whose initial limits take a level that another one does not know founds no cluster: that one would end at them.
func TestFoundersKnowTheInitialLimits(t *testing.T) {
	all := expecting(3, newRig(t).chairs(3)...)
	knowing(1, 2, all...)
	knowing(1, 1, all[1])
	for _, ch := range all {
		ch.config.Limits = []byte("new new")
		ch.config.Check = func(text []byte) (int, error) { return strings.Count(string(text), "new"), nil }
		ch.start()
	}
	all[0].ends(agreed.ErrLevel)
	if !strings.Contains(all[0].err.Error(), "--limits") {
		t.Errorf("it ends with: %v", all[0].err)
	}
	for _, ch := range all {
		ch.stop()
	}
	knowing(1, 2, all[1])
	startAll(all...)
	atLevel(2, all...)
}
