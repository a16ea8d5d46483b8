package agreed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/level"
)

// step applies a command as raft does, by way of its JSON, and checks what holds for every command.
func step(t rapid.TB, s *agreed.State, c agreed.Command) (*agreed.State, error) {
	t.Helper()
	read, err := agreed.DecodeCommand([]byte(agreedtest.JSON(t, c)))
	if err != nil {
		t.Fatalf("%s: %v", agreedtest.JSON(t, c), err)
	}
	if agreedtest.JSON(t, read) != agreedtest.JSON(t, c) {
		t.Fatalf("%s was read as %s", agreedtest.JSON(t, c), agreedtest.JSON(t, read))
	}
	before := agreedtest.JSON(t, s)
	next, err := read.Apply(s)
	again, errAgain := c.Apply(s)
	if agreedtest.JSON(t, next) != agreedtest.JSON(t, again) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
		t.Fatalf("%s makes %s (%v) and %s (%v)", agreedtest.JSON(t, c), agreedtest.JSON(t, next), err, agreedtest.JSON(t, again), errAgain)
	}
	if after := agreedtest.JSON(t, s); before != after {
		t.Fatalf("%s has written into a state\nbefore %s\nafter  %s", agreedtest.JSON(t, c), before, after)
	}
	if err != nil {
		if next != s {
			t.Fatalf("%s is refused and changes the state: %v", agreedtest.JSON(t, c), err)
		}
		return s, err
	}
	version := s.Version + 1
	if c.Recover != nil && c.Recover.Raft {
		version = ring.Recovered(s.Version)
	}
	checkStep(t, s, next, version, agreedtest.JSON(t, c))
	if needed := level.Needed(next); needed > next.AgreedLevel() && c.Allowed(s) == nil {
		t.Fatalf("%s is allowed at level %d, and makes a state that takes level %d: %s", agreedtest.JSON(t, c), s.AgreedLevel(), needed, agreedtest.JSON(t, next))
	}
	var back agreed.State
	if err := json.Unmarshal([]byte(agreedtest.JSON(t, next)), &back); err != nil || agreedtest.JSON(t, &back) != agreedtest.JSON(t, next) {
		t.Fatalf("%s is read as %s (%v)", agreedtest.JSON(t, next), agreedtest.JSON(t, &back), err)
	}
	return next, nil
}

// checkStep checks a state and how it follows on another, with that version if it is another one.
func checkStep(t rapid.TB, old, next *agreed.State, version uint64, why string) {
	t.Helper()
	if next != old && (next.Version != version || agreedtest.JSON(t, next) == agreedtest.JSON(t, old)) {
		t.Fatalf("%s: version %d after %d\n%s\n%s", why, next.Version, old.Version, agreedtest.JSON(t, old), agreedtest.JSON(t, next))
	}
	names := map[string]bool{}
	for id, n := range next.Nodes {
		if _, gone := next.Removed[id]; gone || id != n.ID || names[n.Name] || n.Leaving {
			t.Fatalf("%s: node %+v is removed, twice there, or leaving", why, n)
		}
		names[n.Name] = true
		if n.Mark.Compare(old.Nodes[id].Mark) < 0 {
			t.Fatalf("%s: the mark of %s falls to %s", why, id, n.Mark)
		}
	}
	for id := range old.Removed {
		if _, gone := next.Removed[id]; !gone {
			t.Fatalf("%s: %s comes back", why, id)
		}
	}
	if next.Founded() != (len(next.Nodes) > 0) || next.LimitsVersion < old.LimitsVersion {
		t.Fatalf("%s: %s", why, agreedtest.JSON(t, next))
	}
	if !next.Founded() {
		return
	}
	for p, place := range next.Table.Places {
		for _, set := range [][]ring.NodeID{place.Replicas, place.Target, place.Next} {
			sorted := slices.SortedFunc(slices.Values(set), ring.NodeID.Compare)
			if len(slices.Compact(sorted)) != len(set) || len(set) > 0 && !agreed.ValidReplicas(len(set)) {
				t.Fatalf("%s: partition %d: %+v", why, p, place)
			}
		}
		if next.Present(place.Replicas) < ring.Enough(len(place.Replicas)) || next.Present(place.Target) < len(place.Target) {
			t.Fatalf("%s: too few know partition %d: %+v", why, p, place)
		}
		if len(place.Next) == 0 && agreed.SameSet(place.Target, place.Replicas) {
			t.Fatalf("%s: partition %d is where it is to be: %+v", why, p, place)
		}
		if old.Founded() {
			was := old.Table.Places[p]
			if place.Epoch < was.Epoch || place.Epoch == was.Epoch && !agreed.SameSet(place.Replicas, was.Replicas) {
				t.Fatalf("%s: partition %d: %+v after %+v", why, p, place, was)
			}
		}
	}
}

// Any sequence of commands keeps what step and checkStep check.
func TestCommandsKeepInvariants(t *testing.T) {
	took := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := &agreed.State{}
		for range rapid.IntRange(20, 80).Draw(t, "steps") {
			c := drawCommand(t, s)
			next, err := step(t, s, c)
			kind, _ := c.Kind()
			if err == nil && next != s {
				took[fmt.Sprintf("%T", kind)]++
			}
			s = next
		}
	})
	t.Log(took)
	if len(took) < 12 {
		t.Errorf("some kinds of commands never took effect: %v", took)
	}
}

// drawCommand draws a command of which a good part fits the state.
func drawCommand(t *rapid.T, s *agreed.State) agreed.Command {
	if !s.Founded() && rapid.IntRange(0, 9).Draw(t, "found") > 0 {
		return agreedtest.Found(rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "founders"))
	}
	id := agreedtest.ID(rapid.IntRange(0, 8).Draw(t, "node"))
	node := agreedtest.Node(rapid.IntRange(1, 8).Draw(t, "joiner"))
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		return agreedtest.Found(3)
	case 1:
		node.Name = rapid.SampledFrom([]string{node.Name, node.Name, node.Name, "a"}).Draw(t, "name")
		node.Zone = rapid.SampledFrom([]string{node.Zone, "elsewhere"}).Draw(t, "zone")
		return agreed.Command{Join: &agreed.Join{node}}
	case 2:
		node.Name = rapid.SampledFrom([]string{s.Nodes[id].Name, s.Nodes[id].Name, node.Name}).Draw(t, "name")
		return agreed.Command{Replace: &agreed.Replace{Old: id, New: node}}
	case 3:
		return agreed.Command{Mark: &agreed.RaiseMark{
			ID:      id,
			Mark:    agreed.Mark{rapid.Uint64Range(0, 3).Draw(t, "boot"), rapid.Int64Range(99, 103).Draw(t, "minute")},
			Process: agreed.Unique{byte(rapid.IntRange(1, 8).Draw(t, "process"))},
		}}
	case 4:
		return agreed.Command{Drain: &agreed.Drain{ID: id, Force: rapid.Bool().Draw(t, "force")}}
	case 5:
		for _, i := range slices.SortedFunc(maps.Keys(s.Nodes), ring.NodeID.Compare) {
			if s.Nodes[i].Draining {
				id = i
			}
		}
		return agreed.Command{Undrain: &agreed.Undrain{ID: id}}
	case 6:
		return agreed.Command{Remove: &agreed.Remove{ID: id, Force: rapid.Bool().Draw(t, "force")}}
	case 7:
		return agreed.Command{SetLimits: &agreed.SetLimits{
			Base:    rapid.Uint64Range(0, 3).Draw(t, "base"),
			Limits:  agreed.Document(rapid.SampledFrom([]string{"", "x", "limits: {}\n"}).Draw(t, "limits")),
			Shorter: map[string]int64{"x": rapid.Int64Range(1, 9).Draw(t, "lead")}, At: rapid.Int64Range(1, 2*agreed.Heard).Draw(t, "at"),
		}}
	case 8:
		return agreed.Command{SetTarget: &agreed.SetTarget{drawChanges(t, s, 0)}}
	case 9:
		return agreed.Command{SetNext: &agreed.SetNext{drawChanges(t, s, 0)}}
	case 10:
		return drawCommit(t, s)
	}
	lost := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ring.NodeID {
		return agreedtest.ID(rapid.IntRange(1, 8).Draw(t, "lost"))
	}), 0, 2, rapid.ID).Draw(t, "lost")
	return agreed.Command{Recover: &agreed.Recover{Lost: lost, Places: drawChanges(t, s, 1)}}
}

// drawCommit draws the end of a move that is under way, if there is one, and nonsense now and then.
func drawCommit(t *rapid.T, s *agreed.State) agreed.Command {
	if s.Founded() && rapid.IntRange(0, 4).Draw(t, "fits") > 0 {
		for p, place := range s.Table.Places {
			if len(place.Next) > 0 {
				return agreed.Command{Commit: &agreed.Commit{[]agreed.Change{{ring.Partition(p), place.Epoch, place.Next}}}}
			}
		}
	}
	return agreed.Command{Commit: &agreed.Commit{drawChanges(t, s, 0)}}
}

// drawChanges draws changes of places, their epochs mostly that far above the present ones.
func drawChanges(t *rapid.T, s *agreed.State, above uint64) []agreed.Change {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) agreed.Change {
		c := agreed.Change{Partition: ring.Partition(rapid.IntRange(0, 9).Draw(t, "partition") % 5)}
		if s.Founded() && int(c.Partition) < len(s.Table.Places) {
			c.Epoch = s.Table.Places[c.Partition].Epoch + above
		}
		c.Epoch += uint64(rapid.IntRange(0, 9).Draw(t, "epoch") / 9)
		ids := rapid.Permutation(slices.SortedFunc(maps.Keys(s.Nodes), ring.NodeID.Compare)).Draw(t, "members")
		if len(ids) > 0 {
			c.Replicas = ids[:min(len(ids), rapid.SampledFrom([]int{0, 1, 3, 3, 3, 5, 2}).Draw(t, "size"))]
		}
		if rapid.IntRange(0, 19).Draw(t, "stranger") == 0 && len(c.Replicas) > 0 {
			c.Replicas = append(slices.Clone(c.Replicas[1:]), agreedtest.ID(rapid.IntRange(1, 9).Draw(t, "id")))
		}
		return c
	}), 0, 2).Draw(t, "changes")
}

func TestMarkCompare(t *testing.T) {
	marks := []agreed.Mark{{0, 5}, {1, -3}, {1, 0}, {1, 7}, {2, 0}}
	for i, a := range marks {
		for j, b := range marks {
			want := min(max(i-j, -1), 1)
			if got := a.Compare(b); got != want {
				t.Errorf("%s compared with %s is %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestMembersAreTheNodesThatDoNotDrain(t *testing.T) {
	s, err := step(t, &agreed.State{}, agreedtest.Found(5))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = step(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(2)}}); err != nil {
		t.Fatal(err)
	}
	want := []ring.Member{{ID: agreedtest.ID(1), Zone: "za"}, {ID: agreedtest.ID(3), Zone: "zc"}, {ID: agreedtest.ID(4), Zone: "zd"}, {ID: agreedtest.ID(5), Zone: "ze"}}
	if got := s.Members(); !slices.Equal(got, want) {
		t.Errorf("members are %v, want %v", got, want)
	}
	if n, ok := s.Named("b"); !ok || n.ID != agreedtest.ID(2) {
		t.Errorf("b is %v (%v)", n, ok)
	}
	if _, ok := s.Named("x"); ok {
		t.Error("there is an x")
	}
}

func TestUniqueIsHexadecimal(t *testing.T) {
	var u agreed.Unique
	for _, bad := range []string{"", "00", "zz000000000000000000000000000000", "000000000000000000000000000000000"} {
		if err := u.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	if err := u.UnmarshalText([]byte("0102030405060708090a0b0c0d0e0f10")); err != nil || u[15] != 16 {
		t.Errorf("read %s (%v)", u, err)
	}
}

// refused checks that a command is refused for a reason.
func refused(t *testing.T, s *agreed.State, c agreed.Command, want error) {
	t.Helper()
	if _, err := step(t, s, c); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", agreedtest.JSON(t, c), err, want)
	}
}

// done applies a command that has to take effect.
func done(t *testing.T, s *agreed.State, c agreed.Command) *agreed.State {
	t.Helper()
	next, err := step(t, s, c)
	if err != nil || next == s {
		t.Fatalf("%s has no effect: %v", agreedtest.JSON(t, c), err)
	}
	return next
}

// idle applies a command that has nothing to do.
func idle(t *testing.T, s *agreed.State, c agreed.Command) {
	t.Helper()
	if next, err := step(t, s, c); err != nil || next != s {
		t.Errorf("%s has an effect: %v", agreedtest.JSON(t, c), err)
	}
}
