package owner_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// rivals are two owners of one key on three replicas, to which the network brings what they send when it likes, or never.
type rivals struct {
	*troupe
	t      *rapid.T
	rule   *limit.Rule
	owners [2]*stage
	sent   [2]int // how much of what each has sent is on its way, or lost
	onWay  []sending
	asked  []asked
	live   []limit.Span // of the line, spent by what has not been returned
}

// A sending is one reservation on its way to one replica: that of a place in the owner's post.
type sending struct{ owner, message, replica int }

// asked is a check, and what became of it.
type asked struct {
	owner, tag int
	at, cost   int64
	wait       time.Duration
	told       bool
	begins     int64 // on the clock of its owner
	receipt    limit.Receipt
	back       bool
	backAt     int64
}

// newRivals are owners whose clocks differ by so much.
func newRivals(t *rapid.T, rule *limit.Rule, apart int64) *rivals {
	r := &rivals{troupe: newTroupe(t, 3), t: t, rule: rule}
	for i := range r.owners {
		r.owners[i] = r.enter(byte('A' + i))
		r.owners[i].draw = rapid.Int64Range(0, 5).Draw(t, "pause") * ms
	}
	r.owners[1].ahead = apart
	return r
}

// post takes up what the owners have sent: most of it goes to all replicas.
func (r *rivals) post() {
	for o, s := range r.owners {
		for ; r.sent[o] < len(s.post); r.sent[o]++ {
			for replica := range r.replicas {
				if rapid.IntRange(0, 9).Draw(r.t, "lost") > 0 {
					r.onWay = append(r.onWay, sending{o, r.sent[o], replica})
				}
			}
		}
	}
}

// bring brings one of what is on its way, not always the first. Some answers are lost.
func (r *rivals) bring() {
	i := rapid.IntRange(0, min(len(r.onWay)-1, 4)).Draw(r.t, "sending")
	p := r.onWay[i]
	r.onWay = slices.Delete(r.onWay, i, i+1)
	s := r.owners[p.owner]
	if rapid.IntRange(0, 9).Draw(r.t, "answer lost") == 0 {
		m := s.post[p.message]
		m.Now = s.clock()
		r.replicas[p.replica].reserve(m, r.now, r.bounds)
		return
	}
	s.bring(s.post[p.message], p.replica)
	r.learn()
	r.post()
}

// pass lets time pass for both.
func (r *rivals) pass(d int64) {
	for end := r.now + d; ; {
		next := r.owners[0]
		if other := r.owners[1]; other.due() < next.due() {
			next = other
		}
		if next.due() > end {
			r.now = end
			break
		}
		r.now = max(r.now, next.due())
		next.wake()
		r.learn()
		r.post()
	}
}

func (r *rivals) check(owner int, cost int64, wait time.Duration) {
	s := r.owners[owner]
	a := asked{owner: owner, at: s.clock(), cost: cost, wait: wait}
	a.tag = s.checkWait(wait, cost, r.rule)
	r.asked = append(r.asked, a)
	r.learn()
	r.post()
}

// learn looks at what was decided: the check begins within its wait, and its line was spent by no other.
func (r *rivals) learn() {
	for i := range r.asked {
		a := &r.asked[i]
		reply, ok := r.owners[a.owner].reply(a.tag)
		if a.told || !ok {
			continue
		}
		if a.told = true; reply.Err != nil {
			r.t.Fatal(reply.Err)
		}
		d := reply.Decision
		if !d.Allowed {
			continue
		}
		if d.Wait < 0 || d.Wait > a.wait {
			r.t.Fatalf("a check that waits %v begins after %v", a.wait, d.Wait)
		}
		a.begins, a.receipt = a.at+int64(d.Wait), d.Receipts[0]
		for _, p := range pieces(a.receipt) {
			for _, q := range r.live {
				if p.Start < q.End && q.Start < p.End {
					r.t.Fatalf("%c spends (%d, %d], of which (%d, %d] is spent already", 'A'+a.owner, p.Start-start, p.End-start, q.Start-start, q.End-start)
				}
			}
			if d.Wait > 0 && (p.Start < r.rule.Begin(a.begins) || p.End > r.rule.Bound(a.begins).NS) {
				r.t.Fatalf("a check that begins at %d spends (%d, %d]", a.begins-start, p.Start-start, p.End-start)
			}
			r.live = append(r.live, p)
		}
	}
}

// pieces are all the line that an admission has spent.
func pieces(r limit.Receipt) []limit.Span {
	all := slices.Clone(r.Reuses)
	if r.End > r.Start {
		all = append(all, r.Span)
	}
	return all
}

// giveBack returns some admission to its owner.
func (r *rivals) giveBack() {
	i := rapid.IntRange(0, len(r.asked)-1).Draw(r.t, "receipt")
	a := &r.asked[i]
	if a.begins == 0 || a.back || !r.owners[a.owner].giveBack(a.receipt) {
		return
	}
	a.back, a.backAt = true, r.owners[a.owner].clock()
	for _, p := range pieces(a.receipt) {
		r.live = slices.DeleteFunc(r.live, func(q limit.Span) bool { return q == p })
	}
	r.pass(1) // so that a window of time may begin after it
}

// An event is what begins at a time, or is returned then, in tokens.
type event struct{ at, tokens int64 }

// events are all that began, less what was returned: what is returned before it may begin never begins.
func (r *rivals) events() (all []event) {
	for _, a := range r.asked {
		switch {
		case a.begins == 0 || a.back && a.begins > a.backAt:
		case a.back:
			all = append(all, event{a.begins, a.cost}, event{a.backAt, -a.cost})
		default:
			all = append(all, event{a.begins, a.cost})
		}
	}
	return all
}

// within is what the events between two times come to, both included.
func within(all []event, from, to int64) (tokens int64) {
	for _, e := range all {
		if e.at >= from && e.at <= to {
			tokens += e.tokens
		}
	}
	return tokens
}

// Two owners of one key, neither of which knows of the other, let checks wait: no line is spent twice, each check begins within its time,
// and all that begins keeps to the bound. Messages are lost, late, and out of order.
func TestRivalsLetChecksWait(t *testing.T) {
	const token, window = 3 * ms, 10 * ms
	both, waited := 0, 0 // runs in which both admitted, and in which both let checks wait
	rapid.Check(t, func(t *rapid.T) {
		capacity, longest := rapid.Int64Range(1, 5).Draw(t, "capacity"), 200*time.Millisecond
		rule := bucketWithWait(t, "login", capacity, time.Duration(token), longest)
		windows := rapid.Bool().Draw(t, "windows")
		apart := int64(0)
		if windows {
			rule = ruleWithWait(t, limit.Limit{Name: "login", Algorithm: limit.FixedWindow, Capacity: capacity, Window: time.Duration(window)}, longest)
		} else {
			apart = rapid.Int64Range(-20, 20).Draw(t, "apart") * ms / 2
		}
		r := newRivals(t, rule, apart)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case len(r.onWay) > 0 && what < 5:
				r.bring()
			case len(r.asked) > 0 && what == 5:
				r.giveBack()
			case what < 8:
				wait := time.Duration(rapid.SampledFrom([]int64{0, 5, 50, 200}).Draw(t, "wait") * ms)
				r.check(rapid.IntRange(0, 1).Draw(t, "owner"), rapid.Int64Range(1, capacity).Draw(t, "cost"), wait)
			default:
				r.pass(rapid.SampledFrom([]int64{1, 2, 10, 60}).Draw(t, "pass") * ms / 2)
			}
		}
		for len(r.onWay) > 0 {
			r.bring()
		}
		all := r.events()
		for _, from := range all {
			if windows {
				if begin := from.at - from.at%window; within(all, begin, begin+window-1) > capacity {
					t.Fatalf("in the window from %d on %d tokens begin", begin-start, within(all, begin, begin+window-1))
				}
				continue
			}
			for _, to := range all {
				if sum, most := within(all, from.at, to.at), capacity*token+to.at-from.at+max(apart, -apart); to.at >= from.at && sum*token > most {
					t.Fatalf("from %d to %d ns %d tokens begin", from.at-start, to.at-start, sum)
				}
			}
		}
		r.tally(&both, &waited)
	})
	if both == 0 || waited == 0 {
		t.Errorf("in %d runs both have admitted, in %d both have let checks wait", both, waited)
	}
}

// tally counts the run if both owners have admitted checks, and if both have let some wait.
func (r *rivals) tally(both, waited *int) {
	var admits, waits [2]int
	for _, a := range r.asked {
		if a.begins > 0 {
			admits[a.owner]++
		}
		if a.begins > a.at {
			waits[a.owner]++
		}
	}
	*both += min(admits[0], admits[1], 1)
	*waited += min(waits[0], waits[1], 1)
}
