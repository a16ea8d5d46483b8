package agreed_test

import (
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/ring/level/leveltest"
)

// raise raises the level of a state, as all its members want it.
func raise(s *agreed.State, to int) agreed.Command {
	c := agreed.Raise{To: to, Processes: map[ring.NodeID]agreed.Unique{}}
	for id, n := range s.Nodes {
		c.Processes[id] = n.Process
	}
	return agreed.Command{Raise: &c}
}

func TestRaise(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	if s.AgreedLevel() != level.First || s.Level != 0 {
		t.Fatalf("it begins at level %d", s.Level)
	}
	refused(t, s, raise(s, 3), agreed.ErrStale)
	second := raise(s, 2)
	up := done(t, s, second)
	if up.AgreedLevel() != 2 || up.Version != s.Version+1 {
		t.Fatalf("it was raised to level %d, version %d", up.AgreedLevel(), up.Version)
	}
	idle(t, up, second) // as when its answer was lost
	refused(t, up, raise(up, 1), agreed.ErrStale)
	if up = done(t, up, raise(up, 3)); up.AgreedLevel() != 3 {
		t.Errorf("it was raised to level %d", up.AgreedLevel())
	}
}

// A member that was started, let in or removed since all were asked may be of an older release.
func TestRaiseIsForWhoWasAsked(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	asked := raise(s, 2)
	for what, c := range map[string]agreed.Command{
		"restarted": {Mark: &agreed.RaiseMark{ID: agreedtest.ID(2), Mark: agreed.Mark{Boot: 2, Minute: 100}, Process: agreed.Unique{99}}},
		"let in":    {Join: &agreed.Join{Node: agreedtest.Node(4)}},
		"removed":   {Remove: &agreed.Remove{ID: agreedtest.ID(3), Force: true}},
	} {
		t.Run(what, func(t *testing.T) { refused(t, done(t, s, c), asked, agreed.ErrStale) })
	}
}

// A process that the leader lets in by a level may not know the next one, which was agreed on in between.
func TestRaiseKeepsOutWhoWasLetInBefore(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(3))
	later := agreedtest.Node(3)
	later.ID = agreedtest.ID(4)
	raised := done(t, s, raise(s, 2))
	for what, c := range map[string]agreed.Command{
		"started":  {Mark: &agreed.RaiseMark{ID: agreedtest.ID(2), Mark: agreed.Mark{Boot: 2, Minute: 100}, Process: agreed.Unique{99}}},
		"let in":   {Join: &agreed.Join{Node: agreedtest.Node(4)}},
		"replaced": {Replace: &agreed.Replace{Old: agreedtest.ID(3), New: later}},
	} {
		t.Run(what, func(t *testing.T) {
			done(t, s, c)
			refused(t, raised, c, agreed.ErrStale)
			c.Level = 2
			done(t, raised, c)
			refused(t, done(t, raised, raise(raised, 3)), c, agreed.ErrStale)
		})
	}
}

// What a level has brought is not proposed below it.
func TestAllowed(t *testing.T) {
	founded := agreedtest.Found(3)
	founded.Found.Level = 2
	if err := founded.Allowed(&agreed.State{}); err != nil {
		t.Errorf("founding at level 2: %v", err)
	}
	low := done(t, &agreed.State{}, agreedtest.Found(3))
	if err := founded.Allowed(low); !errors.Is(err, agreed.ErrLevel) || !strings.Contains(err.Error(), "jeton cluster upgrade") {
		t.Errorf("a field of level 2 at level 1: %v", err)
	}
	drain := agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(1)}, By: by(1, "drain", "a")}
	raised := raise(low, 2)
	if err := errors.Join(drain.Allowed(low), raised.Allowed(low)); err != nil {
		t.Error(err)
	}
	if s := done(t, &agreed.State{}, founded); s.AgreedLevel() != 2 || founded.Allowed(s) != nil {
		t.Errorf("founded at level %d", s.AgreedLevel())
	}
}

var update = flag.Bool("update", false, "write the levels of fields anew; to be done for a new field only")

// Older nodes end at a command that has a field which they do not know, and lose such a field of a state.
func TestFieldsAndLevels(t *testing.T) {
	leveltest.Hold(t, "testdata/levels.txt", *update,
		leveltest.Written{Name: "command", Type: reflect.TypeFor[agreed.Command]()}, leveltest.Written{Name: "state", Type: reflect.TypeFor[agreed.State]()})
}
