package agreed_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

func TestFoundOnce(t *testing.T) {
	s := &agreed.State{}
	refused(t, s, agreed.Command{Undrain: &agreed.Undrain{ID: agreedtest.ID(1)}}, agreed.ErrNotFounded)
	s = done(t, s, agreedtest.Found(3))
	if s.Version != 1 || s.LimitsVersion != 1 || string(s.Limits) != "limits: {}\n" || len(s.Table.Places) != 4 || s.Table.Places[3].Epoch != ring.FirstEpoch {
		t.Errorf("founded as %s", agreedtest.JSON(t, s))
	}
	idle(t, s, agreedtest.Found(3))
	other := agreedtest.Found(3)
	other.Found.Cluster = agreed.Unique{8}
	refused(t, s, other, agreed.ErrFounded)
}

func TestFoundRefusesNonsense(t *testing.T) {
	for name, spoil := range map[string]func(*agreed.Found){
		"no name":              func(f *agreed.Found) { f.Cluster = agreed.Unique{} },
		"no partitions":        func(f *agreed.Found) { f.Partitions, f.Table = 0, nil },
		"too many partitions":  func(f *agreed.Found) { f.Partitions = 1<<16 + 1 },
		"a place too few":      func(f *agreed.Found) { f.Table = f.Table[1:] },
		"two replicas wanted":  func(f *agreed.Found) { f.Replicas = 2 },
		"two replicas":         func(f *agreed.Found) { f.Table[1] = f.Table[1][:2] },
		"a replica twice":      func(f *agreed.Found) { f.Table[1] = agreedtest.IDs(1, 2, 1) },
		"a node twice":         func(f *agreed.Found) { f.Nodes[1] = f.Nodes[0] },
		"a node without id":    func(f *agreed.Found) { f.Nodes[1].ID = ring.NodeID{} },
		"a node without name":  func(f *agreed.Found) { f.Nodes[1].Name = "" },
		"a node without raft":  func(f *agreed.Found) { f.Nodes[1].Raft = "" },
		"no nodes":             func(f *agreed.Found) { f.Nodes = nil },
		"limits are not UTF-8": func(f *agreed.Found) { f.Limits = agreed.Document("\xff") },
	} {
		c := agreedtest.Found(3)
		spoil(c.Found)
		// Not by way of JSON, which repairs what is not UTF-8.
		if next, err := c.Apply(&agreed.State{}); err == nil || next.Founded() {
			t.Errorf("%s: founded", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	c := agreedtest.Found(3)
	c.Found.Nodes[2].Name = "a"
	refused(t, &agreed.State{}, c, agreed.ErrNameTaken)
	c = agreedtest.Found(3)
	c.Found.Table[2] = agreedtest.IDs(9)
	refused(t, &agreed.State{}, c, agreed.ErrUnknownNode)
}

func TestJoin(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	s = done(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(2)}})
	if got := s.Nodes[agreedtest.ID(2)]; got != agreedtest.Node(2) {
		t.Errorf("joined as %+v", got)
	}
	idle(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(2)}})

	moved := agreedtest.Node(2)
	moved.Raft, moved.Mark, moved.Process = "elsewhere:7703", agreed.Mark{9, 9}, agreed.Unique{9}
	s = done(t, s, agreed.Command{Join: &agreed.Join{moved}})
	if got := s.Nodes[agreedtest.ID(2)]; got.Raft != moved.Raft || got.Mark != agreedtest.Node(2).Mark || got.Process != agreedtest.Node(2).Process {
		t.Errorf("moved as %+v", got)
	}
	taken := agreedtest.Node(3)
	taken.Name = "b"
	refused(t, s, agreed.Command{Join: &agreed.Join{taken}}, agreed.ErrNameTaken)
	refused(t, s, agreed.Command{Join: &agreed.Join{agreed.Node{ID: agreedtest.ID(3), Raft: "x:1"}}}, agreed.ErrInvalid)
	s = done(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(2)}})
	refused(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(2)}}, agreed.ErrRemoved)
	done(t, s, agreed.Command{Join: &agreed.Join{taken}}) // the name is free
}

func TestMarksRise(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	raise := func(boot uint64, minute int64, process byte) agreed.Command {
		return agreed.Command{Mark: &agreed.RaiseMark{ID: agreedtest.ID(1), Mark: agreed.Mark{boot, minute}, Process: agreed.Unique{process}}}
	}
	idle(t, s, raise(1, 100, 1))
	s = done(t, s, raise(1, 101, 1))
	refused(t, s, raise(1, 100, 1), agreed.ErrMarkNotHigher)
	refused(t, s, raise(1, 101, 2), agreed.ErrMarkNotHigher) // two processes on copies of one disk
	refused(t, s, raise(1, 102, 2), agreed.ErrMarkNotHigher)
	s = done(t, s, raise(2, 50, 2)) // a clock may go back over a restart
	refused(t, s, raise(1, 200, 1), agreed.ErrMarkNotHigher)
	s = done(t, s, raise(2, 51, 2))
	refused(t, s, agreed.Command{Mark: &agreed.RaiseMark{ID: agreedtest.ID(9), Mark: agreed.Mark{5, 5}}}, agreed.ErrUnknownNode)
	s = done(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(1), Force: true}})
	refused(t, s, raise(3, 0, 1), agreed.ErrRemoved)
}

func TestReplaceTakesNameAndPlaces(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	s = done(t, s, agreed.Command{SetTarget: &agreed.SetTarget{[]agreed.Change{{3, 1, agreedtest.IDs(2)}}}})
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{[]agreed.Change{{2, 1, agreedtest.IDs(3, 2, 1)}}}})
	fresh := agreedtest.Node(4)
	refused(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: fresh}}, agreed.ErrInvalid)
	fresh.Name = "a"
	refused(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(9), New: fresh}}, agreed.ErrUnknownNode)
	known := agreedtest.Node(2)
	known.Name = "a"
	refused(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: known}}, agreed.ErrInvalid)
	s = done(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: fresh}})
	if s.Removed[agreedtest.ID(1)] != "a" || s.Nodes[agreedtest.ID(4)] != fresh || len(s.Nodes) != 3 {
		t.Errorf("replaced as %s", agreedtest.JSON(t, s))
	}
	for p, want := range []ring.Place{
		{Epoch: 1, Replicas: agreedtest.IDs(1, 2, 3), Target: agreedtest.IDs(4, 2, 3)},
		{Epoch: 1, Replicas: agreedtest.IDs(2, 3, 1), Target: agreedtest.IDs(2, 3, 4)},
		{Epoch: 1, Replicas: agreedtest.IDs(3, 1, 2), Target: agreedtest.IDs(3, 4, 2), Next: agreedtest.IDs(3, 2, 4)},
		{Epoch: 1, Replicas: agreedtest.IDs(1, 2, 3), Target: agreedtest.IDs(2)},
	} {
		if !agreed.SamePlace(s.Table.Places[p], want) {
			t.Errorf("partition %d is %+v, want %+v", p, s.Table.Places[p], want)
		}
	}
	idle(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: fresh}})
	third := agreedtest.Node(5)
	third.Name = "a"
	refused(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: third}}, agreed.ErrStale)
	old := agreedtest.Node(1)
	old.Name = "b"
	refused(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(2), New: old}}, agreed.ErrRemoved)
	refused(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(1)}}, agreed.ErrRemoved)
}

func TestReplaceOneDiskAtATime(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	first, second := agreedtest.Node(4), agreedtest.Node(5)
	first.Name, second.Name = "a", "b"
	s = done(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: first}})
	refused(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(2), New: second}}, agreed.ErrTooFew)
	var next, commits []agreed.Change
	for p, place := range s.Table.Places {
		next = append(next, agreed.Change{ring.Partition(p), 1, place.Target})
		commits = append(commits, agreed.Change{ring.Partition(p), 1, place.Target})
	}
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{next}})
	s = done(t, s, agreed.Command{Commit: &agreed.Commit{commits}})
	done(t, s, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(2), New: second}})
}

func TestMoveStepByStep(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	s = done(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(4)}})
	to := agreedtest.IDs(4, 2, 3)
	one := func(epoch uint64, replicas []ring.NodeID) []agreed.Change {
		return []agreed.Change{{0, epoch, replicas}}
	}

	refused(t, s, agreed.Command{SetTarget: &agreed.SetTarget{one(2, to)}}, agreed.ErrStale)
	refused(t, s, agreed.Command{SetTarget: &agreed.SetTarget{one(1, agreedtest.IDs(4, 2))}}, agreed.ErrInvalid)
	refused(t, s, agreed.Command{SetTarget: &agreed.SetTarget{one(1, agreedtest.IDs(4, 2, 9))}}, agreed.ErrUnknownNode)
	refused(t, s, agreed.Command{SetTarget: &agreed.SetTarget{[]agreed.Change{{9, 1, to}}}}, agreed.ErrInvalid)
	refused(t, s, agreed.Command{SetTarget: &agreed.SetTarget{append(one(1, to), one(1, to)...)}}, agreed.ErrInvalid)
	refused(t, s, agreed.Command{SetTarget: &agreed.SetTarget{append(one(1, to), agreed.Change{1, 5, to})}}, agreed.ErrStale) // all or none
	s = done(t, s, agreed.Command{SetTarget: &agreed.SetTarget{one(1, to)}})
	idle(t, s, agreed.Command{SetTarget: &agreed.SetTarget{one(1, to)}})

	refused(t, s, agreed.Command{Commit: &agreed.Commit{one(1, to)}}, agreed.ErrStale) // there is no next
	refused(t, s, agreed.Command{Commit: &agreed.Commit{one(1, nil)}}, agreed.ErrStale)
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{one(1, agreedtest.IDs(4, 1, 3))}})
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{one(1, agreedtest.IDs(3, 4, 2))}})
	refused(t, s, agreed.Command{Commit: &agreed.Commit{one(1, agreedtest.IDs(4, 1, 3))}}, agreed.ErrStale) // another next
	refused(t, s, agreed.Command{Commit: &agreed.Commit{one(2, agreedtest.IDs(3, 4, 2))}}, agreed.ErrStale)
	s = done(t, s, agreed.Command{Commit: &agreed.Commit{one(1, agreedtest.IDs(3, 4, 2))}})
	if want := (ring.Place{Epoch: 2, Replicas: to}); !agreed.SamePlace(s.Table.Places[0], want) {
		t.Errorf("moved to %+v, want %+v", s.Table.Places[0], want)
	}
	refused(t, s, agreed.Command{Commit: &agreed.Commit{one(1, agreedtest.IDs(3, 4, 2))}}, agreed.ErrStale) // a second time
	s = done(t, s, agreed.Command{SetTarget: &agreed.SetTarget{one(2, agreedtest.IDs(2, 3, 4))}})           // a new order takes no move
	if want := (ring.Place{Epoch: 2, Replicas: agreedtest.IDs(2, 3, 4)}); !agreed.SamePlace(s.Table.Places[0], want) {
		t.Errorf("ordered as %+v, want %+v", s.Table.Places[0], want)
	}
}

func TestTargetOutlivesAMoveElsewhere(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	s = done(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(4)}})
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{[]agreed.Change{{0, 1, agreedtest.IDs(4, 2, 3)}}}})
	// Back to where it still is: the move that is under way ends first.
	s = done(t, s, agreed.Command{SetTarget: &agreed.SetTarget{[]agreed.Change{{0, 1, agreedtest.IDs(1, 2, 3)}}}})
	s = done(t, s, agreed.Command{Commit: &agreed.Commit{[]agreed.Change{{0, 1, agreedtest.IDs(4, 2, 3)}}}})
	if want := (ring.Place{Epoch: 2, Replicas: agreedtest.IDs(4, 2, 3), Target: agreedtest.IDs(1, 2, 3)}); !agreed.SamePlace(s.Table.Places[0], want) {
		t.Errorf("partition 0 is %+v, want %+v", s.Table.Places[0], want)
	}
	s = done(t, s, agreed.Command{SetTarget: &agreed.SetTarget{[]agreed.Change{{0, 2, nil}}}})
	if s.Table.Places[0].Moving() {
		t.Errorf("the plan is not withdrawn: %+v", s.Table.Places[0])
	}
}

func TestDrainAndRemove(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	refused(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(1)}}, agreed.ErrTooFew) // two cannot keep three replicas
	refused(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(9)}}, agreed.ErrUnknownNode)
	done(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(1), Force: true}})
	s = done(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(4)}})
	s = done(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(1)}})
	idle(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(1)}})
	undrained := done(t, s, agreed.Command{Undrain: &agreed.Undrain{ID: agreedtest.ID(1)}})
	idle(t, undrained, agreed.Command{Undrain: &agreed.Undrain{ID: agreedtest.ID(1)}})
	refused(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(1)}}, agreed.ErrHasPlaces)
	s = done(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(4)}})
	idle(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(4)}})
	refused(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(4)}}, agreed.ErrRemoved)
	refused(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(8)}}, agreed.ErrUnknownNode)
	s = done(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(1), Force: true}})
	refused(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(2), Force: true}}, agreed.ErrTooFew)

	alone := done(t, &agreed.State{}, agreedtest.Found(1))
	refused(t, alone, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(1), Force: true}}, agreed.ErrTooFew)
	refused(t, alone, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(1), Force: true}}, agreed.ErrTooFew)
}

func TestForcedRemoveWithdrawsPlansButNoMove(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	s = done(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(4)}})
	s = done(t, s, agreed.Command{SetTarget: &agreed.SetTarget{[]agreed.Change{{0, 1, agreedtest.IDs(4, 2, 3)}, {1, 1, agreedtest.IDs(4, 2, 3)}}}})
	if n := s.Kept(agreedtest.ID(4)); n != 2 {
		t.Errorf("a node that two partitions are planned for keeps %d", n)
	}
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{[]agreed.Change{{1, 1, agreedtest.IDs(4, 2, 3)}}}})
	refused(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(4)}}, agreed.ErrHasPlaces)
	s = done(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(4), Force: true}})
	if place := s.Table.Places[0]; place.Moving() {
		t.Errorf("partition 0 is still planned: %+v", place)
	}
	if place := s.Table.Places[1]; place.Target != nil || !slices.Equal(place.Next, agreedtest.IDs(4, 2, 3)) {
		t.Errorf("partition 1 is %+v", place)
	}
	// Two of the three are still there, so the move may end; to one that is removed it may not.
	done(t, s, agreed.Command{Commit: &agreed.Commit{[]agreed.Change{{1, 1, agreedtest.IDs(4, 2, 3)}}}})
	s = done(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(5)}})
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{[]agreed.Change{{2, 1, agreedtest.IDs(5)}}}})
	s = done(t, s, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(5), Force: true}})
	refused(t, s, agreed.Command{Commit: &agreed.Commit{[]agreed.Change{{2, 1, agreedtest.IDs(5)}}}}, agreed.ErrTooFew)
}

func TestLimitsByVersion(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	set := func(base uint64, limits string) agreed.Command {
		return agreed.Command{SetLimits: &agreed.SetLimits{Base: base, Limits: agreed.Document(limits)}}
	}
	s = done(t, s, set(1, "two"))
	idle(t, s, set(1, "two")) // proposed again
	refused(t, s, set(1, "other"), agreed.ErrStale)
	refused(t, s, set(3, "other"), agreed.ErrStale)
	refused(t, s, set(0, "other"), agreed.ErrStale)
	s = done(t, s, set(2, "three"))
	if s.LimitsVersion != 3 || string(s.Limits) != "three" {
		t.Errorf("version %d is %q", s.LimitsVersion, s.Limits)
	}
	if _, err := (&agreed.SetLimits{Limits: agreed.Document("\xff")}).Apply(s); err == nil {
		t.Error("a document that is not UTF-8 is taken")
	}
}

func TestRecover(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	lost := agreedtest.IDs(2, 3)
	var places []agreed.Change
	for p := range s.Table.Places {
		places = append(places, agreed.Change{ring.Partition(p), 7, agreedtest.IDs(1)})
	}
	refused(t, s, agreed.Command{Recover: &agreed.Recover{Lost: lost}}, agreed.ErrTooFew)
	refused(t, s, agreed.Command{Recover: &agreed.Recover{Lost: agreedtest.IDs(1, 2, 3), Places: places}}, agreed.ErrTooFew)
	refused(t, s, agreed.Command{Recover: &agreed.Recover{Lost: agreedtest.IDs(2, 1), Places: places}}, agreed.ErrRemoved)
	refused(t, s, agreed.Command{Recover: &agreed.Recover{Lost: agreedtest.IDs(9)}}, agreed.ErrUnknownNode)
	refused(t, s, agreed.Command{Recover: &agreed.Recover{Places: []agreed.Change{{0, 1, agreedtest.IDs(1)}}}}, agreed.ErrStale)
	// Two of three go on in the old epoch until they hear of the new one: unless they have ended, it must not begin.
	alive := &agreed.Recover{Lost: agreedtest.IDs(3), Places: []agreed.Change{{0, 7, agreedtest.IDs(1, 2, 3)[:1]}}}
	refused(t, s, agreed.Command{Recover: alive}, agreed.ErrStale)
	alive.Raft = true
	if s := done(t, s, agreed.Command{Recover: alive}); !s.Table.Places[0].Floored || s.Version != ring.Recovered(1) {
		t.Errorf("with raft's majority lost: version %d, %+v", s.Version, s.Table.Places[0])
	}
	refused(t, s, agreed.Command{Recover: &agreed.Recover{Places: []agreed.Change{{9, 2, agreedtest.IDs(1)}}}}, agreed.ErrInvalid)
	c := agreed.Command{Recover: &agreed.Recover{Lost: lost, Places: places}}
	s = done(t, s, c)
	if want := (ring.Place{Epoch: 7, Replicas: agreedtest.IDs(1), Floored: true}); !agreed.SamePlace(s.Table.Places[2], want) {
		t.Errorf("recovered as %+v, want %+v", s.Table.Places[2], want)
	}
	idle(t, s, c)
	refused(t, s, agreed.Command{Join: &agreed.Join{agreedtest.Node(2)}}, agreed.ErrRemoved)
	s = done(t, s, agreed.Command{SetNext: &agreed.SetNext{[]agreed.Change{{2, 7, agreedtest.IDs(1)}}}})
	s = done(t, s, agreed.Command{Commit: &agreed.Commit{[]agreed.Change{{2, 7, agreedtest.IDs(1)}}}})
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
		if c, err := agreed.DecodeCommand([]byte(bad)); err == nil {
			t.Errorf("%s is read as %s", bad, agreedtest.JSON(t, c))
		}
	}
	if _, err := (&agreed.Command{}).Apply(&agreed.State{}); err == nil || !strings.Contains(err.Error(), "kinds") {
		t.Errorf("an empty command: %v", err)
	}
}

func FuzzDecodeCommand(f *testing.F) {
	for _, c := range []agreed.Command{
		agreedtest.Found(3),
		{Join: &agreed.Join{agreedtest.Node(4)}},
		{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: agreedtest.Node(4)}},
		{Mark: &agreed.RaiseMark{ID: agreedtest.ID(1), Mark: agreed.Mark{2, 3}, Process: agreed.Unique{1}}},
		{Drain: &agreed.Drain{ID: agreedtest.ID(1)}},
		{SetNext: &agreed.SetNext{[]agreed.Change{{0, 1, agreedtest.IDs(1, 2, 3)}}}},
		{SetLimits: &agreed.SetLimits{Base: 1, Limits: agreed.Document("limits: {}\n")}},
		{Recover: &agreed.Recover{Lost: agreedtest.IDs(2, 3), Places: []agreed.Change{{0, 2, agreedtest.IDs(1)}}}},
		{SetOverride: &agreed.SetOverride{agreed.Override{Limit: "login", Key: "org:*", Says: "deny", Until: 9, At: 1}}, By: by(1, "set override", "login org:*")},
		{UnsetOverride: &agreed.UnsetOverride{"login", "org:*", 5}},
		{Note: &agreed.Note{Entries: []agreed.Entry{*by(4, "fill", "login user:1")}}},
		{Drain: &agreed.Drain{ID: agreedtest.ID(1), Force: true}, By: by(5, "drain", "a")},
	} {
		f.Add([]byte(agreedtest.JSON(f, c)))
	}
	founded := func() *agreed.State {
		c := agreedtest.Found(3)
		s, err := c.Apply(&agreed.State{})
		if err != nil {
			f.Fatal(err)
		}
		return s
	}()
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := agreed.DecodeCommand(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatalf("%s cannot be written: %v", data, err)
		}
		for _, s := range []*agreed.State{{}, founded} {
			_, _ = step(t, s, c)
		}
	})
}
