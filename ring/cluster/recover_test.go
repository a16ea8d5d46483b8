package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// cutRaft has nodes hear nothing any more of what is agreed on, and healRaft ends that.
func cutRaft(t *testing.T, all ...*chair) {
	t.Helper()
	for _, ch := range all {
		if err := ch.cluster.agreement.Suspend(); err != nil {
			t.Fatal(err)
		}
	}
}

func healRaft(t *testing.T, all ...*chair) {
	t.Helper()
	for _, ch := range all {
		if err := ch.cluster.agreement.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// leads waits until one of the nodes leads.
func leads(all ...*chair) (leader *chair) {
	all[0].rig.t.Helper()
	all[0].soon("somebody leads", func() bool {
		i := slices.IndexFunc(all, func(ch *chair) bool {
			leading, _ := ch.cluster.agreement.Leading()
			return leading
		})
		if i >= 0 {
			leader = all[i]
		}
		return i >= 0
	})
	return leader
}

// recovered has those that are left recover the cluster, in turn until one can: who knows less is refused, and a node may for a
// moment still hear a leader that is lost, from a message that was under way.
func recovered(t *testing.T, left []*chair, lost ...*chair) (done agreed.Recovery) {
	t.Helper()
	var names []string
	for _, ch := range lost {
		names = append(names, ch.config.Name)
	}
	left[0].soon("somebody can recover the cluster", func() bool {
		return slices.ContainsFunc(left, func(ch *chair) (ok bool) {
			var err error
			done, err = ch.cluster.Recover(t.Context(), names)
			passes := errors.Is(err, agreed.ErrStale) || errors.Is(err, message.ErrAlive) || errors.Is(err, message.ErrUnreachable)
			if err != nil && !passes {
				t.Fatal(err)
			}
			return err == nil
		})
	})
	return done
}

// refusedRecovery is why a node does not recover the cluster, for more than a moment: one that stood still does not answer, and a leader is heard
// for a while after it was lost.
func refusedRecovery(t *testing.T, ch *chair, lost ...string) (why error) {
	t.Helper()
	ch.soon("those who are left say what they know", func() bool {
		_, why = ch.cluster.Recover(t.Context(), lost)
		return !errors.Is(why, message.ErrAlive) && !errors.Is(why, message.ErrUnreachable)
	})
	return why
}

// propose has whoever leads apply a command, again if the leader changes: then it may have been applied the first time, and is refused.
func propose(t *testing.T, chairs []*chair, c agreed.Command) {
	t.Helper()
	for again := false; ; again = true {
		err := leads(chairs...).cluster.agreement.Propose(t.Context(), c)
		leaderless := errors.Is(err, agreed.ErrNotLeader) || errors.Is(err, agreed.ErrUnknownOutcome)
		switch {
		case err == nil, again && !leaderless:
			return
		case !leaderless:
			t.Fatal(err)
		}
		t.Logf("proposing again: %v", err)
	}
}

// A cut-off majority agrees on the end of a move, serves in the new epoch, and is lost for ever. Those that are left were
// enough of the old replicas, and have installed the epoch that they have not heard of: they must not begin it again, for
// they do not know what was accepted in it.
func TestRecoveryOfAMoveThatNobodyLeftHasHeardOf(t *testing.T) {
	r := newRig(t)
	all := expecting(5, r.chairs(5)...)
	startAll(all...)
	const p = 0
	by := map[ring.NodeID]*chair{}
	for _, ch := range all {
		by[ch.config.ID] = ch
	}
	old := all[0].cluster.State().Table.Places[p].Replicas
	left := []*chair{by[old[0]], by[old[1]]}
	lost := slices.DeleteFunc(slices.Clone(all), func(ch *chair) bool { return slices.Contains(left, ch) })
	spare := lost[slices.IndexFunc(lost, func(ch *chair) bool { return ch.config.ID != old[2] })]
	next := []ring.NodeID{spare.config.ID, old[2], old[1]}

	r.fabric.hold(true) // as far as the seals, the move goes
	propose(t, all, agreed.Command{SetNext: &agreed.SetNext{Changes: []agreed.Change{{Partition: p, Epoch: ring.FirstEpoch, Replicas: next}}}})
	for _, ch := range all {
		ch.sees("the partition moves", func(s *agreed.State) bool { return len(s.Table.Places[p].Next) > 0 })
	}
	cutRaft(t, left...)
	r.fabric.hold(false)
	for _, ch := range lost {
		ch.sees("the next epoch has begun", func(s *agreed.State) bool { return s.Table.Places[p].Epoch == 2 })
	}
	for _, ch := range lost {
		ch.stop()
	}
	healRaft(t, left...)

	recovered(t, left, lost...)
	for _, ch := range left {
		s := ch.sees("two are left", func(s *agreed.State) bool { return len(s.Nodes) == 2 })
		for i, place := range s.Table.Places {
			if place.Epoch <= 2 || !place.Floored {
				t.Errorf("partition %d goes on as %+v: those who are lost have served in epoch 2", i, place)
			}
		}
	}
}

// A node may have stored what it has not heard the end of. Who has stored less must not recover: what was agreed on would be
// thrown away.
func TestRecoveryKeepsTheLongestLog(t *testing.T) {
	all := expecting(5, newRig(t).chairs(5)...)
	startAll(all...)
	newest := uint64(0)
	for _, ch := range all {
		newest = max(newest, ch.cluster.State().Version)
	}
	for _, ch := range all {
		ch.sees("what was agreed", func(s *agreed.State) bool { return s.Version >= newest })
	}
	left, lost := all[:2], all[2:]
	cutRaft(t, left...)
	for _, ch := range lost {
		ch.stop()
	}
	// The last that the lost leader had agreed on: it has reached one of those who are left, and not that it was agreed.
	last, other := lastEntry(t, left[1]), lastEntry(t, left[0])
	for index := last.Index + 1; index <= max(last.Index, other.Index)+1; index++ {
		limits := []byte(`{"set_limits":{"base":1,"limits":"agreed and not applied"}}`)
		if err := left[1].cluster.agreement.Log().StoreLog(&raft.Log{Index: index, Term: last.Term + 1, Type: raft.LogCommand, Data: limits}); err != nil {
			t.Fatal(err)
		}
	}
	healRaft(t, left...)
	names := []string{"c", "d", "e"}
	if err := refusedRecovery(t, left[0], names...); !errors.Is(err, agreed.ErrStale) {
		t.Fatalf("the one whose log is shorter recovers: %v", err)
	}
	recovered(t, left, lost...)
	for _, ch := range left {
		ch.sees("the limits are those of the longer log", func(s *agreed.State) bool { return string(s.Limits) == "agreed and not applied" })
	}
}

// Whoever is left ends what it takes part in before the recovery is agreed: a floor that is set afterwards lies after all that
// was accepted, also where those who are left were a majority.
func TestWhoIsLeftEndsBeforeARecovery(t *testing.T) {
	all := expecting(5, newRig(t).chairs(5)...)
	left, lost := all[:2], all[2:]
	var mu sync.Mutex
	ended := map[string]int{}
	for _, ch := range left {
		ch.config.End = func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			ended[ch.config.Name]++
			for _, other := range left {
				if s, err := other.cluster.agreement.Supposed(); err == nil && len(s.State.Removed) > 0 {
					t.Errorf("the recovery was agreed before %q has ended", ch.config.Name)
				}
			}
			return nil
		}
	}
	startAll(all...)
	for _, ch := range lost {
		ch.stop()
	}
	recovered(t, left, lost...)
	mu.Lock()
	defer mu.Unlock()
	if ended["a"] == 0 || ended["b"] == 0 {
		t.Errorf("ended: %v", ended)
	}
}

// A majority that is not lost has a leader, whom some of those hear that are left. Nobody takes their part away then.
func TestNoRecoveryBesideALeader(t *testing.T) {
	r := newRig(t)
	for began := time.Now(); time.Since(began) < long; {
		if testBesideALeader(t, r) {
			return
		}
		t.Log("for a moment no leader was heard; once more, with other nodes")
	}
	t.Fatal("in minutes a leader was never heard for a few seconds")
}

// testBesideALeader says whether those who are left have heard a leader all the time: otherwise it shows nothing.
func testBesideALeader(t *testing.T, r *rig) (heard bool) {
	t.Helper()
	all := expecting(5, r.chairs(5)...)
	var ended bool
	var heardSoFar func() bool // nil before it counts
	for _, ch := range all[:2] {
		ch.config.End = func(context.Context) error {
			if heardSoFar != nil {
				heardSoFar()
			}
			ended = true
			return nil
		}
	}
	startAll(all...)
	defer func() {
		for _, ch := range all {
			ch.stop()
		}
	}()
	a, b := all[0].cluster, all[1].cluster
	ask := func(kind string, body any) (known struct {
		Leader string `json:"leader"`
	}, err error,
	) {
		return message.Call[struct {
			Leader string `json:"leader"`
		}](t.Context(), r.fabric, all[1].config.GRPC, kind, body)
	}
	all[1].soon("both hear the leader", func() bool {
		_, _, known := a.agreement.Leader()
		says, err := ask(message.KindSurvey, message.Nothing{})
		return known && err == nil && says.Leader != ""
	})
	heardSoFar = sync.OnceValue(hearing(all[:2]...))
	notice := map[string]any{"cluster": b.State().Cluster, "by": "a", "end": consensus.LogEnd{Term: 1 << 60}}
	_, reset := ask(message.KindReset, notice)
	endedBySelf := ended

	t.Log("cut off from this node's calls, though not from raft")
	var names, addresses []string
	for _, ch := range all[2:] {
		names, addresses = append(names, ch.config.Name), append(addresses, ch.config.GRPC)
	}
	r.fabric.cutOff(addresses...)
	_, recovered := a.Recover(t.Context(), names)
	r.fabric.cutOff()
	if !heardSoFar() {
		return false
	}
	if !errors.Is(reset, message.ErrAlive) || endedBySelf {
		t.Errorf("it gives up its raft log beside a leader: %v, ended %v", reset, endedBySelf)
	}
	if !errors.Is(recovered, message.ErrAlive) || !strings.Contains(recovered.Error(), "hears the leader") || ended {
		t.Errorf("those who are said to be lost have a leader: %v, ended %v", recovered, ended)
	}
	return true
}

// hearing looks whether nodes hear a leader, until it is called: then it says whether all did all the time. Where the machine stood still for as long as a
// leader may be silent, they did not.
func hearing(all ...*chair) (did func() bool) {
	enough, answer := make(chan struct{}), make(chan bool, 1)
	go func() {
		look := time.NewTicker(2 * time.Millisecond)
		defer look.Stop()
		heard, last := true, time.Now()
		for over := false; !over; last = time.Now() {
			select {
			case <-look.C:
			case <-enough:
				over = true
			}
			heard = heard && time.Since(last) < consensus.ElectionTimeout/2
			for _, ch := range all {
				_, _, known := ch.cluster.agreement.Leader()
				heard = heard && known
			}
		}
		answer <- heard
	}()
	return func() bool {
		close(enough)
		return <-answer
	}
}

// Those who are lost may have let a node in of whom the one that recovers has not heard. It is alive, and knows more.
func TestRecoveryMissesNobody(t *testing.T) {
	left, late, lost := letInByTheLost(t)
	if err := refusedRecovery(t, left, "b", "c"); !errors.Is(err, agreed.ErrStale) || !strings.Contains(err.Error(), `"d"`) {
		t.Fatalf("a node that the lost ones have let in is left out: %v", err)
	}
	recovered(t, []*chair{late}, lost...)
	for _, ch := range []*chair{left, late} {
		ch.members(2)
	}
}

// The node that recovers has just been started, and its gossip has met nobody. Who was let in while it was down makes itself known first.
func TestRecoveryRightAfterAStart(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	startAll(all...)
	for _, ch := range all {
		ch.members(3)
	}
	left, lost := all[0], all[1:]
	left.stop()
	late := r.chair("d", 40)
	late.config.Join = []string{lost[0].config.BindGossip}
	startAll(late)
	for _, ch := range lost {
		ch.stop()
	}
	left.start()
	if _, err := left.cluster.Recover(t.Context(), []string{"b", "c"}); !errors.Is(err, agreed.ErrStale) || !strings.Contains(err.Error(), `"d"`) {
		t.Errorf("a node that the lost ones have let in is passed over: %v", err)
	}
}

// Somebody has once started a node under a member's name; it was refused, and is gone. It stands in no recovery's way while the member lives, and is named
// with it once that is lost.
func TestRecoveryBesideWhoWasNeverLetIn(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	startAll(all...)
	a, b, c := all[0], all[1], all[2]
	for _, ch := range all {
		ch.members(3)
	}
	refused := r.chair("b", 99)
	refused.config.Join, refused.config.tuning.patience = []string{a.config.BindGossip}, 300*time.Millisecond
	refused.start()
	refused.ends(agreed.ErrNameTaken)
	a.soon("gossip knows who was refused", func() bool { return a.cluster.gossip.All()[refused.config.ID].Cluster != "" })
	c.stop()
	leads(a, b)
	recovered(t, []*chair{a, b}, c)
	b.stop()
	recovered(t, []*chair{a}, b)
	a.members(1)
}

// A node that the lost ones have let in, and that is silent, may only be slow. It is waited for, unless it is named as lost itself.
func TestRecoveryWaitsForWhoIsSilent(t *testing.T) {
	left, late, lost := letInByTheLost(t)
	_, err := left.cluster.Recover(t.Context(), []string{"b", "c", "d"})
	if !errors.Is(err, message.ErrAlive) || !strings.Contains(err.Error(), `"d"`) {
		t.Fatalf("a node that is named as lost is alive: %v", err)
	}
	late.stop()
	left.soon("gossip takes d for dead", func() bool { return !left.cluster.gossip.Alive(late.config.ID) })
	_, err = left.cluster.Recover(t.Context(), []string{"b", "c"})
	if !errors.Is(err, message.ErrUnreachable) || !strings.Contains(err.Error(), `"d"`) || !strings.Contains(err.Error(), late.config.ID.String()) {
		t.Fatalf("a node that the lost ones have let in is not waited for, by its name and id: %v", err)
	}
	recovered(t, []*chair{left}, append(lost, late)...)
	left.members(1)
}

// Nodes with empty disks stand in for those that are lost, under the same names, and go for the cluster. They are not who is named: neither
// where only gossip tells of them, nor where a leader has written into its log that they are let in, and nobody is left who agrees.
func TestRecoveryBesideSuccessors(t *testing.T) {
	for _, leaderless := range []bool{false, true} {
		t.Run(fmt.Sprint("leaderless ", leaderless), func(t *testing.T) {
			r := newRig(t)
			all := expecting(3, r.chairs(3)...)
			startAll(all...)
			left := leads(all...)
			left.members(3)
			lost := slices.DeleteFunc(all, func(ch *chair) bool { return ch == left })
			for _, ch := range lost {
				ch.stop()
			}
			if leaderless {
				left.soon("it hears no leader", func() bool {
					_, _, known := left.cluster.agreement.Leader()
					return !known
				})
			}
			var successors []*chair
			for i, ch := range lost {
				successor := r.chair(ch.config.Name, byte(40+i))
				successor.config.Expect, successor.config.Join = 3, []string{left.config.BindGossip}
				successor.start()
				successors = append(successors, successor)
			}
			left.soon("gossip tells that they go for the cluster", func() bool {
				return !slices.ContainsFunc(successors, func(ch *chair) bool {
					p := left.cluster.gossip.All()[ch.config.ID]
					return !p.Alive || p.Cluster != left.cluster.State().Cluster.String()
				})
			})
			if _, err := left.cluster.Recover(t.Context(), []string{lost[0].config.Name, lost[1].config.Name}); err != nil {
				t.Fatalf("nodes that wait to be let in are taken for the lost ones: %v", err)
			}
			joined(successors...)
			left.members(3)
		})
	}
}

// letInByTheLost are a node that does not hear how two others let a fourth one in, the fourth one, and these two, which are lost then.
func letInByTheLost(t *testing.T) (left, late *chair, lost []*chair) {
	t.Helper()
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	startAll(all...)
	for _, ch := range all {
		ch.members(3)
	}
	left, lost = all[0], all[1:]
	cutRaft(t, left)
	late = r.chair("d", 40)
	late.config.Join = []string{lost[0].config.BindGossip}
	startAll(late)
	for _, ch := range lost {
		ch.stop()
	}
	healRaft(t, left)
	left.soon("gossip tells that d is a member", func() bool {
		d := left.cluster.gossip.All()[late.config.ID]
		return d.Alive && d.Cluster == left.cluster.State().Cluster.String()
	})
	return left, late, lost
}

// A leader that was cut off has a removal in its log, on which nobody has agreed. Then another node is lost. The one that its log removes lives, and
// has agreed on limits meanwhile: no recovery is made without it, by a log that does not know of them, unless it is named as lost too and does not answer.
func TestRecoveryBesideARemovalThatNobodyAgreedOn(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	startAll(all...)
	left := leads(all...)
	for _, ch := range all {
		ch.members(3)
	}
	others := slices.DeleteFunc(slices.Clone(all), func(ch *chair) bool { return ch == left })
	lost, lives := others[0], others[1]
	cutRaft(t, left)
	writeAlone(t, left, agreed.Command{Remove: &agreed.Remove{ID: lives.config.ID, Force: true}})
	propose(t, others, agreed.Command{SetLimits: &agreed.SetLimits{Base: lost.cluster.State().LimitsVersion, Limits: []byte("limits: {agreed: {capacity: 1, refill: 1/s}}\n")}})
	lives.soon("it has heard of the limits", func() bool { return strings.Contains(string(lives.cluster.State().Limits), "agreed") })
	lost.stop()
	cutRaft(t, lives)
	healRaft(t, left)
	left.soon("it hears no leader", func() bool {
		_, _, known := left.cluster.agreement.Leader()
		return !known
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if done, err := left.cluster.Recover(ctx, []string{lost.config.Name}); err == nil {
		t.Fatalf("without %s, which lives and is not named, it is done: %+v", lives.config.Name, done)
	}
	if _, err := left.cluster.Recover(t.Context(), []string{lost.config.Name, lives.config.Name}); !errors.Is(err, message.ErrAlive) {
		t.Fatalf("with %s, which lives, among the lost: %v", lives.config.Name, err)
	}
	lives.stop()
	if _, err := left.cluster.Recover(t.Context(), []string{lost.config.Name, lives.config.Name}); err != nil {
		t.Errorf("both are lost: %v", err)
	}
	left.members(1)
}

// writeAlone writes a command behind the end of a node's raft log, as a leader does that nobody hears.
func writeAlone(t *testing.T, ch *chair, c agreed.Command) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	last := lastEntry(t, ch)
	if err := ch.cluster.agreement.Log().StoreLog(&raft.Log{Index: last.Index + 1, Term: last.Term, Type: raft.LogCommand, Data: text}); err != nil {
		t.Fatal(err)
	}
}

// lastEntry is the last entry of a node's raft log.
func lastEntry(t *testing.T, ch *chair) (last raft.Log) {
	t.Helper()
	log := ch.cluster.agreement.Log()
	index, err := log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := log.GetLog(index, &last); err != nil {
		t.Fatal(err)
	}
	return last
}
