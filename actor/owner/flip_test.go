package owner_test

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// Callers who define one limit in two ways, as they do while a new version is rolled out, meet a key whose line is
// reserved ahead of now: its owner has to learn that from a refusal, and must not forget it with each change of rule.
func TestTwoDefinitionsOfOneLimitDoNotStarve(t *testing.T) {
	const (
		start  = int64(1e18)
		tick   = int64(1e5) // 0.1 ms
		travel = 5 * tick   // of a reservation and its answer
		ticks  = 3000
	)
	rules := [2]*limit.Rule{}
	for i := range rules {
		rule, err := limit.Limit{Name: "x", Capacity: 100_000 + int64(i), Refill: limit.Refill{Tokens: 1, Per: 60e9}}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		rules[i] = rule
	}
	seq, rand := uint64(0), uint64(1)
	o := owner.New(&owner.Config{
		Replicas: 1, Delta: owner.DefaultDelta, Busy: owner.DefaultBusy, Slack: 15e8, ReturnFor: owner.DefaultReturnFor,
		NextSeq: func() uint64 { seq++; return seq },
		Rand: func(n int64) int64 {
			rand = rand*6364136223846793005 + 1
			return int64(rand>>33) % n
		},
	}, limit.OwnerID{1}, 1)
	type sent struct {
		owner.Send
		answered int64
	}
	var (
		stored    = register.Register{H: start + 300e9}
		partition = register.Partition{Epoch: 1}
		flight    []sent
		out       owner.Out
		admitted  int
		refused   int
	)
	for now := start; now < start+ticks*tick; now += tick {
		out.Reset()
		for len(flight) > 0 && flight[0].answered <= now {
			s := flight[0].Send
			flight = flight[1:]
			after, a, _ := partition.Reserve(stored, register.Reservation{
				Seq: s.Seq, Epoch: 1, Now: now, Limit: s.Limit, Generation: s.Generation, From: s.From, To: s.To, Reach: s.Reach, Lead: s.Lead,
			}, now, register.DefaultBounds())
			stored = after
			verdict := owner.Accepted
			if a.Verdict != register.Accepted {
				verdict = owner.Refused
				refused++
			}
			o.Answer(owner.Answer{Limit: "x", Seq: s.Seq, Epoch: s.Epoch, Verdict: verdict, Position: a.Position, Generation: a.Generation}, now, &out)
		}
		i := int((now - start) / tick)
		o.Check(owner.Check{Tag: i, At: now, Deadline: now + 1e9, Rules: rules[i%2 : i%2+1], Cost: 1}, &out)
		if o.Due() <= now {
			o.Wake(now, &out)
		}
		for _, s := range out.Sends {
			flight = append(flight, sent{s, now + travel})
		}
		for _, r := range out.Replies {
			if r.Err == nil && r.Decision.Allowed {
				admitted++
			}
		}
	}
	if admitted < ticks/2 || refused > 10 {
		t.Errorf("%d of %d checks admitted, %d reservations refused", admitted, ticks, refused)
	}
}

// A dear check among cheap ones does not make a key busy: what counts is how often it is checked.
func TestADearCheckIsNotManyChecks(t *testing.T) {
	rule, err := limit.Limit{Name: "tokens", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: 3600e9}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	var out owner.Out
	o := owner.New(&owner.Config{
		Replicas: 1, Delta: owner.DefaultDelta, Busy: owner.DefaultBusy, Slack: 15e8, ReturnFor: owner.DefaultReturnFor,
		NextSeq: func() uint64 { return 1 }, Rand: func(int64) int64 { return 0 },
	}, limit.OwnerID{1}, 1)
	for i, cost := range []int64{100, 1} {
		now := int64(1e18) + int64(i)*1e6
		out.Reset()
		o.Check(owner.Check{At: now, Deadline: now + 1e9, Rules: []*limit.Rule{rule}, Cost: cost}, &out)
		if len(out.Sends) != 1 {
			t.Fatalf("cost %d: %d reservations", cost, len(out.Sends))
		}
		m := out.Sends[0]
		if m.To-m.From != rule.Length(cost).NS {
			t.Errorf("cost %d reserves %d tokens' worth of line", cost, (m.To-m.From)/rule.Length(1).NS)
		}
		o.Answer(owner.Answer{Limit: "tokens", Seq: m.Seq, Epoch: m.Epoch, Verdict: owner.Accepted, Position: m.To}, now, &out)
	}
}
