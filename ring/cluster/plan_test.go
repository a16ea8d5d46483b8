package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

// after applies commands, none of which may be refused.
func afterAll(t *testing.T, s *State, commands ...command) *State {
	t.Helper()
	for _, c := range commands {
		next, err := c.apply(s)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return s
}

func joining(b byte) command { return command{Join: &join{Node: lettered(b)}} }

func TestPlanned(t *testing.T) {
	three := foundedBy(t, "abc", 30, 3)
	four := afterAll(t, three, joining('d'))
	changes, err := planned(four)
	if err != nil {
		t.Fatal(err)
	}
	withPlan := afterAll(t, four, command{SetTarget: &setTarget{Changes: changes}})

	t.Run("members that have their shares get no plan", func(t *testing.T) {
		for _, s := range []*State{three, withPlan} {
			if again, err := planned(s); err != nil || len(again) > 0 {
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
					if id != letter('d') {
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
		s := afterAll(t, withPlan, command{Drain: &drain{ID: letter('b')}})
		changes, err := planned(s)
		if err != nil || len(changes) == 0 {
			t.Fatal(changes, err)
		}
		s = afterAll(t, s, command{SetTarget: &setTarget{Changes: changes}})
		for p := range s.Table.Places {
			if to := s.Table.Places[p].Planned(); slices.Contains(to, letter('b')) || len(to) != 3 {
				t.Errorf("partition %d is to go to %s", p, spell(to))
			}
		}
	})
	t.Run("all drain", func(t *testing.T) {
		s := afterAll(t, foundedBy(t, "ab", 4, 1), command{Drain: &drain{ID: letter('a'), Force: true}})
		alone := s.Nodes[letter('b')]
		s = s.withDraining(alone, true)
		if changes, err := planned(s); err != nil || changes != nil {
			t.Error(changes, err)
		}
	})
}

func TestRescued(t *testing.T) {
	deadOf := func(letters string, lasting time.Duration) dead {
		return func(id ring.NodeID, least time.Duration) bool {
			return slices.Contains(lettersOf(letters), id) && lasting >= least
		}
	}
	base := foundedBy(t, "abcdefg", 1, 3)
	for _, c := range []struct {
		name           string
		replicas, next string
		dead           string
		lasting        time.Duration
		rescue         string
	}{
		{"all are alive", "abc", "ade", "", 0, ""},
		{"a majority of next is alive", "abc", "ade", "e", time.Hour, ""},
		{"not for long", "abc", "ade", "de", rescueAfter - 1, ""},
		{"the old ones stand in", "abc", "ade", "de", rescueAfter, "abc"},
		{"too few old ones are alive", "abc", "ade", "bcde", time.Hour, ""},
		{"who is planned, when old ones are dead too", "abc", "ade", "cde", time.Hour, "abg"},
		{"one that is alone is enough for one", "a", "bcd", "bcd", time.Hour, "agf"},
		{"others, when those are dead too", "a", "bcd", "bcdg", time.Hour, "afe"},
		{"fewer replicas than none", "a", "bcd", "bcdefg", time.Hour, "a"},
		{"five of which three are dead", "abcde", "abcfg", "cfg", time.Hour, "abd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := base.draftTable()
			plan := "gfb"
			s.Table.Places[0] = ring.Place{Epoch: 3, Replicas: lettersOf(c.replicas), Target: lettersOf(plan), Next: lettersOf(c.next)}
			changes := rescued(s, deadOf(c.dead, c.lasting))
			if c.rescue == "" {
				if len(changes) > 0 {
					t.Errorf("rescued by %s", spell(changes[0].Replicas))
				}
				return
			}
			if len(changes) != 1 || changes[0].Epoch != 3 || spell(changes[0].Replicas) != c.rescue {
				t.Fatalf("%v, not one by %s", changes, c.rescue)
			}
			next := afterAll(t, s, command{SetNext: &setNext{Changes: changes}})
			if again := rescued(next, deadOf(c.dead, c.lasting)); len(again) > 0 {
				t.Errorf("rescued again, by %s", spell(again[0].Replicas))
			}
			if target := next.Table.Places[0].Target; spell(target) != plan {
				t.Errorf("the plan has become %s", spell(target))
			}
		})
	}
}

func TestRemoval(t *testing.T) {
	deadOf := func(letters string, lasting time.Duration) dead {
		return func(id ring.NodeID, least time.Duration) bool {
			return slices.Contains(lettersOf(letters), id) && lasting >= least
		}
	}
	for _, c := range []struct {
		name     string
		nodes    string
		replicas int
		dead     string
		lasting  time.Duration
		removed  string
	}{
		{"nobody is dead", "abcd", 3, "", 0, ""},
		{"not for long enough", "abcd", 3, "b", removeAfter - 1, ""},
		{"one of four", "abcd", 3, "b", removeAfter, "b"},
		{"one of three would leave two", "abc", 3, "b", time.Hour, ""},
		{"one of five, replicated five times", "abcde", 5, "b", time.Hour, ""},
		{"one of five, replicated three times", "abcde", 3, "b", time.Hour, "b"},
		{"two of four: some partition has one replica left", "abcd", 3, "bc", time.Hour, ""},
		{"one of two that has partitions nobody else has", "ab", 3, "b", time.Hour, ""},
		{"the only one", "a", 3, "a", time.Hour, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			node, found := removal(foundedBy(t, c.nodes, 30, c.replicas), deadOf(c.dead, c.lasting))
			if found != (c.removed != "") || node.Name != c.removed {
				t.Errorf("%q is removed, not %q", node.Name, c.removed)
			}
		})
	}
	t.Run("one without partitions", func(t *testing.T) {
		s := afterAll(t, foundedBy(t, "abc", 30, 3), joining('d'))
		if node, found := removal(s, deadOf("d", time.Hour)); !found || node.Name != "d" {
			t.Error(node.Name, found)
		}
	})
}
