package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

func TestFoundOnce(t *testing.T) {
	s := &State{}
	refused(t, s, command{Undrain: &undrain{ID: nodeID(1)}}, ErrNotFounded)
	s = done(t, s, testFound(3))
	if s.Version != 1 || s.LimitsVersion != 1 || string(s.Limits) != "limits: {}\n" || len(s.Table.Places) != 4 || s.Table.Places[3].Epoch != ring.FirstEpoch {
		t.Errorf("founded as %s", text(t, s))
	}
	idle(t, s, testFound(3))
	other := testFound(3)
	other.Found.Cluster = Unique{8}
	refused(t, s, other, ErrFounded)
}

func TestFoundRefusesNonsense(t *testing.T) {
	for name, spoil := range map[string]func(*found){
		"no name":              func(f *found) { f.Cluster = Unique{} },
		"no partitions":        func(f *found) { f.Partitions, f.Table = 0, nil },
		"too many partitions":  func(f *found) { f.Partitions = 1<<16 + 1 },
		"a place too few":      func(f *found) { f.Table = f.Table[1:] },
		"two replicas wanted":  func(f *found) { f.Replicas = 2 },
		"two replicas":         func(f *found) { f.Table[1] = f.Table[1][:2] },
		"a replica twice":      func(f *found) { f.Table[1] = nodeIDs(1, 2, 1) },
		"a node twice":         func(f *found) { f.Nodes[1] = f.Nodes[0] },
		"a node without id":    func(f *found) { f.Nodes[1].ID = ring.NodeID{} },
		"a node without name":  func(f *found) { f.Nodes[1].Name = "" },
		"a node without raft":  func(f *found) { f.Nodes[1].Raft = "" },
		"no nodes":             func(f *found) { f.Nodes = nil },
		"limits are not UTF-8": func(f *found) { f.Limits = Document("\xff") },
	} {
		c := testFound(3)
		spoil(c.Found)
		// Not by way of JSON, which repairs what is not UTF-8.
		if next, err := c.apply(&State{}); err == nil || next.Founded() {
			t.Errorf("%s: founded", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	c := testFound(3)
	c.Found.Nodes[2].Name = "a"
	refused(t, &State{}, c, ErrNameTaken)
	c = testFound(3)
	c.Found.Table[2] = nodeIDs(9)
	refused(t, &State{}, c, ErrUnknownNode)
}

func TestJoin(t *testing.T) {
	s := done(t, &State{}, testFound(1))
	s = done(t, s, command{Join: &join{testNode(2)}})
	if got := s.Nodes[nodeID(2)]; got != testNode(2) {
		t.Errorf("joined as %+v", got)
	}
	idle(t, s, command{Join: &join{testNode(2)}})

	moved := testNode(2)
	moved.Raft, moved.Mark, moved.Process = "elsewhere:7703", Mark{9, 9}, Unique{9}
	s = done(t, s, command{Join: &join{moved}})
	if got := s.Nodes[nodeID(2)]; got.Raft != moved.Raft || got.Mark != testNode(2).Mark || got.Process != testNode(2).Process {
		t.Errorf("moved as %+v", got)
	}
	taken := testNode(3)
	taken.Name = "b"
	refused(t, s, command{Join: &join{taken}}, ErrNameTaken)
	refused(t, s, command{Join: &join{Node{ID: nodeID(3), Raft: "x:1"}}}, ErrInvalid)
	s = done(t, s, command{Remove: &remove{ID: nodeID(2)}})
	refused(t, s, command{Join: &join{testNode(2)}}, ErrRemoved)
	done(t, s, command{Join: &join{taken}}) // the name is free
}

func TestMarksRise(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	raise := func(boot uint64, minute int64, process byte) command {
		return command{Mark: &mark{ID: nodeID(1), Mark: Mark{boot, minute}, Process: Unique{process}}}
	}
	idle(t, s, raise(1, 100, 1))
	s = done(t, s, raise(1, 101, 1))
	refused(t, s, raise(1, 100, 1), ErrMarkNotHigher)
	refused(t, s, raise(1, 101, 2), ErrMarkNotHigher) // two processes on copies of one disk
	refused(t, s, raise(1, 102, 2), ErrMarkNotHigher)
	s = done(t, s, raise(2, 50, 2)) // a clock may go back over a restart
	refused(t, s, raise(1, 200, 1), ErrMarkNotHigher)
	s = done(t, s, raise(2, 51, 2))
	refused(t, s, command{Mark: &mark{ID: nodeID(9), Mark: Mark{5, 5}}}, ErrUnknownNode)
	s = done(t, s, command{Remove: &remove{ID: nodeID(1), Force: true}})
	refused(t, s, raise(3, 0, 1), ErrRemoved)
}

func TestReplaceTakesNameAndPlaces(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	s = done(t, s, command{SetTarget: &setTarget{[]change{{3, 1, nodeIDs(2)}}}})
	s = done(t, s, command{SetNext: &setNext{[]change{{2, 1, nodeIDs(3, 2, 1)}}}})
	fresh := testNode(4)
	refused(t, s, command{Replace: &replace{Old: nodeID(1), New: fresh}}, ErrInvalid)
	fresh.Name = "a"
	refused(t, s, command{Replace: &replace{Old: nodeID(9), New: fresh}}, ErrUnknownNode)
	known := testNode(2)
	known.Name = "a"
	refused(t, s, command{Replace: &replace{Old: nodeID(1), New: known}}, ErrInvalid)
	s = done(t, s, command{Replace: &replace{Old: nodeID(1), New: fresh}})
	if s.Removed[nodeID(1)] != "a" || s.Nodes[nodeID(4)] != fresh || len(s.Nodes) != 3 {
		t.Errorf("replaced as %s", text(t, s))
	}
	for p, want := range []ring.Place{
		{Epoch: 1, Replicas: nodeIDs(1, 2, 3), Target: nodeIDs(4, 2, 3)},
		{Epoch: 1, Replicas: nodeIDs(2, 3, 1), Target: nodeIDs(2, 3, 4)},
		{Epoch: 1, Replicas: nodeIDs(3, 1, 2), Target: nodeIDs(3, 4, 2), Next: nodeIDs(3, 2, 4)},
		{Epoch: 1, Replicas: nodeIDs(1, 2, 3), Target: nodeIDs(2)},
	} {
		if !samePlace(s.Table.Places[p], want) {
			t.Errorf("partition %d is %+v, want %+v", p, s.Table.Places[p], want)
		}
	}
	idle(t, s, command{Replace: &replace{Old: nodeID(1), New: fresh}})
	third := testNode(5)
	third.Name = "a"
	refused(t, s, command{Replace: &replace{Old: nodeID(1), New: third}}, ErrStale)
	old := testNode(1)
	old.Name = "b"
	refused(t, s, command{Replace: &replace{Old: nodeID(2), New: old}}, ErrRemoved)
	refused(t, s, command{Join: &join{testNode(1)}}, ErrRemoved)
}

func TestReplaceOneDiskAtATime(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	first, second := testNode(4), testNode(5)
	first.Name, second.Name = "a", "b"
	s = done(t, s, command{Replace: &replace{Old: nodeID(1), New: first}})
	refused(t, s, command{Replace: &replace{Old: nodeID(2), New: second}}, ErrTooFew)
	var next, commits []change
	for p, place := range s.Table.Places {
		next = append(next, change{ring.Partition(p), 1, place.Target})
		commits = append(commits, change{ring.Partition(p), 1, place.Target})
	}
	s = done(t, s, command{SetNext: &setNext{next}})
	s = done(t, s, command{Commit: &commit{commits}})
	done(t, s, command{Replace: &replace{Old: nodeID(2), New: second}})
}

func TestMoveStepByStep(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	s = done(t, s, command{Join: &join{testNode(4)}})
	to := nodeIDs(4, 2, 3)
	one := func(epoch uint64, replicas []ring.NodeID) []change { return []change{{0, epoch, replicas}} }

	refused(t, s, command{SetTarget: &setTarget{one(2, to)}}, ErrStale)
	refused(t, s, command{SetTarget: &setTarget{one(1, nodeIDs(4, 2))}}, ErrInvalid)
	refused(t, s, command{SetTarget: &setTarget{one(1, nodeIDs(4, 2, 9))}}, ErrUnknownNode)
	refused(t, s, command{SetTarget: &setTarget{[]change{{9, 1, to}}}}, ErrInvalid)
	refused(t, s, command{SetTarget: &setTarget{append(one(1, to), one(1, to)...)}}, ErrInvalid)
	refused(t, s, command{SetTarget: &setTarget{append(one(1, to), change{1, 5, to})}}, ErrStale) // all or none
	s = done(t, s, command{SetTarget: &setTarget{one(1, to)}})
	idle(t, s, command{SetTarget: &setTarget{one(1, to)}})

	refused(t, s, command{Commit: &commit{one(1, to)}}, ErrStale) // there is no next
	refused(t, s, command{Commit: &commit{one(1, nil)}}, ErrStale)
	s = done(t, s, command{SetNext: &setNext{one(1, nodeIDs(4, 1, 3))}})
	s = done(t, s, command{SetNext: &setNext{one(1, nodeIDs(3, 4, 2))}})
	refused(t, s, command{Commit: &commit{one(1, nodeIDs(4, 1, 3))}}, ErrStale) // another next
	refused(t, s, command{Commit: &commit{one(2, nodeIDs(3, 4, 2))}}, ErrStale)
	s = done(t, s, command{Commit: &commit{one(1, nodeIDs(3, 4, 2))}})
	if want := (ring.Place{Epoch: 2, Replicas: to}); !samePlace(s.Table.Places[0], want) {
		t.Errorf("moved to %+v, want %+v", s.Table.Places[0], want)
	}
	refused(t, s, command{Commit: &commit{one(1, nodeIDs(3, 4, 2))}}, ErrStale) // a second time
	s = done(t, s, command{SetTarget: &setTarget{one(2, nodeIDs(2, 3, 4))}})    // a new order takes no move
	if want := (ring.Place{Epoch: 2, Replicas: nodeIDs(2, 3, 4)}); !samePlace(s.Table.Places[0], want) {
		t.Errorf("ordered as %+v, want %+v", s.Table.Places[0], want)
	}
}

func TestTargetOutlivesAMoveElsewhere(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	s = done(t, s, command{Join: &join{testNode(4)}})
	s = done(t, s, command{SetNext: &setNext{[]change{{0, 1, nodeIDs(4, 2, 3)}}}})
	// Back to where it still is: the move that is under way ends first.
	s = done(t, s, command{SetTarget: &setTarget{[]change{{0, 1, nodeIDs(1, 2, 3)}}}})
	s = done(t, s, command{Commit: &commit{[]change{{0, 1, nodeIDs(4, 2, 3)}}}})
	if want := (ring.Place{Epoch: 2, Replicas: nodeIDs(4, 2, 3), Target: nodeIDs(1, 2, 3)}); !samePlace(s.Table.Places[0], want) {
		t.Errorf("partition 0 is %+v, want %+v", s.Table.Places[0], want)
	}
	s = done(t, s, command{SetTarget: &setTarget{[]change{{0, 2, nil}}}})
	if s.Table.Places[0].Moving() {
		t.Errorf("the plan is not withdrawn: %+v", s.Table.Places[0])
	}
}

func TestDrainAndRemove(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	refused(t, s, command{Drain: &drain{ID: nodeID(1)}}, ErrTooFew) // two cannot keep three replicas
	refused(t, s, command{Drain: &drain{ID: nodeID(9)}}, ErrUnknownNode)
	done(t, s, command{Drain: &drain{ID: nodeID(1), Force: true}})
	s = done(t, s, command{Join: &join{testNode(4)}})
	s = done(t, s, command{Drain: &drain{ID: nodeID(1)}})
	idle(t, s, command{Drain: &drain{ID: nodeID(1)}})
	undrained := done(t, s, command{Undrain: &undrain{ID: nodeID(1)}})
	idle(t, undrained, command{Undrain: &undrain{ID: nodeID(1)}})
	refused(t, s, command{Remove: &remove{ID: nodeID(1)}}, ErrHasPlaces)
	s = done(t, s, command{Remove: &remove{ID: nodeID(4)}})
	idle(t, s, command{Remove: &remove{ID: nodeID(4)}})
	refused(t, s, command{Drain: &drain{ID: nodeID(4)}}, ErrRemoved)
	refused(t, s, command{Remove: &remove{ID: nodeID(8)}}, ErrUnknownNode)
	s = done(t, s, command{Remove: &remove{ID: nodeID(1), Force: true}})
	refused(t, s, command{Remove: &remove{ID: nodeID(2), Force: true}}, ErrTooFew)

	alone := done(t, &State{}, testFound(1))
	refused(t, alone, command{Remove: &remove{ID: nodeID(1), Force: true}}, ErrTooFew)
	refused(t, alone, command{Drain: &drain{ID: nodeID(1), Force: true}}, ErrTooFew)
}

func TestForcedRemoveWithdrawsPlansButNoMove(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	s = done(t, s, command{Join: &join{testNode(4)}})
	s = done(t, s, command{SetTarget: &setTarget{[]change{{0, 1, nodeIDs(4, 2, 3)}, {1, 1, nodeIDs(4, 2, 3)}}}})
	s = done(t, s, command{SetNext: &setNext{[]change{{1, 1, nodeIDs(4, 2, 3)}}}})
	refused(t, s, command{Remove: &remove{ID: nodeID(4)}}, ErrHasPlaces)
	s = done(t, s, command{Remove: &remove{ID: nodeID(4), Force: true}})
	if place := s.Table.Places[0]; place.Moving() {
		t.Errorf("partition 0 is still planned: %+v", place)
	}
	if place := s.Table.Places[1]; place.Target != nil || !slices.Equal(place.Next, nodeIDs(4, 2, 3)) {
		t.Errorf("partition 1 is %+v", place)
	}
	// Two of the three are still there, so the move may end; to one that is removed it may not.
	done(t, s, command{Commit: &commit{[]change{{1, 1, nodeIDs(4, 2, 3)}}}})
	s = done(t, s, command{Join: &join{testNode(5)}})
	s = done(t, s, command{SetNext: &setNext{[]change{{2, 1, nodeIDs(5)}}}})
	s = done(t, s, command{Remove: &remove{ID: nodeID(5), Force: true}})
	refused(t, s, command{Commit: &commit{[]change{{2, 1, nodeIDs(5)}}}}, ErrTooFew)
}

func TestLimitsByVersion(t *testing.T) {
	s := done(t, &State{}, testFound(1))
	set := func(base uint64, limits string) command {
		return command{SetLimits: &setLimits{base, Document(limits)}}
	}
	s = done(t, s, set(1, "two"))
	idle(t, s, set(1, "two")) // proposed again
	refused(t, s, set(1, "other"), ErrStale)
	refused(t, s, set(3, "other"), ErrStale)
	refused(t, s, set(0, "other"), ErrStale)
	s = done(t, s, set(2, "three"))
	if s.LimitsVersion != 3 || string(s.Limits) != "three" {
		t.Errorf("version %d is %q", s.LimitsVersion, s.Limits)
	}
	if _, err := (&setLimits{Limits: Document("\xff")}).apply(s); err == nil {
		t.Error("a document that is not UTF-8 is taken")
	}
}

func TestRecover(t *testing.T) {
	s := done(t, &State{}, testFound(3))
	lost := nodeIDs(2, 3)
	var places []change
	for p := range s.Table.Places {
		places = append(places, change{ring.Partition(p), 7, nodeIDs(1)})
	}
	refused(t, s, command{Recover: &recovery{Lost: lost}}, ErrTooFew)
	refused(t, s, command{Recover: &recovery{Lost: nodeIDs(1, 2, 3), Places: places}}, ErrTooFew)
	refused(t, s, command{Recover: &recovery{Lost: nodeIDs(2, 1), Places: places}}, ErrRemoved)
	refused(t, s, command{Recover: &recovery{Lost: nodeIDs(9)}}, ErrUnknownNode)
	refused(t, s, command{Recover: &recovery{Places: []change{{0, 1, nodeIDs(1)}}}}, ErrStale)
	// Two of three go on in the old epoch until they hear of the new one: unless they have ended, it must not begin.
	alive := &recovery{Lost: nodeIDs(3), Places: []change{{0, 7, nodeIDs(1, 2, 3)[:1]}}}
	refused(t, s, command{Recover: alive}, ErrStale)
	alive.Raft = true
	if s := done(t, s, command{Recover: alive}); !s.Table.Places[0].Floored || s.Version != ring.Recovered(1) {
		t.Errorf("with raft's majority lost: version %d, %+v", s.Version, s.Table.Places[0])
	}
	refused(t, s, command{Recover: &recovery{Places: []change{{9, 2, nodeIDs(1)}}}}, ErrInvalid)
	c := command{Recover: &recovery{Lost: lost, Places: places}}
	s = done(t, s, c)
	if want := (ring.Place{Epoch: 7, Replicas: nodeIDs(1), Floored: true}); !samePlace(s.Table.Places[2], want) {
		t.Errorf("recovered as %+v, want %+v", s.Table.Places[2], want)
	}
	idle(t, s, c)
	refused(t, s, command{Join: &join{testNode(2)}}, ErrRemoved)
	s = done(t, s, command{SetNext: &setNext{[]change{{2, 7, nodeIDs(1)}}}})
	s = done(t, s, command{Commit: &commit{[]change{{2, 7, nodeIDs(1)}}}})
	if s.Table.Places[2].Floored {
		t.Error("the next epoch is still called floored")
	}
}

func TestCommandHasOneKind(t *testing.T) {
	for _, bad := range []string{
		``, `{}`, `null`, `[]`, `{"drain":{"id":"00000000000000000000000000000001"},"undrain":{"id":"00000000000000000000000000000001"}}`,
		`{"fly":{}}`, `{"drain":{"ids":[]}}`, `{"drain":{"id":"1"}}`, `{"drain":{}}{}`, `{"mark":null}`,
		`{"set_next":{"changes":[{"partition":70000}]}}`,
	} {
		if c, err := decodeCommand([]byte(bad)); err == nil {
			t.Errorf("%s is read as %s", bad, text(t, c))
		}
	}
	if _, err := (&command{}).apply(&State{}); err == nil || !strings.Contains(err.Error(), "kinds") {
		t.Errorf("an empty command: %v", err)
	}
}

func FuzzDecodeCommand(f *testing.F) {
	for _, c := range []command{
		testFound(3),
		{Join: &join{testNode(4)}},
		{Replace: &replace{Old: nodeID(1), New: testNode(4)}},
		{Mark: &mark{ID: nodeID(1), Mark: Mark{2, 3}, Process: Unique{1}}},
		{Drain: &drain{ID: nodeID(1)}},
		{SetNext: &setNext{[]change{{0, 1, nodeIDs(1, 2, 3)}}}},
		{SetLimits: &setLimits{1, Document("limits: {}\n")}},
		{Recover: &recovery{Lost: nodeIDs(2, 3), Places: []change{{0, 2, nodeIDs(1)}}}},
	} {
		f.Add([]byte(text(f, c)))
	}
	founded := func() *State {
		c := testFound(3)
		s, err := c.apply(&State{})
		if err != nil {
			f.Fatal(err)
		}
		return s
	}()
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCommand(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatalf("%s cannot be written: %v", data, err)
		}
		for _, s := range []*State{{}, founded} {
			_, _ = step(t, s, c)
		}
	})
}
