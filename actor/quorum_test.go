package actor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// travel is how long a message takes to a peer in these tests, and an answer back.
const travel = time.Millisecond

// quorum is a System on so many replicas, with the peers some way off.
func quorum(t *testing.T, replicas int, cfg Config) (*System, *cluster) {
	t.Helper()
	c := newCluster(clock.New().Now, replicas, replicas, 1)
	for _, p := range c.peers {
		p.delay = func() time.Duration { return travel }
	}
	return c.viewer().start(t, cfg), c
}

// took is how long a check takes that must be decided.
func took(t *testing.T, s *System, r limit.Request) (limit.Decision, time.Duration) {
	t.Helper()
	began := time.Now()
	d := decide(t, s, r)
	return d, time.Since(began)
}

// troubles are what may befall a peer.
var troubles = map[string]func(*peer){
	"dead":          func(p *peer) { p.trouble(true, false) },
	"silent":        func(p *peer) { p.trouble(false, true) },
	"sealed":        func(p *peer) { p.change(func(at *register.Partition) { at.Sealed = true }) },
	"another epoch": func(p *peer) { p.change(func(at *register.Partition) { at.Epoch++ }) },
	"a floor": func(p *peer) {
		p.change(func(at *register.Partition) { at.Floored, at.Floor = true, p.now()+int64(time.Hour) })
	},
}

// TestMinorityInTrouble has as many replicas in trouble as may be: checks are served as if there were no trouble, and
// no check waits for those replicas.
func TestMinorityInTrouble(t *testing.T) {
	for what, befall := range troubles {
		for _, replicas := range []int{3, 5} {
			t.Run(fmt.Sprintf("%s, %d replicas", what, replicas), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, c := quorum(t, replicas, Config{})
					if _, after := took(t, s, spend("a", 1, "demo")); after != 2*travel {
						t.Errorf("without trouble a new key takes %v, want %v", after, 2*travel)
					}
					for _, p := range c.peers[replicas/2+1:] {
						befall(p)
					}
					for i := range 9 {
						d, after := took(t, s, spend("a", 1, "demo"))
						if !d.Allowed || after != 2*travel {
							t.Errorf("check %d: %+v after %v, want an admission after %v", i, d, after, 2*travel)
						}
					}
					if d, after := took(t, s, spend("a", 1, "demo")); d.Allowed || after != 0 {
						t.Errorf("the eleventh of 10: %+v after %v, want a denial at once", d, after)
					}
					for i := range 20 {
						if d, after := took(t, s, spend("new:"+strconv.Itoa(i), 1, "demo", "slow")); !d.Allowed || after != 2*travel {
							t.Errorf("a new key: %+v after %v, want an admission after %v", d, after, 2*travel)
						}
					}
					if err := s.Reset(t.Context(), "a", limit.Named("demo")); err != nil {
						t.Error(err)
					}
					if got := drain(t, s, "a", "demo"); got != 10 {
						t.Errorf("%d admitted after the reset, want 10", got)
					}
				})
			})
		}
	}
}

// TestRefusedWithAMinorityInTrouble starts an owner that knows nothing of what another one has spent: a refusal teaches
// it, whatever the trouble.
func TestRefusedWithAMinorityInTrouble(t *testing.T) {
	for what, befall := range troubles {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, c := quorum(t, 3, Config{})
				befall(c.peers[1])
				for range 4 {
					decide(t, first, spend("a", 1, "demo"))
				}
				second := c.viewer().start(t, Config{})
				d, after := took(t, second, spend("a", 1, "demo"))
				if !d.Allowed || d.Limits[0].Remaining != 5 || after > 20*time.Millisecond {
					t.Errorf("the fifth of 10: %+v after %v", d, after)
				}
				if got := drain(t, second, "a", "demo"); got != 5 {
					t.Errorf("%d admitted by the second owner, want 5", got)
				}
				if d, _ := took(t, first, spend("a", 1, "demo")); d.Allowed {
					t.Errorf("the eleventh of 10 was admitted: %+v", d)
				}
			})
		})
	}
}

// TestMajorityDead answers as unavailable once patience ends and says who is gone; when one comes back all is served.
func TestMajorityDead(t *testing.T) {
	for _, replicas := range []int{3, 5} {
		synctest.Test(t, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			s, c := quorum(t, replicas, Config{Metrics: reg})
			gone := c.peers[1 : replicas/2+2]
			for _, p := range gone {
				p.trouble(true, false)
			}
			began := time.Now()
			_, err := s.Check(t.Context(), spend("a", 1, "demo"))
			after := time.Since(began)
			if !errors.Is(err, limit.ErrUnavailable) || after < 200*time.Millisecond || after > 300*time.Millisecond {
				t.Errorf("%v after %v, want unavailable after 200 ms", err, after)
			}
			want := "no decision available: too few replicas can answer: "
			if replicas == 3 {
				want += "1 of 3 (node-2 and node-3 do not)"
			} else {
				want += "2 of 5 (node-2, node-3 and node-4 do not)"
			}
			if err != nil && err.Error() != want {
				t.Errorf("the error is %q, want %q", err, want)
			}
			if got := count(t, reg, "jeton_replica_lost_total", "node-2"); got < 5 {
				t.Errorf("%v messages to node-2 were lost, by its count", got)
			}
			if got := count(t, reg, "jeton_replica_lost_total", "node-1"); got != 0 {
				t.Errorf("%v messages to node-1 were lost, by its count", got)
			}
			waiting := ask(t.Context(), s, spend("a", 1, "demo"))
			pass(100 * time.Millisecond)
			pending(t, waiting)
			gone[0].trouble(false, false)
			pass(40 * time.Millisecond)
			if a := settled(t, waiting); a.err != nil || !a.Allowed {
				t.Errorf("a check that waited when a replica came back: %+v", a)
			}
			if got := drain(t, s, "a", "demo"); got < 8 {
				t.Errorf("%d of 9 were admitted afterwards", got)
			}
		})
	}
}

// TestBlip has every replica die for a moment, again and again: callers notice nothing, and no line is lost by it.
func TestBlip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := quorum(t, 3, Config{})
		for range 10 {
			for _, p := range c.peers {
				p.trouble(true, false)
			}
			waiting := ask(t.Context(), s, spend("a", 1, "demo"))
			pass(30 * time.Millisecond)
			pending(t, waiting)
			for _, p := range c.peers {
				p.trouble(false, false)
			}
			pass(70 * time.Millisecond)
			if a := settled(t, waiting); a.err != nil || !a.Allowed {
				t.Errorf("a check in a blip: %+v", a)
			}
		}
	})
}

// TestSilentMajority asks replicas again that were silent for a while.
func TestSilentMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := quorum(t, 3, Config{})
		for _, p := range c.peers[1:] {
			p.trouble(false, true)
		}
		waiting := ask(t.Context(), s, spend("a", 1, "demo"))
		pass(3 * time.Second)
		pending(t, waiting)
		c.peers[2].trouble(false, false)
		pass(110 * time.Millisecond)
		if a := settled(t, waiting); a.err != nil || !a.Allowed {
			t.Errorf("after the silence: %+v", a)
		}
	})
}

// TestCost counts what checks send.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := quorum(t, 3, Config{Shards: 1})
		since := func() (messages, reservations int) {
			synctest.Wait()
			for _, p := range c.peers {
				messages, reservations = p.counted()
			}
			return messages, reservations
		}

		// A batch of new keys: one message, which all share.
		var batch []limit.Request
		for i := range 100 {
			batch = append(batch, spend("new:"+strconv.Itoa(i), 1, "demo"))
		}
		for i, r := range s.CheckBatch(t.Context(), batch) {
			if r.Err != nil || !r.Decision.Allowed {
				t.Errorf("new key %d: %+v", i, r)
			}
		}
		if messages, reservations := since(); messages != 1 || reservations != 100 {
			t.Errorf("100 new keys took %d messages with %d reservations, want 1 with 100", messages, reservations)
		}

		// Denials: nothing.
		drain(t, s, "full", "demo")
		since()
		for range 1000 {
			if d, after := took(t, s, spend("full", 1, "demo")); d.Allowed || after != 0 {
				t.Errorf("got %+v after %v, want a denial at once", d, after)
			}
			<-time.After(100 * time.Microsecond)
		}
		if messages, _ := since(); messages != 0 {
			t.Errorf("1,000 denials took %d messages", messages)
		}

		// A hot key: no check waits, whatever part of its limit it uses.
		for _, every := range []time.Duration{100 * time.Microsecond, time.Millisecond, 1100 * time.Microsecond, 4 * time.Millisecond} {
			key := "hot:" + every.String()
			for range 100 {
				decide(t, s, spend(key, 1, "fast"))
				<-time.After(every)
			}
			since()
			began, slow, denied := time.Now(), 0, 0
			for time.Since(began) < 5*time.Second {
				d, after := took(t, s, spend(key, 1, "fast"))
				if after != 0 {
					slow++
				}
				if !d.Allowed {
					denied++
				}
				<-time.After(every)
			}
			messages, reservations := since()
			if slow > 0 || every > time.Millisecond && denied > 0 || reservations > 5*15 {
				t.Errorf("a check every %v for 5 s: %d waited, %d were denied, %d messages with %d reservations; want at most 75",
					every, slow, denied, messages, reservations)
			}
			t.Logf("a check every %v for 5 s: %d reservations, %d denied", every, reservations, denied)
		}
	})
}

// TestOneMessageForEachSet checks a batch of keys of two sets: each replica gets one message for each set that it is in.
func TestOneMessageForEachSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(clock.New().Now, 4, 3, 8)
		for p := range c.places[4:] {
			c.move(t, ring.Partition(4+p), c.ids(1, 2, 3))
		}
		s := c.viewer().start(t, Config{Shards: 1})
		var batch []limit.Request
		for i := range 100 {
			batch = append(batch, spend("new:"+strconv.Itoa(i), 1, "demo"))
		}
		for i, r := range s.CheckBatch(t.Context(), batch) {
			if r.Err != nil || !r.Decision.Allowed {
				t.Errorf("new key %d: %+v", i, r)
			}
		}
		sum := 0
		for i, want := range []int{1, 2, 2, 1} {
			messages, reservations := c.peers[i].counted()
			if messages != want {
				t.Errorf("%s got %d messages, want %d", c.peers[i].name, messages, want)
			}
			sum += reservations
		}
		if sum != 300 {
			t.Errorf("%d reservations for 100 keys, want 300", sum)
		}
	})
}

func TestReplicaSetRefuses(t *testing.T) {
	one := replica{reserve: agreeable}
	for what, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"no replicas": {Config{}, "0 replicas"},
		"too many":    {Config{Replicas: []Replica{one, one, one, one, one, one}}, "6 replicas"},
		"both": {Config{
			Replicas: []Replica{one}, Placement: newCluster(clock.New().Now, 1, 1, 1).viewer().at,
		}, "both Placement and Replicas"},
	} {
		if _, err := New(test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("three replicas with two names make a set")
		}
	}()
	NewReplicaSet([]Replica{one, one, one}, []string{"a", "b"})
}
