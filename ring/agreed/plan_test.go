package agreed_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

// after applies commands, none of which may be refused.
func afterAll(t *testing.T, s *agreed.State, commands ...agreed.Command) *agreed.State {
	t.Helper()
	for _, c := range commands {
		next, err := c.Apply(s)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return s
}

func joining(b byte) agreed.Command {
	return agreed.Command{Join: &agreed.Join{Node: agreedtest.LetterNode(b)}}
}

func TestPlanned(t *testing.T) {
	three := agreedtest.Founded(t, "abc", 30, 3)
	four := afterAll(t, three, joining('d'))
	changes, err := agreed.Plan(four)
	if err != nil {
		t.Fatal(err)
	}
	withPlan := afterAll(t, four, agreed.Command{SetTarget: &agreed.SetTarget{Changes: changes}})

	t.Run("members that have their shares get no plan", func(t *testing.T) {
		for _, s := range []*agreed.State{three, withPlan} {
			if again, err := agreed.Plan(s); err != nil || len(again) > 0 {
				t.Errorf("planned for, and planned again: %v, %v", again, err)
			}
		}
	})
	t.Run("a node that joins gets its share of replicas, and little else moves", func(t *testing.T) {
		gained, lost := 0, 0
		for _, c := range changes {
			before := four.Table.Places[c.Partition].Replicas
			if slices.Equal(before, c.Replicas) {
				t.Errorf("partition %d gets what it has", c.Partition)
			}
			for _, id := range c.Replicas {
				if !slices.Contains(before, id) {
					gained++
					if id != agreedtest.Letter('d') {
						lost++
					}
				}
			}
		}
		if gained < 16 || gained > 28 || lost > 0 {
			t.Errorf("%d replicas move, %d of them not to the new node; its share would be 22", gained, lost)
		}
	})
	t.Run("a node that drains is in no plan", func(t *testing.T) {
		s := afterAll(t, withPlan, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.Letter('b')}})
		changes, err := agreed.Plan(s)
		if err != nil || len(changes) == 0 {
			t.Fatal(changes, err)
		}
		s = afterAll(t, s, agreed.Command{SetTarget: &agreed.SetTarget{Changes: changes}})
		for p := range s.Table.Places {
			if to := s.Table.Places[p].Planned(); slices.Contains(to, agreedtest.Letter('b')) || len(to) != 3 {
				t.Errorf("partition %d is to go to %s", p, agreedtest.Spell(to))
			}
		}
	})
	t.Run("all drain", func(t *testing.T) {
		s := afterAll(t, agreedtest.Founded(t, "ab", 4, 1), agreed.Command{Drain: &agreed.Drain{ID: agreedtest.Letter('a'), Force: true}})
		alone := s.Nodes[agreedtest.Letter('b')]
		s = s.WithDraining(alone, true)
		if changes, err := agreed.Plan(s); err != nil || changes != nil {
			t.Error(changes, err)
		}
	})
}

func TestRescued(t *testing.T) {
	deadOf := func(letters string, atLeast time.Duration) agreed.Dead {
		return func(id ring.NodeID, least time.Duration) bool {
			return slices.Contains(agreedtest.Letters(letters), id) && atLeast >= least
		}
	}
	base := agreedtest.Founded(t, "abcdefg", 1, 3)
	for _, c := range []struct {
		name           string
		replicas, next string
		dead           string
		atLeast        time.Duration
		rescue         string
	}{
		{"all are alive", "abc", "ade", "", 0, ""},
		{"a majority of next is alive", "abc", "ade", "e", time.Hour, ""},
		{"not for long", "abc", "ade", "de", agreed.RescueAfter - 1, ""},
		{"the old ones stand in", "abc", "ade", "de", agreed.RescueAfter, "abc"},
		{"too few old ones are alive", "abc", "ade", "bcde", time.Hour, ""},
		{"who is planned, when old ones are dead too", "abc", "ade", "cde", time.Hour, "abg"},
		{"one that is alone is enough for one", "a", "bcd", "bcd", time.Hour, "agf"},
		{"others, when those are dead too", "a", "bcd", "bcdg", time.Hour, "afe"},
		{"fewer replicas than none", "a", "bcd", "bcdefg", time.Hour, "a"},
		{"five of which three are dead", "abcde", "abcfg", "cfg", time.Hour, "abd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := base.DraftTable()
			plan := "gfb"
			s.Table.Places[0] = ring.Place{Epoch: 3, Replicas: agreedtest.Letters(c.replicas), Target: agreedtest.Letters(plan), Next: agreedtest.Letters(c.next)}
			changes := agreed.PlanRescues(s, deadOf(c.dead, c.atLeast))
			if c.rescue == "" {
				if len(changes) > 0 {
					t.Errorf("rescued by %s", agreedtest.Spell(changes[0].Replicas))
				}
				return
			}
			if len(changes) != 1 || changes[0].Epoch != 3 || agreedtest.Spell(changes[0].Replicas) != c.rescue {
				t.Fatalf("%v, not one by %s", changes, c.rescue)
			}
			next := afterAll(t, s, agreed.Command{SetNext: &agreed.SetNext{Changes: changes}})
			if again := agreed.PlanRescues(next, deadOf(c.dead, c.atLeast)); len(again) > 0 {
				t.Errorf("rescued again, by %s", agreedtest.Spell(again[0].Replicas))
			}
			if target := next.Table.Places[0].Target; agreedtest.Spell(target) != plan {
				t.Errorf("the plan has become %s", agreedtest.Spell(target))
			}
		})
	}
}

func TestRemoval(t *testing.T) {
	deadOf := func(letters string, atLeast time.Duration) agreed.Dead {
		return func(id ring.NodeID, least time.Duration) bool {
			return slices.Contains(agreedtest.Letters(letters), id) && atLeast >= least
		}
	}
	for _, c := range []struct {
		name     string
		nodes    string
		replicas int
		dead     string
		atLeast  time.Duration
		removed  string
	}{
		{"nobody is dead", "abcd", 3, "", 0, ""},
		{"not for long enough", "abcd", 3, "b", agreed.RemoveAfter - 1, ""},
		{"one of four", "abcd", 3, "b", agreed.RemoveAfter, "b"},
		{"one of three would leave two", "abc", 3, "b", time.Hour, ""},
		{"one of five, replicated five times", "abcde", 5, "b", time.Hour, ""},
		{"one of five, replicated three times", "abcde", 3, "b", time.Hour, "b"},
		{"two of four: some partition has one replica left", "abcd", 3, "bc", time.Hour, ""},
		{"one of two that has partitions nobody else has", "ab", 3, "b", time.Hour, ""},
		{"the only one", "a", 3, "a", time.Hour, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			node, found := agreed.PlanRemoval(agreedtest.Founded(t, c.nodes, 30, c.replicas), deadOf(c.dead, c.atLeast))
			if found != (c.removed != "") || node.Name != c.removed {
				t.Errorf("%q is removed, not %q", node.Name, c.removed)
			}
		})
	}
	t.Run("one without partitions", func(t *testing.T) {
		s := afterAll(t, agreedtest.Founded(t, "abc", 30, 3), joining('d'))
		if node, found := agreed.PlanRemoval(s, deadOf("d", time.Hour)); !found || node.Name != "d" {
			t.Error(node.Name, found)
		}
	})
}
