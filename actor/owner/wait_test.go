package owner_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// ruleWithWait is a limit whose checks may wait.
func ruleWithWait(tb reporter, l limit.Limit, wait time.Duration) *limit.Rule {
	tb.Helper()
	l.MaxWait = wait
	rule, err := l.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

// bucketWithWait is a bucket of so many tokens, of which one comes back every per.
func bucketWithWait(tb reporter, name string, capacity int64, per, wait time.Duration) *limit.Rule {
	tb.Helper()
	return ruleWithWait(tb, limit.Limit{Name: name, Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: per}}, wait)
}

// checkWait makes a check that may wait so long.
func (s *stage) checkWait(wait time.Duration, cost int64, rules ...*limit.Rule) int {
	tag := s.tag()
	s.owner.Check(owner.Check{
		Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: rules, Cost: cost, Receipts: true, Wait: int64(wait),
	}, &s.out)
	s.after()
	return tag
}

// begins asserts that the check was admitted, to begin so much later.
func (s *stage) begins(tag int, wait time.Duration) limit.Receipt {
	s.tb.Helper()
	r := s.admitted(tag)
	if d := s.decision(tag); d.Wait != wait {
		s.tb.Fatalf("check %d begins after %v, want %v", tag, d.Wait, wait)
	}
	return r
}

// Checks that wait begin one after another, as they came. One that would have to wait longer is told when to come back.
func TestWaitInTurn(t *testing.T) {
	s := alone(t)
	rule := bucketWithWait(t, "login", 1, time.Second, 3*time.Second)
	for i := range 4 {
		s.begins(s.checkWait(3*time.Second, 1, rule), time.Duration(i)*time.Second)
	}
	if o := s.denied(s.checkWait(3*time.Second, 1, rule)); o.RetryAfter != time.Second || o.Remaining != 0 {
		t.Errorf("the fifth: %+v, want one that is to come back after 1s", o)
	}
	if o := s.denied(s.checkWait(time.Second, 1, rule)); o.RetryAfter != 3*time.Second {
		t.Errorf("one that waits a second: %+v, want one that is to come back after 3s", o)
	}
	if o := s.denied(s.check(1, rule)); o.RetryAfter != 4*time.Second {
		t.Errorf("one that does not wait: %+v, want one that is to come back after 4s", o)
	}
	s.pass(second)
	s.begins(s.checkWait(3*time.Second, 1, rule), 3*time.Second)
	if o := s.denied(s.checkWait(3*time.Second, 2, rule)); !o.Never {
		t.Errorf("more than a whole bucket: %+v, want one that can never pass", o)
	}
}

// A place that is given up is taken by the next one that comes in time for it, and by no one else.
func TestPlaceGivenUp(t *testing.T) {
	s := alone(t)
	rule := bucketWithWait(t, "login", 1, time.Second, 9*time.Second)
	var places []limit.Receipt
	for i := range 6 {
		places = append(places, s.begins(s.checkWait(9*time.Second, 1, rule), time.Duration(i)*time.Second))
	}
	s.returned(places[3])
	s.ignored(places[3])
	s.denied(s.checkWait(2*time.Second, 1, rule))
	s.begins(s.checkWait(4*time.Second, 1, rule), 3*time.Second)
	s.begins(s.checkWait(9*time.Second, 1, rule), 6*time.Second)
	s.pass(1500 * ms)
	s.ignored(places[0]) // its second is over
	s.returned(places[2])
	s.begins(s.checkWait(9*time.Second, 1, rule), 500*time.Millisecond)
	s.returned(places[4])
	s.pass(4 * second)
	s.begins(s.checkWait(9*time.Second, 1, rule), 1500*time.Millisecond) // the place has passed, and nobody has begun in it
}

// A check of several limits begins when all admit it, and counts as of then in each: otherwise a limit that is not waited for would be
// spent twice at that time.
func TestWaitForSeveralLimits(t *testing.T) {
	s := alone(t)
	slow := bucketWithWait(t, "slow", 1, 2*time.Second, 5*time.Second)
	fast := bucketWithWait(t, "fast", 2, time.Second, 5*time.Second)
	s.begins(s.checkWait(5*time.Second, 1, slow), 0)
	s.begins(s.checkWait(5*time.Second, 1, fast, slow), 2*time.Second)
	s.pass(2 * second)
	s.begins(s.check(1, fast), 0)
	s.denied(s.check(1, fast))
}

// Of windows, a check waits for the next one, whose line begins with it.
func TestWaitForTheNextWindow(t *testing.T) {
	s := alone(t)
	rule := ruleWithWait(t, limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 3, Window: 10 * time.Second}, 30*time.Second)
	s.pass(10*second - start%(10*second) + 4*second)
	s.begins(s.check(2, rule), 0)
	for range 3 {
		s.begins(s.checkWait(10*time.Second, 2, rule), 6*time.Second)
		s.begins(s.checkWait(10*time.Second, 1, rule), 6*time.Second)
		if o := s.denied(s.checkWait(10*time.Second, 1, rule)); o.RetryAfter != 6*time.Second {
			t.Errorf("%+v, want one that is to come back after 6s", o)
		}
		s.pass(10 * second)
	}
	s.begins(s.checkWait(30*time.Second, 1, rule), 6*time.Second)
}

// Replicas hear of the wait: what they have forgotten may lie further ahead by it.
func TestWaitReachesFurther(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := bucketWithWait(t, "login", 1, time.Second, 30*time.Second)
	for i := range 31 {
		tag := s.checkWait(30*time.Second, 1, rule)
		s.deliver(0, 1, 2)
		s.begins(tag, time.Duration(i)*time.Second)
	}
	if reach := s.sent[len(s.sent)-1].Reach; reach != 31*second {
		t.Errorf("replicas are told a reach of %v", time.Duration(reach))
	}
	for _, r := range s.replicas {
		r.amnesia(s.now, s.bounds)
	}
	next := s.enter('B')
	tag := next.checkWait(30*time.Second, 1, rule)
	next.deliver(0, 1, 2)
	next.pass(100 * ms)
	if r, ok := next.reply(tag); ok && r.Decision.Allowed && r.Decision.Wait < 30*time.Second {
		t.Errorf("after the replicas forgot 31 s of line, a check begins after %v", r.Decision.Wait)
	}
}

// A queue is waiting in its plainest form: a bucket of whole ticks, and the checks that begin, in their order.
type queue struct {
	capacity, token int64 // ticks that a token takes
	at, level       int64 // in ticks: at a time, of tokens
}

// begin is the first time from t on at which cost tokens are there. The bucket is asked tick by tick.
func (q *queue) begin(t, cost, longest int64) (begin int64, ok bool) {
	at, level := q.at, q.level
	for ; at < t; at++ {
		level = min(level+1, q.capacity*q.token)
	}
	for level < cost*q.token {
		level = min(level+1, q.capacity*q.token)
		if at++; at > t+longest {
			return 0, false
		}
	}
	q.at, q.level = at, level-cost*q.token
	return at, true
}

// Over random traffic, an owner says what the plain queue says.
func TestWaitIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := alone(t)
		q := queue{capacity: rapid.Int64Range(1, 6).Draw(t, "capacity"), token: rapid.Int64Range(1, 5).Draw(t, "token")}
		q.level = q.capacity * q.token
		s.cfg.Busy = rapid.SampledFrom([]int{2, owner.DefaultBusy}).Draw(t, "busy")
		rule := bucketWithWait(t, "login", q.capacity, time.Duration(q.token*ms), 30*time.Second)
		for range rapid.IntRange(1, 60).Draw(t, "checks") {
			s.pass(rapid.SampledFrom([]int64{0, 0, 1, 2, 10, 100}).Draw(t, "pass") * ms)
			cost := rapid.Int64Range(1, q.capacity).Draw(t, "cost")
			longest := rapid.SampledFrom([]int64{0, 1, 5, 20, 100}).Draw(t, "wait")
			now := (s.now - start) / ms
			want, admitted := q.begin(now, cost, longest)
			d := s.decision(s.checkWait(time.Duration(longest*ms), cost, rule))
			if d.Allowed != admitted || admitted && int64(d.Wait) != (want-now)*ms {
				t.Fatalf("at %d, a check of %d that waits %d: admitted %v after %v, want %v at %d", now, cost, longest, d.Allowed, d.Wait, admitted, want)
			}
		}
	})
}

// The view says when the next check that waits begins, also in places that were given up.
func TestViewSaysWhenACheckBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := alone(t)
		capacity, longest := rapid.Int64Range(1, 6).Draw(t, "capacity"), 20*time.Millisecond
		rule := bucketWithWait(t, "login", capacity, 3*time.Millisecond, longest)
		if rapid.Bool().Draw(t, "windows") {
			rule = ruleWithWait(t, limit.Limit{Name: "login", Algorithm: limit.FixedWindow, Capacity: capacity, Window: 10 * time.Millisecond}, longest)
		}
		var held []limit.Receipt
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			s.pass(rapid.SampledFrom([]int64{0, 0, 1, 2, 10, 30}).Draw(t, "pass") * ms / 2)
			if len(held) > 0 && rapid.IntRange(0, 2).Draw(t, "return") == 0 {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "receipt")
				s.giveBack(held[i])
				held = slices.Delete(held, i, i+1)
				s.pass(1) // so that a check may have it
			}
			before, known := s.owner.View("login", s.now)
			d := s.decision(s.checkWait(longest, 1, rule))
			want := int64(0)
			if d.Allowed {
				want = s.now + int64(d.Wait)
				held = append(held, d.Receipts[0])
			}
			if begins := before.Begins; known && begins != want && (d.Allowed || begins <= s.now+int64(longest)) {
				t.Fatalf("at %d the view says %d, and the check begins at %d (0: it is denied)", s.now, begins, want)
			}
		}
	})
}

// What callers begin keeps to the bound, whatever waits, is given up, and is taken by others: counted at the times at which they
// begin, and less what was returned in the same time, it is never more than a bucket and its refill.
func TestWhatBeginsKeepsToTheBound(t *testing.T) {
	type event struct{ at, length int64 }
	rapid.Check(t, func(t *rapid.T) {
		s := alone(t)
		capacity, token := rapid.Int64Range(1, 6).Draw(t, "capacity"), rapid.Int64Range(1, 5).Draw(t, "token")*ms
		rule := bucketWithWait(t, "login", capacity, time.Duration(token), 30*time.Second)
		other := bucketWithWait(t, "other", 1, time.Duration(rapid.Int64Range(1, 20).Draw(t, "other")*ms), 30*time.Second)
		var events []event
		var held []limit.Receipt
		admitted := map[uint64]int{} // places in events, by serial
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			s.pass(rapid.SampledFrom([]int64{0, 0, 1, 2, 3, 10, 30}).Draw(t, "pass") * ms / 2)
			if len(held) > 0 && rapid.IntRange(0, 2).Draw(t, "return") == 0 {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "receipt")
				switch e := &events[admitted[held[i].Serial]]; {
				case !s.giveBack(held[i]):
				case e.at > s.now:
					e.length = 0 // it never begins
				default:
					events = append(events, event{s.now, -e.length})
				}
				s.pass(1) // so that a window may begin after it
				held = slices.Delete(held, i, i+1)
				continue
			}
			rules := []*limit.Rule{rule}
			if rapid.IntRange(0, 3).Draw(t, "both") == 0 {
				rules = append(rules, other)
			}
			cost := int64(1)
			if len(rules) == 1 {
				cost = rapid.Int64Range(1, capacity).Draw(t, "cost")
			}
			wait := time.Duration(rapid.SampledFrom([]int64{0, 0, 5, 20, 50}).Draw(t, "wait") * ms)
			if d := s.decision(s.checkWait(wait, cost, rules...)); d.Allowed {
				if d.Wait > wait {
					t.Fatalf("a check that waits %v begins after %v", wait, d.Wait)
				}
				events = append(events, event{s.now + int64(d.Wait), cost * token})
				held = append(held, d.Receipts[0])
				admitted[d.Receipts[0].Serial] = len(events) - 1
			}
		}
		for _, from := range events {
			for _, to := range events {
				sum := int64(0)
				for _, e := range events {
					if e.at >= from.at && e.at <= to.at {
						sum += e.length
					}
				}
				if most := capacity*token + to.at - from.at; to.at >= from.at && sum > most {
					t.Fatalf("from %d to %d ns %d ns of line begin, more than %d", from.at-start, to.at-start, sum, most)
				}
			}
		}
	})
}

// Line is reserved for what waits behind the first check no further than its limit lets checks wait, however long those of other limits of the
// key may: replicas refuse what lies further ahead, and the first check would wait for them until it is late.
func TestOthersWaitLonger(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	short, long := bucketWithWait(t, "short", 10, time.Second, time.Second), bucketWithWait(t, "long", 1, time.Second, 30*time.Second)
	before := s.check(1, mustRule(t, "other", 10, 1, time.Second))
	first := s.check(10, short)
	s.checkWait(30*time.Second, 1, long)
	for range 3 {
		s.checkWait(time.Second, 10, short)
	}
	s.deliver(0)
	s.admitted(before)
	if from, to := s.lastSent(); to > start+11*second {
		t.Errorf("reserved (%v, %v], further ahead than any check of this limit may wait", time.Duration(from-start), time.Duration(to-start))
	}
	s.deliver(0)
	s.admitted(first)
}
