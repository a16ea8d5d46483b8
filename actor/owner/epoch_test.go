package owner_test

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// seal makes replicas refuse their epoch from now on.
func (tr *troupe) seal(replicas ...int) {
	for _, i := range replicas {
		tr.replicas[i].partition.Sealed = true
	}
}

// move makes those registers that the sealed replicas hold together those of n others, in the next epoch.
func (tr *troupe) move(n int) {
	joined := map[string]register.Register{}
	epoch := uint64(0)
	for _, r := range tr.replicas {
		if !r.partition.Sealed {
			continue
		}
		epoch = r.partition.Epoch + 1
		for name, reg := range r.registers {
			if before := joined[name]; reg.Generation > before.Generation || reg.Generation == before.Generation && reg.H > before.H {
				joined[name] = reg
			}
		}
	}
	tr.replicas = nil
	for range n {
		r := &replica{registers: map[string]register.Register{}, partition: register.Partition{Epoch: epoch}}
		maps.Copy(r.registers, joined)
		tr.replicas = append(tr.replicas, r)
	}
}

// follow lets the owner enter the epoch that its replicas are in.
func (s *stage) follow() {
	cfg := *s.cfg
	cfg.Replicas = len(s.replicas)
	s.owner.Enter(owner.NewTerms(&cfg, s.name, s.replicas[0].partition.Epoch), s.clock(), &s.out)
	s.after()
}

// A check that waits while the replica set changes reserves anew in the next epoch, at once and for its own time, and what
// it had reserved before is never spent, whatever the old replicas say in the end.
func TestEnterWithACheckThatWaits(t *testing.T) {
	for _, replicas := range []int{1, 3, 5} {
		s := newTroupe(t, 3).enter('A')
		rule := mustRule(t, "login", 10, 1, time.Second)
		c := s.check(4, rule)
		old := s.post[0]
		before := s.replicas
		s.deliver(0)
		s.seal(0, 1)
		s.pass(ms)
		s.move(replicas)
		s.follow()
		s.wantSends(2)
		s.wantSent(0, 4*second)
		if m := s.post[1]; m.Epoch != 1 || m.Seq == old.Seq {
			t.Fatalf("sent %+v in the next epoch, after %+v", m, old)
		}
		for i, r := range before { // two of three in the old epoch: too late
			a := understood(r.reserve(old, s.now, s.bounds), i, old)
			a.Verdict, a.Position = owner.Accepted, old.To
			s.hear(a)
		}
		s.waits(c)
		for i := range replicas {
			s.deliver(i)
		}
		s.pass(10 * ms)
		for i := range replicas {
			s.deliver(i)
		}
		if r := s.admitted(c); r.Start != start+4*second || r.End != start+8*second {
			t.Errorf("%d replicas: spent %+v, want what is behind the line that the old epoch had accepted", replicas, r.Span)
		}
	}
}

// Line that is held stays the owner's own: the segment, the next one, and what was given back.
func TestEnterKeepsWhatIsHeld(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.quick = []int{0, 1, 2}
	rule := mustRule(t, "hot", 1000, 1000, time.Second)
	for range 50 {
		s.admitted(s.check(1, rule))
		s.pass(ms)
	}
	receipt := s.admitted(s.check(1, rule))
	before := s.view("hot")
	if before.Hi < s.now+10*ms {
		t.Fatalf("the key holds nothing ahead: %+v", before)
	}
	s.quick = nil
	s.seal(0, 1, 2)
	s.move(3)
	s.follow()
	if !s.owner.Return(receipt, s.clock(), &s.out) {
		t.Error("a receipt of the epoch before was refused")
	}
	after := s.view("hot")
	if after.TAT != before.TAT || after.Hi != before.Hi || after.Next != before.Next || after.Generation != before.Generation {
		t.Errorf("it holds %+v, and held %+v", after, before)
	}
	if after.Credit.NS != ms || after.Demand != before.Demand {
		t.Errorf("credit %v and demand %v, want %v and %v", after.Credit, after.Demand, ms, before.Demand)
	}
	sent := len(s.sent)
	if again := s.admitted(s.check(1, rule)); len(again.Reuses) != 1 {
		t.Errorf("spent %+v, want what was given back", again)
	}
	s.admitted(s.check(5, rule))
	s.wantSends(sent)
}

// What replicas said is no longer known: those with the same numbers are others. Nor is anything that they still say.
func TestEnterForgetsReplicas(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.quick = []int{0, 1, 2}
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.admitted(s.check(1, rule))
	s.quick = nil
	for _, r := range s.replicas {
		r.registers["login"] = taken(9 * second)
	}
	s.draw = hour
	s.check(1, rule)
	late := s.post[1]
	s.deliver(0, 1) // refused: from 9 s on
	old := s.replicas
	s.troupe.replicas = nil
	for range 3 {
		s.troupe.replicas = append(s.troupe.replicas, &replica{
			registers: map[string]register.Register{"login": taken(second)}, partition: register.Partition{Epoch: 7},
		})
	}
	s.follow()
	s.wantSent(second, 2*second) // at once, and where the held segment ends
	s.hear(understood(old[2].reserve(late, s.now, s.bounds), 2, late))
	s.deliver(0, 1)
	s.pass(10 * ms)
	s.wantSends(3)
	d := s.check(3, rule) // 9 s would deny it, if they were known
	s.wantSent(2*second, 5*second)
	s.deliver(0, 2)
	s.admitted(d)
}

// A reset that waits while the replica set changes is done in the next epoch.
func TestEnterWithAReset(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.quick = []int{0, 1, 2}
	rule := mustRule(t, "login", 10, 1, time.Hour)
	s.admitted(s.check(10, rule))
	s.quick = nil
	r := s.reset(rule)
	s.deliver(0)
	s.seal(0, 1)
	s.move(5)
	s.follow()
	for range 3 {
		s.deliver(0, 1, 2, 3, 4)
		s.pass(10 * ms)
	}
	s.done(r)
	c := s.check(10, rule)
	s.deliver(0, 1, 2)
	s.admitted(c)
}

// Under its own terms an owner stays as it is.
func TestEnterTheSame(t *testing.T) {
	terms := owner.NewTerms(benchConfig(), limit.OwnerID{1}, 3)
	o, out := owner.Owner{Terms: terms}, &owner.Out{}
	rules := []*limit.Rule{mustRule(t, "login", 10, 1, time.Second)}
	o.Check(owner.Check{Tag: 1, At: start, Deadline: start + second, Rules: rules, Cost: 1}, out)
	o.Enter(terms, start, out)
	if len(out.Sends) != 1 || out.Sends[0].Epoch != 3 {
		t.Fatalf("sent %+v, want one reservation in epoch 3", out.Sends)
	}
	promptly(&o, out, start)
	if idle, _ := o.Idle(start); !idle {
		t.Error("the check still waits")
	}
}

// Replicas that are sealed, or have not entered the epoch, say nothing of the line: the same is asked again after a short
// random pause, until they serve. No line is wasted, and no position is learnt from what they say beside.
func TestElsewhere(t *testing.T) {
	for name, refuse := range map[string]func(*register.Partition){
		"sealed":      func(p *register.Partition) { p.Sealed = true },
		"other epoch": func(p *register.Partition) { p.Epoch = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			s.quick = []int{0, 1, 2}
			s.draw = hour
			for _, r := range s.replicas {
				r.partition.Horizon = start + 100*second // a position that must not be learnt
				refuse(&r.partition)
			}
			c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
			s.pass(100 * ms)
			s.waits(c)
			if n := len(s.sent); n < 12 || n > 20 {
				t.Errorf("asked %d times in 100 ms, by pauses of 1, 2, 4 and then 8 ms", n)
			}
			for _, m := range s.sent {
				if !reflect.DeepEqual(m, s.sent[0]) {
					t.Fatalf("sent %+v and then %+v, want the same again", s.sent[0], m)
				}
			}
			for _, r := range s.replicas {
				r.partition = register.Partition{}
			}
			s.pass(8 * ms)
			if r := s.admitted(c); r.Start != start {
				t.Errorf("spent %+v", r.Span)
			}
		})
	}
}

// While a minority is elsewhere everything is served as ever, refusals included.
func TestMinorityElsewhere(t *testing.T) {
	s := newTroupe(t, 5).enter('A')
	s.quick = []int{0, 1, 2, 3, 4}
	s.replicas[1].partition.Epoch = 9
	s.seal(4)
	rule := mustRule(t, "login", 100, 1, time.Second)
	s.admitted(s.check(1, rule))
	s.wantSends(1)
	for _, i := range []int{0, 2, 3} {
		s.replicas[i].registers["login"] = taken(50 * second)
	}
	c := s.check(1, rule)
	s.pass(8 * ms)
	if r := s.admitted(c); r.Start != start+50*second {
		t.Errorf("spent %+v, want from 50 s on", r.Span)
	}
	s.wantSends(3)
}
