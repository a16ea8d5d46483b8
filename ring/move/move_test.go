package move

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// Nodes have one-letter names in tests.
func node(letter byte) ring.NodeID { return ring.NodeID{letter} }

func set(letters string) []ring.NodeID {
	var nodes []ring.NodeID
	for i := range len(letters) {
		nodes = append(nodes, node(letters[i]))
	}
	return nodes
}

func letters(nodes []ring.NodeID) string {
	var s strings.Builder
	for _, n := range nodes {
		s.WriteByte(n[0])
	}
	return s.String()
}

func words(a Action) string {
	switch a := a.(type) {
	case Copy:
		return fmt.Sprintf("copy %c from %s", a.Node[0], letters(a.Sources))
	case Agree:
		return fmt.Sprintf("agree %d %s", a.Epoch, letters(a.Next))
	case Seal:
		return fmt.Sprintf("seal %c %d", a.Node[0], a.Epoch)
	case Install:
		return fmt.Sprintf("install %c %d from %d of %s", a.Node[0], a.Epoch, a.Enough, letters(a.Sources))
	case Complete:
		return fmt.Sprintf("complete %c %d from %s", a.Node[0], a.Epoch, letters(a.Sources))
	case Commit:
		return fmt.Sprintf("commit %d %s", a.Epoch, letters(a.Next))
	}
	return fmt.Sprint(a)
}

// place reads "1 abc", "1 abc target bcd", "1 abc next bcd", and both.
func place(t *testing.T, text string) ring.Place {
	t.Helper()
	fields := strings.Fields(text)
	var p ring.Place
	if _, err := fmt.Sscan(fields[0], &p.Epoch); err != nil {
		t.Fatal(err)
	}
	p.Replicas = set(fields[1])
	for rest := fields[2:]; len(rest) > 0; rest = rest[2:] {
		switch rest[0] {
		case "target":
			p.Target = set(rest[1])
		case "next":
			p.Next = set(rest[1])
		default:
			t.Fatalf("%q in a place", rest[0])
		}
	}
	return p
}

// A teller tells a move what happens, a line each, and writes down what it wants.
//
//	place 1 a target abc     raft says so
//	ok copy b                the action that begins so, and was asked, was done
//	floored seal b           likewise, by a node that has a floor
//	no copy b                it failed
//	back b                   the node can be reached again
//	wait 150ms               time passes, and the move is called when it wants to be
type teller struct {
	t    *testing.T
	m    *Move
	now  int64
	open []Action
	said []string
}

func (s *teller) step(e Event) {
	actions := s.m.Step(e, s.now)
	for _, a := range actions {
		if !s.m.Wants(a) {
			s.t.Errorf("it asks for %s and does not want it", words(a))
		}
		s.said = append(s.said, words(a))
	}
	s.open = append(s.open, actions...)
	if u := s.m.Until(); u != 0 && u <= s.now {
		s.t.Errorf("at %d it wants to be called at %d, which has been", s.now, u)
	}
}

func (s *teller) tell(line string) {
	s.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "place":
		p := place(s.t, rest)
		if s.m == nil {
			s.m = New(p)
			s.step(Tick{})
			return
		}
		s.step(Placed{Place: p})
	case "ok", "no", "floored":
		i := slices.IndexFunc(s.open, func(a Action) bool { return strings.HasPrefix(words(a), rest) })
		if i < 0 {
			s.t.Fatalf("%q was not asked for", rest)
		}
		a := s.open[i]
		s.open = slices.Delete(s.open, i, i+1)
		s.step(Answer{To: a, OK: verb != "no", Floored: verb == "floored"})
	case "back":
		s.step(Back{Node: node(rest[0])})
	case "wait":
		var ms int64
		if _, err := fmt.Sscanf(rest, "%dms", &ms); err != nil {
			s.t.Fatal(err)
		}
		end := s.now + ms*millisecond
		for u := s.m.Until(); u != 0 && u <= end; u = s.m.Until() {
			s.now = u
			s.step(Tick{})
		}
		s.now = end
	default:
		s.t.Fatalf("%q is no event", line)
	}
}

// complete lets the members of the present epoch say that they are complete, which begins most stories.
func (s *teller) complete() {
	for {
		i := slices.IndexFunc(s.open, func(a Action) bool { _, ok := a.(Complete); return ok })
		if i < 0 {
			return
		}
		a := s.open[i]
		s.open = slices.Delete(s.open, i, i+1)
		s.step(Answer{To: a, OK: true})
	}
}

// A line of a story: what happens, what the move wants then, and the phase that it is in.
type line struct {
	happens string
	wants   string // actions in order, separated by commas
	phase   Phase
}

// story runs a story. In the first line the present members are complete, unless the story begins with "raw".
func story(t *testing.T, lines []line) {
	t.Helper()
	s := &teller{t: t}
	for i, l := range lines {
		happens, raw := strings.CutPrefix(l.happens, "raw ")
		s.said = nil
		s.tell(happens)
		if i == 0 && !raw {
			s.complete()
			s.said = slices.DeleteFunc(s.said, func(w string) bool { return strings.HasPrefix(w, "complete") })
		}
		if got := strings.Join(s.said, ", "); got != l.wants {
			t.Fatalf("line %d, %s: it wants\n  %s\nnot\n  %s", i+1, l.happens, got, l.wants)
		}
		if got := s.m.Phase(); got != l.phase {
			t.Fatalf("line %d, %s: it is %v, not %v", i+1, l.happens, got, l.phase)
		}
	}
}

func TestOneReplicaBecomesThree(t *testing.T) {
	story(t, []line{
		{"place 1 a", "", Settled},
		{"place 1 a target abc", "copy b from a, copy c from a", Copying},
		{"ok copy b", "", Copying},
		{"ok copy c", "agree 1 abc", Agreeing},
		{"ok agree", "", Agreeing},
		{"place 1 a target abc next abc", "seal a 1", Sealing},
		{"ok seal a", "install a 2 from 1 of a, install b 2 from 1 of a, install c 2 from 1 of a", Installing},
		{"ok install c", "", Installing},
		{"ok install a", "commit 1 abc", Committing},
		{"ok commit", "", Committing},
		{"place 2 abc", "", Completing}, // b is still at it
		{"no install b", "", Completing},
		{"wait 1000ms", "complete b 2 from ac", Completing},
		{"ok complete b", "", Settled},
	})
}

func TestReplacedMember(t *testing.T) {
	story(t, []line{
		{"place 4 abc target abd", "copy a from bc, copy b from ac, copy d from abc", Copying},
		{"no copy a", "", Copying},
		{"ok copy b", "", Copying},
		{"no copy d", "", Copying},
		{"wait 999ms", "", Copying},
		{"wait 1ms", "copy a from bc, copy d from abc", Copying},
		{"ok copy d", "agree 4 abd", Agreeing}, // that of a would only be a help
		{"place 4 abc target abd next abd", "seal a 4, seal b 4, seal c 4", Sealing},
		{"ok seal b", "", Sealing},
		{"no seal c", "", Sealing},
		{"ok seal a", "install a 5 from 2 of ab, install b 5 from 2 of ab, install d 5 from 2 of ab", Installing},
		{"wait 50ms", "seal c 4", Installing},
		{"ok seal c", "", Installing}, // a source more, for those that fail
		{"no install d", "", Installing},
		{"wait 50ms", "install d 5 from 2 of abc", Installing},
		{"ok install a", "", Installing},
		{"no install d", "", Installing},
		{"wait 100ms", "install d 5 from 2 of abc", Installing},
		{"ok install b", "commit 4 abd", Committing},
		{"ok install d", "", Committing},
		{"place 5 abd", "", Settled},
	})
}

func TestThreeOfFiveSeal(t *testing.T) {
	story(t, []line{
		{"place 2 abcde next abc", "seal a 2, seal b 2, seal c 2, seal d 2, seal e 2", Sealing},
		{"ok seal e", "", Sealing},
		{"ok seal d", "", Sealing},
		{"ok seal c", "install a 3 from 3 of cde, install b 3 from 3 of cde, install c 3 from 3 of cde", Installing},
		{"ok install c", "", Installing},
		{"ok install b", "commit 2 abc", Committing},
	})
}

// A floor goes over to the next epoch only if too few old members without one can be had: whoever seals first.
func TestFloorWaitsForTheOtherSeals(t *testing.T) {
	story(t, []line{
		{"place 1 abc next abd", "seal a 1, seal b 1, seal c 1", Sealing},
		{"floored seal a", "", Sealing},
		{"ok seal c", "", Sealing},
		{"ok seal b", "install a 2 from 2 of abc, install b 2 from 2 of abc, install d 2 from 2 of abc", Installing},
	})
	story(t, []line{
		{"place 1 abc next abd", "seal a 1, seal b 1, seal c 1", Sealing},
		{"floored seal a", "", Sealing},
		{"ok seal c", "", Sealing},
		{"no seal b", "install a 2 from 2 of ac, install b 2 from 2 of ac, install d 2 from 2 of ac", Installing},
		{"wait 50ms", "seal b 1", Installing},
	})
	story(t, []line{
		{"place 1 abc next abd", "seal a 1, seal b 1, seal c 1", Sealing},
		{"floored seal a", "", Sealing},
		{"floored seal b", "install a 2 from 2 of ab, install b 2 from 2 of ab, install d 2 from 2 of ab", Installing}, // whatever c says
		{"ok seal c", "", Installing},
	})
}

func TestDeadNewMemberDoesNotHoldUpTheOthers(t *testing.T) {
	story(t, []line{
		{"place 1 abc target abd", "copy a from bc, copy b from ac, copy d from abc", Copying},
		{"ok copy a", "", Copying},
		{"ok copy b", "", Copying},
		{"no copy d", "", Copying},
		{"wait 1000ms", "copy d from abc", Copying},
		{"no copy d", "", Copying},
		{"wait 2000ms", "copy d from abc", Copying},
		{"no copy d", "", Copying},
		{"wait 4000ms", "copy d from abc", Copying},
		{"no copy d", "", Copying},
		{"wait 8000ms", "copy d from abc", Copying},
		{"no copy d", "agree 1 abd", Agreeing},
		{"back d", "copy d from abc", Copying},
		{"ok copy d", "", Agreeing}, // raft has been asked already
	})
}

func TestTooFewCopiesWaitForEver(t *testing.T) {
	s := &teller{t: t}
	s.tell("place 1 abc target ade")
	s.complete()
	s.tell("ok copy a")
	for range 20 {
		for _, n := range []string{"d", "e"} {
			if slices.ContainsFunc(s.open, func(a Action) bool { return strings.HasPrefix(words(a), "copy "+n) }) {
				s.tell("no copy " + n)
			}
		}
		s.tell("wait 15000ms")
	}
	if s.m.Phase() != Copying {
		t.Fatalf("one of three has copied, and it is %v", s.m.Phase())
	}
	s.tell("ok copy e")
	if s.m.Phase() != Agreeing {
		t.Fatalf("two of three have copied, and it is %v", s.m.Phase())
	}
}

func TestRaftIsAskedAgain(t *testing.T) {
	story(t, []line{
		{"place 1 a target b", "copy b from a", Copying},
		{"ok copy b", "agree 1 b", Agreeing},
		{"no agree", "", Agreeing},
		{"wait 99ms", "", Agreeing},
		{"wait 1ms", "agree 1 b", Agreeing},
		{"no agree", "", Agreeing},
		{"place 1 a target bcd", "copy c from a, copy d from a", Copying}, // what b has copied is as good
		{"ok copy d", "", Copying},
		{"ok copy c", "agree 1 bcd", Agreeing},
		{"place 1 a next bcd", "seal a 1", Sealing},
	})
}

func TestAnotherDriverGoesOn(t *testing.T) {
	story(t, []line{
		{"raw place 7 abc next abd", "complete a 7 from bc, complete b 7 from ac, complete c 7 from ab, " +
			"seal a 7, seal b 7, seal c 7", Sealing},
		{"ok seal a", "", Sealing}, // who seals is complete
		{"ok seal c", "install a 8 from 2 of ac, install b 8 from 2 of ac, install d 8 from 2 of ac", Installing},
		{"ok install d", "", Installing},
		{"place 8 abd", "", Completing}, // the other one was quicker
		{"no complete a 7", "", Completing},
		{"ok install a", "", Completing},
		{"ok complete b 7", "", Completing}, // says nothing about epoch 8
		{"no install b", "", Completing},
		{"wait 1000ms", "complete b 8 from ad", Completing},
		{"ok complete b 8", "", Settled},
	})
}

func TestNextIsReplacedWhenItsMembersDie(t *testing.T) {
	story(t, []line{
		{"place 1 abc next ade", "seal a 1, seal b 1, seal c 1", Sealing},
		{"ok seal b", "", Sealing},
		{"ok seal c", "install a 2 from 2 of bc, install d 2 from 2 of bc, install e 2 from 2 of bc", Installing},
		{"ok install a", "", Installing},
		{"no install d", "", Installing},
		{"no install e", "", Installing},
		{"wait 50ms", "install d 2 from 2 of bca, install e 2 from 2 of bca", Installing},
		{"place 1 abc target abf next ade", "", Installing},
		{"no install d", "", Installing},
		{"no install e", "", Installing},
		{"wait 100ms", "install d 2 from 2 of bca, install e 2 from 2 of bca", Installing},
		{"no install d", "", Installing},
		{"no install e", "", Installing},
		{"wait 200ms", "install d 2 from 2 of bca, install e 2 from 2 of bca", Installing},
		{"no install d", "", Installing},
		{"no install e", "agree 1 abf", Installing}, // next cannot be reached, and there is another plan
		{"place 1 abc next abf", "install b 2 from 2 of bc, install f 2 from 2 of bc", Installing},
		{"ok install f", "commit 1 abf", Committing}, // what a has installed counts for any next
		{"place 2 abf", "", Completing},
		{"ok install b", "", Settled},
	})
}

func TestNextIsEndedBeforeAnotherTarget(t *testing.T) {
	story(t, []line{
		{"place 1 abc target abe next abd", "seal a 1, seal b 1, seal c 1", Sealing},
		{"ok seal a", "", Sealing},
		{"ok seal b", "install a 2 from 2 of ab, install b 2 from 2 of ab, install d 2 from 2 of ab", Installing},
		{"ok install a", "", Installing},
		{"ok install b", "commit 1 abd", Committing},
		{"place 2 abd target abe", "copy a from bd, copy b from ad, copy e from abd", Copying},
	})
}

// The only old member dies when the new ones have installed, and the driver with it: the next driver finds that out.
func TestInstalledMembersCarryTheMoveOver(t *testing.T) {
	story(t, []line{
		{"place 1 a next abc", "seal a 1", Sealing},
		{"no seal a", "complete a 2 from abc, complete b 2 from abc, complete c 2 from abc", Sealing},
		{"ok complete b", "", Sealing},
		{"no complete a", "", Sealing},
		{"ok complete c", "commit 1 abc", Committing},
		{"place 2 abc", "", Completing},
		{"wait 1000ms", "complete a 2 from bc", Completing},
	})
}

func TestSealsThatAreEnoughHurryInstalls(t *testing.T) {
	story(t, []line{
		{"place 1 a next bcd", "seal a 1", Sealing},
		{"no seal a", "complete b 2 from bcd, complete c 2 from bcd, complete d 2 from bcd", Sealing},
		{"no complete b", "", Sealing},
		{"no complete c", "", Sealing},
		{"no complete d", "", Sealing},
		{"wait 50ms", "seal a 1, complete b 2 from bcd, complete c 2 from bcd, complete d 2 from bcd", Sealing},
		{"no complete b", "", Sealing},
		{"no complete c", "", Sealing},
		{"ok seal a", "install b 2 from 1 of a, install c 2 from 1 of a", Installing},
		{"no complete d", "", Installing},
		{"wait 50ms", "install d 2 from 1 of a", Installing},
	})
}

func TestMemberThatWasDownIsCompleted(t *testing.T) {
	story(t, []line{
		{"raw place 3 abc", "complete a 3 from bc, complete b 3 from ac, complete c 3 from ab", Completing},
		{"ok complete a", "", Completing},
		{"ok complete b", "", Completing},
		{"no complete c", "", Completing},
		{"wait 1000ms", "complete c 3 from ab", Completing},
		{"no complete c", "", Completing},
		{"wait 1999ms", "", Completing},
		{"back c", "complete c 3 from ab", Completing},
		{"no complete c", "", Completing},
		{"back a", "complete c 3 from ab", Completing}, // it may have been a source that was missing
		{"ok complete c", "", Settled},
		{"wait 100000ms", "", Settled},
	})
}

// Two of three must seal, one is dead, and one has missed the install of the present epoch: it can be made up for.
func TestLateMemberIsCompletedSoThatItCanSeal(t *testing.T) {
	story(t, []line{
		{"raw place 3 abc next abd", "complete a 3 from bc, complete b 3 from ac, complete c 3 from ab, " +
			"seal a 3, seal b 3, seal c 3", Sealing},
		{"ok seal a", "", Sealing},
		{"no seal b", "", Sealing},
		{"no seal c", "complete a 4 from abd, complete b 4 from abd, complete d 4 from abd", Sealing},
		{"ok complete c 3", "", Sealing},
		{"wait 50ms", "seal b 3, seal c 3", Sealing},
		{"ok seal c", "", Installing}, // they are still at it
		{"no complete d 4", "", Installing},
		{"wait 50ms", "install d 4 from 2 of ac", Installing},
	})
}

func TestForcedRecoveryBeginsAnew(t *testing.T) {
	story(t, []line{
		{"place 3 abc next abd", "seal a 3, seal b 3, seal c 3", Sealing},
		{"ok seal a", "", Sealing},
		{"place 9 ade", "complete a 9 from de, complete d 9 from ae, complete e 9 from ad", Completing},
		{"ok seal b", "", Completing}, // of epoch 3: over
		{"place 9 ade next ad", "seal a 9, seal d 9, seal e 9", Sealing},
	})
}

func TestWants(t *testing.T) {
	s := &teller{t: t}
	s.tell("place 1 abc target abd")
	s.complete()
	want := func(a Action, yes bool) {
		t.Helper()
		if s.m.Wants(a) != yes {
			t.Errorf("it wants %s: %v", words(a), !yes)
		}
	}
	want(Copy{Node: node('d'), Epoch: 1}, true)
	want(Copy{Node: node('d'), Epoch: 2}, false)
	want(Copy{Node: node('e'), Epoch: 1}, false)
	want(Agree{Epoch: 1, Next: set("abd")}, true)
	want(Agree{Epoch: 1, Next: set("abe")}, false)
	want(Seal{Node: node('a'), Epoch: 1}, false)
	want(Complete{Node: node('a'), Epoch: 1}, false) // it is known to be complete
	s.tell("place 1 abc next abd")
	want(Copy{Node: node('d'), Epoch: 1}, false)
	want(Seal{Node: node('a'), Epoch: 1}, true)
	want(Install{Node: node('d'), Epoch: 2}, true)
	want(Install{Node: node('c'), Epoch: 2}, false)
	want(Commit{Epoch: 1, Next: set("abd")}, true)
	want(Commit{Epoch: 1, Next: set("abe")}, false)
	if got := fmt.Sprint(Settled, Completing, Copying, Agreeing, Sealing, Installing, Committing); got !=
		"settled completing copying agreeing sealing installing committing" {
		t.Error(got)
	}
}
