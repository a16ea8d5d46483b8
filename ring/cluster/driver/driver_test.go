package driver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

func plans(c agreed.Command) bool   { return c.SetTarget != nil }
func commits(c agreed.Command) bool { return c.Commit != nil }

func TestDriverGrowsFromOneToThree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "a", 40, 3))
		s.took = func(string) time.Duration { return 5 * time.Millisecond }
		d, stop := s.drive()
		s.rest(0, "a", 1)
		s.join("b")
		<-time.After(planDelay / 2)
		s.join("c")
		s.rest(10*time.Second, "abc", 3)
		if n := s.proposed(plans); n != 1 {
			t.Errorf("a burst of joins got %d plans", n)
		}
		if s.widest > maxMoving || s.widest < maxMoving/2 {
			t.Errorf("%d partitions were between next and commit at once, of at most %d", s.widest, maxMoving)
		}
		if n := s.proposed(commits); n > 30 {
			t.Errorf("40 moves took %d commits: what is ready at the same time goes together", n)
		}
		if s.busiest > urgentCalls+copyCalls+completeCalls {
			t.Errorf("%d calls at once", s.busiest)
		}
		if got := value(t, d.metrics.moves); got != 40 {
			t.Errorf("%v moves were counted", got)
		}
		if got := value(t, d.metrics.sealed); got != 40 {
			t.Errorf("it was noted of %v partitions for how long they were sealed", got)
		}
		for _, id := range agreedtest.Letters("abc") {
			if n := ring.Shares(s.state().Table)[id].Owner; n < 9 || n > 18 {
				t.Errorf("%c is the owner of %d of 40", id[15], n)
			}
		}
		if len(d.Phases()) > 0 {
			t.Errorf("at rest it is at %v", d.Phases())
		}
		stop()
	})
}

func TestDriverFollowsMembersUpAndDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 30, 3))
		s.drive()
		s.join("de")
		s.rest(10*time.Second, "abcde", 3)
		s.apply(agreed.Command{Drain: &agreed.Drain{ID: agreedtest.Letter('a')}})
		s.apply(agreed.Command{Drain: &agreed.Drain{ID: agreedtest.Letter('d')}})
		s.rest(10*time.Second, "bce", 3)
		s.apply(agreed.Command{Undrain: &agreed.Undrain{ID: agreedtest.Letter('d')}})
		s.rest(10*time.Second, "bcde", 3)
		s.apply(agreed.Command{Remove: &agreed.Remove{ID: agreedtest.Letter('a')}})
		n := s.proposed(plans)
		<-time.After(time.Minute)
		if s.proposed(plans) != n {
			t.Error("a node without partitions is removed, and there is a plan")
		}
	})
}

func TestDriverReplicatesFiveTimesWhenWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 20, 5))
		s.drive()
		s.join("d")
		s.rest(10*time.Second, "abcd", 3)
		s.join("e")
		s.rest(10*time.Second, "abcde", 5)
	})
}

func TestDriverMovesToTheDiskThatReplacesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 20, 3))
		s.drive()
		s.setDown("b", true)
		<-time.After(time.Minute)
		if n := s.proposed(func(agreed.Command) bool { return true }); n > 0 {
			t.Errorf("a node is down, and %d commands are proposed", n)
		}
		fresh := agreedtest.LetterNode('x')
		fresh.Name = "b"
		s.apply(agreed.Command{Replace: &agreed.Replace{Old: agreedtest.Letter('b'), New: fresh}})
		s.rest(10*time.Second, "acx", 3)
	})
}

// One member of next dies between next and its install: the rest is a majority and goes on, and the late one catches up
// once it is back, under another driver too.
func TestDriverCompletesWhoeverWasDown(t *testing.T) {
	for _, another := range []bool{false, true} {
		t.Run(fmt.Sprintf("another driver %v", another), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, agreedtest.Founded(t, "abc", 20, 3))
				asked := 0
				s.then = func(c agreed.Command) {
					if c.SetNext != nil {
						s.setDownLocked("d", true)
						s.then, asked = nil, len(s.calls)
					}
				}
				_, stop := s.drive()
				s.join("d")
				s.within(time.Minute, "moves that go on without d", func() bool {
					return !slices.ContainsFunc(s.state().Table.Places, ring.Place.Moving)
				})
				if another {
					stop()
					s.drive()
				}
				<-time.After(time.Minute)
				if slices.ContainsFunc(s.asked(asked), func(call string) bool { return strings.Fields(call)[1] == "d" }) {
					t.Error("a dead node is asked")
				}
				s.setDown("d", false)
				s.rest(5*time.Second, "abcd", 3)
			})
		})
	}
}

// Only who has installed an epoch is a source for who is late: how many sealed members of the epoch before would be
// enough is not known any more.
func TestDriverCompletesFromInstalledOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 1, 3))
		place := &s.agreed.Table.Places[0]
		place.Epoch = 2
		for _, id := range agreedtest.Letters("abc") {
			*s.shares[string(id[15])][0] = share{epoch: 1, sealed: true, installed: 1}
		}
		*s.shares["a"][0] = share{epoch: 2, installed: 2}
		s.setDown("a", true)
		d, _ := s.drive()
		<-time.After(time.Minute)
		for _, address := range []string{"b", "c"} {
			s.mu.Lock()
			if h := s.share(address, 0); h.installed != 1 {
				t.Errorf("%s has installed epoch %d from members that have not", address, h.installed)
			}
			s.mu.Unlock()
		}
		if d.Phases()["completing"] != 1 {
			t.Errorf("it is at %v", d.Phases())
		}
		s.setDown("a", false)
		s.rest(5*time.Second, "abc", 3)
	})
}

// A plan that is replaced by another one is not carried out.
func TestDriverAsksForNothingThatIsNotPlannedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 40, 3))
		s.took = func(call string) time.Duration {
			if strings.HasPrefix(call, "copy") {
				return 10 * time.Second
			}
			return 0
		}
		s.drive()
		s.join("d")
		s.within(10*time.Second, "copies to d", func() bool { return slices.ContainsFunc(s.asked(0), toD) })
		s.apply(agreed.Command{Drain: &agreed.Drain{ID: agreedtest.Letter('d')}})
		n := s.proposed(plans)
		s.within(10*time.Second, "another plan", func() bool { return s.proposed(plans) > n })
		asked := len(s.asked(0))
		<-time.After(time.Minute)
		s.rest(0, "abc", 3)
		if slices.ContainsFunc(s.asked(asked), toD) {
			t.Error("d drains, and copies are asked of it")
		}
	})
}

func toD(call string) bool { return strings.HasPrefix(call, "copy d") }

// Too many members of next die: the partition is sealed, and gets others soon. Where it was to go stays the plan.
func TestDriverReplacesNextWhenItsMembersDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "a", 6, 3))
		s.then = func(c agreed.Command) {
			if c.SetNext != nil {
				s.setDownLocked("b", true)
				s.setDownLocked("c", true)
				s.then = nil
			}
		}
		s.drive()
		s.join("bc")
		s.within(agreed.RescueAfter+5*time.Second, "all partitions served by a", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			for p, place := range s.agreed.Table.Places {
				if len(place.Next) > 0 || s.share("a", ring.Partition(p)).sealed {
					return false
				}
			}
			return len(s.down) > 0
		})
		s.setDown("b", false)
		s.setDown("c", false)
		s.rest(time.Minute, "abc", 3)
	})
}

func TestDriverRemovesWhoIsDeadForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abcd", 20, 3))
		s.drive()
		s.setDown("b", true)
		<-time.After(agreed.RemoveAfter - time.Second)
		if n := s.proposed(func(agreed.Command) bool { return true }); n > 0 {
			t.Errorf("a node is down, and %d commands are proposed", n)
		}
		s.rest(time.Minute, "acd", 3)
		if _, is := s.state().Removed[agreedtest.Letter('b')]; !is {
			t.Error("b is a member yet")
		}
		// Three are left: without one of them there could not be three replicas.
		s.setDown("c", true)
		n := s.proposed(func(agreed.Command) bool { return true })
		<-time.After(2 * agreed.RemoveAfter)
		if s.proposed(func(agreed.Command) bool { return true }) > n {
			t.Error("three nodes are left, and one that is dead is removed")
		}
	})
}

// A move begins only while it can end: nobody can reserve in between.
func TestDriverBeginsNoMoveThatCannotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "a", 20, 3))
		begun := func(c agreed.Command) bool { return c.SetNext != nil }
		s.refuse = func(c agreed.Command) error {
			if begun(c) && len(s.down) == 0 { // all is copied, and now they die
				s.setDownLocked("b", true)
				s.setDownLocked("c", true)
				return fmt.Errorf("%w: made to", agreed.ErrUnknownOutcome)
			}
			return nil
		}
		s.drive()
		s.join("bc")
		<-time.After(time.Minute)
		if n := s.proposed(begun); n > 0 {
			t.Errorf("two of three members are dead, and %d moves have begun", n)
		}
		s.mu.Lock()
		s.refuse = nil
		s.setDownLocked("b", false)
		s.mu.Unlock()
		s.within(time.Minute, "moves without c", func() bool {
			return !slices.ContainsFunc(s.state().Table.Places, ring.Place.Moving)
		})
	})
}

// Leadership goes from driver to driver, all the way: each goes on from what is agreed.
func TestDriversTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 40, 3))
		s.took = func(string) time.Duration { return 20 * time.Millisecond }
		_, stop := s.drive()
		s.join("de")
		for range 30 {
			<-time.After(planDelay + 150*time.Millisecond)
			stop()
			_, stop = s.drive()
		}
		s.rest(10*time.Second, "abcde", 3)
	})
}

func TestDriverGetsThereWhenHalfOfAllFails(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, agreedtest.Founded(t, "a", 20, 3))
				s.fail = flaky(seed, 0.5)
				refusals := flaky(seed+100, 0.5)
				s.refuse = func(agreed.Command) error {
					if refusals("") != works {
						return fmt.Errorf("%w: made to", agreed.ErrUnknownOutcome)
					}
					return nil
				}
				s.drive()
				s.agreeSoon(agreed.Command{Join: &agreed.Join{Node: agreedtest.LetterNode('b')}})
				s.agreeSoon(agreed.Command{Join: &agreed.Join{Node: agreedtest.LetterNode('c')}})
				s.agreeSoon(agreed.Command{Join: &agreed.Join{Node: agreedtest.LetterNode('d')}})
				s.rest(5*time.Minute, "abcd", 3)
				s.agreeSoon(agreed.Command{Drain: &agreed.Drain{ID: agreedtest.Letter('a')}})
				s.rest(5*time.Minute, "bcd", 3)
			})
		})
	}
}

// agreeSoon proposes until raft agrees.
func (s *stage) agreeSoon(c agreed.Command) {
	for err := agreed.ErrUnknownOutcome; err != nil; {
		err = s.propose(s.t.Context(), c)
	}
}

// One change of many was made for another state: the others do not wait for it.
func TestDriverProposesAloneWhatIsRefusedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 12, 3))
		s.refuse = func(c agreed.Command) error {
			switch {
			case c.SetNext != nil && len(c.SetNext.Changes) > 1, c.Commit != nil && len(c.Commit.Changes) > 1:
				return fmt.Errorf("%w: one of them", agreed.ErrStale)
			}
			return nil
		}
		s.drive()
		s.join("d")
		s.rest(5*time.Second, "abcd", 3)
	})
}

// A node that hangs takes its time, and its own partitions', but not that of the others.
func TestDriverIsNotHeldUpByOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abcd", 40, 3))
		s.took = func(call string) time.Duration {
			if strings.Fields(call)[1] == "d" {
				return time.Hour
			}
			return 0
		}
		s.drive()
		s.join("e")
		away := func() (n int) {
			for _, place := range s.state().Table.Places {
				if place.Moving() && !slices.Contains(slices.Concat(place.Replicas, place.Target), agreedtest.Letter('d')) {
					n++
				}
			}
			return n
		}
		s.within(time.Minute, "moves that have nothing to do with d", func() bool { return s.proposed(plans) > 0 && away() == 0 })
	})
}

// One member of three has lost what it knew in memory, and is the first to seal: the next epochs need no floor, for the other two know all.
func TestDriverLeavesAFloorBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 40, 3))
		for p := range s.state().Table.Places {
			s.share("a", ring.Partition(p)).floored = true
		}
		s.took = func(call string) time.Duration {
			if strings.HasPrefix(call, "seal b") {
				return time.Second
			}
			return 0
		}
		s.drive()
		s.join("d")
		s.within(time.Minute, "d has its share", func() bool { return s.proposed(commits) > 0 })
		s.rest(time.Minute, "abcd", 3)
		moved := 0
		for p, place := range s.state().Table.Places {
			if place.Epoch == ring.FirstEpoch {
				continue
			}
			moved++
			for _, id := range place.Replicas {
				if address := string(id[15]); s.share(address, ring.Partition(p)).floored {
					t.Errorf("%s has a floor in partition %d, which has moved", address, p)
				}
			}
		}
		if moved == 0 {
			t.Error("no partition has moved")
		}
	})
}

// Who stops in the middle leaves nothing behind: synctest fails if a goroutine of the bubble stays.
func TestDriverEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 40, 3))
		s.took = func(string) time.Duration { return time.Hour }
		d, stop := s.drive()
		s.join("de")
		<-time.After(time.Minute)
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v to end", took)
		}
		if len(d.Phases()) > 0 {
			t.Errorf("it does not lead, and is at %v", d.Phases())
		}
	})
}

func TestDriverTellsPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, agreedtest.Founded(t, "abc", 40, 3))
		hold := make(chan struct{})
		s.took = func(call string) time.Duration {
			if strings.HasPrefix(call, "seal") {
				select {
				case <-hold:
				default:
					return time.Hour
				}
			}
			return 0
		}
		d, _ := s.drive()
		s.join("de")
		s.within(10*time.Second, "as many partitions sealing as may be", func() bool { return d.Phases()["sealing"] == maxMoving })
		if n := d.Phases()["agreeing"]; n < maxAhead || n > maxAhead+copyCalls {
			t.Errorf("%d partitions are copied ahead", n)
		}
		if got := value(t, d.metrics.left); got < maxMoving+maxAhead {
			t.Errorf("%v moves are left", got)
		}
		close(hold)
		s.rest(10*time.Second, "abcde", 3)
	})
}
