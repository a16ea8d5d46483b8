package owner_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// promptly lets one replica accept whatever the owner sends, at once.
func promptly(o *owner.Owner, out *owner.Out, now int64) {
	for len(out.Sends) > 0 {
		m := out.Sends[0]
		out.Reset()
		o.Answer(owner.Answer{
			Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch, Verdict: owner.Accepted, Position: m.To, Generation: m.Generation,
		}, now, out)
	}
	out.Reset()
}

func benchConfig() *owner.Config {
	seq := uint64(0)
	return &owner.Config{
		Replicas: 1, Delta: owner.DefaultDelta, Busy: owner.DefaultBusy, Slack: 1500 * ms, ReturnFor: owner.DefaultReturnFor,
		NextSeq: func() uint64 { seq++; return seq },
		Nonce:   rand.Uint64,
		Rand:    func(int64) int64 { return 0 },
	}
}

// A check of a hot key, admitted from memory, with the reservations that its key needs in the background.
func BenchmarkCheckAdmit(b *testing.B) {
	for _, c := range []struct {
		name     string
		receipts bool
		room     []limit.Outcome
	}{
		{name: "room for the outcome", room: make([]limit.Outcome, 1)},
		{name: "no room"},
		{name: "receipt", receipts: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			rules := []*limit.Rule{mustRule(b, "hot", 1_000_000, 1_000_000_000, time.Second)}
			o, out, now := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}, start
			b.ReportAllocs()
			for b.Loop() {
				o.Check(owner.Check{
					At: now, Deadline: now + second, Rules: rules, Cost: 1, Receipts: c.receipts, Outcomes: c.room,
				}, out)
				promptly(o, out, now)
				now += 1000
			}
		})
	}
}

// A check of a key whose bucket is empty.
func BenchmarkCheckDeny(b *testing.B) {
	rules := []*limit.Rule{mustRule(b, "hot", 10, 1, time.Hour)}
	o, out := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}
	check := owner.Check{At: start, Deadline: start + second, Rules: rules, Cost: 10}
	o.Check(check, out)
	promptly(o, out, start)
	check.Outcomes = make([]limit.Outcome, 1)
	b.ReportAllocs()
	for b.Loop() {
		o.Check(check, out)
		out.Reset()
	}
}

// The first check of a key: the owner is made, waits for its reservation, and decides.
func BenchmarkCheckCold(b *testing.B) {
	rules := []*limit.Rule{mustRule(b, "login", 10, 1, time.Second)}
	terms, out, room := owner.NewTerms(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}, make([]limit.Outcome, 1)
	b.ReportAllocs()
	for b.Loop() {
		o := owner.Owner{Terms: terms}
		o.Check(owner.Check{At: start, Deadline: start + second, Rules: rules, Cost: 1, Outcomes: room}, out)
		promptly(&o, out, start)
	}
}

// One check of a long queue runs out of time.
func BenchmarkExpire(b *testing.B) {
	const waiting = 10_000
	rules := []*limit.Rule{mustRule(b, "login", 10, 1, time.Second)}
	terms, out := owner.NewTerms(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		o := owner.Owner{Terms: terms}
		for k := range int64(waiting) {
			o.Check(owner.Check{At: start, Deadline: start + k + 1, Rules: rules, Cost: 1}, out)
		}
		b.StartTimer()
		for k := range int64(waiting) {
			o.Wake(start+k+1, out)
			out.Reset()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/waiting, "ns/check")
}

// A check of a hot key by each algorithm, and by windows of which nothing is reserved ahead.
func BenchmarkCheckByAlgorithm(b *testing.B) {
	for _, l := range []limit.Limit{
		{Capacity: 1_000_000, Refill: limit.Refill{Tokens: 1_000_000_000, Per: time.Second}},
		{Algorithm: limit.FixedWindow, Capacity: 1_000_000_000, Window: time.Minute},
		{Algorithm: limit.FixedWindow, Capacity: 1_000_000_000_000, Per: "month", Timezone: "Europe/Berlin"},
	} {
		l.Name = "hot"
		rule, err := l.Rule()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(rule.Register(), func(b *testing.B) {
			rules, room := []*limit.Rule{rule}, make([]limit.Outcome, 1)
			o, out, now := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}, start
			for b.Loop() {
				o.Check(owner.Check{At: now, Deadline: now + second, Rules: rules, Cost: 1, Outcomes: room}, out)
				promptly(o, out, now)
				now += 1000
			}
		})
	}
}

// A check of a hot key, admitted, and one that is denied, under every algorithm: 1,000,000 checks a second of a limit that never fills, and
// of one that is full. What owners store is stored at once.
func BenchmarkCheckOfEveryAlgorithm(b *testing.B) {
	const many = int64(1e12)
	for _, c := range []struct {
		name        string
		large, full limit.Limit
	}{
		{"token-bucket", limit.Limit{Capacity: 1e9, Refill: limit.Refill{Tokens: 1e9, Per: time.Second}}, limit.Limit{Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour}}},
		{"fixed-window", limit.Limit{Capacity: 6e10, Window: time.Minute}, limit.Limit{Capacity: 1, Window: time.Hour}},
		{"sliding-window", limit.Limit{Capacity: many, Window: time.Minute}, limit.Limit{Capacity: 1, Window: time.Hour}},
		{"weighted", limit.Limit{Algorithm: limit.SlidingWindow, Capacity: many, Window: time.Minute, Weighted: true}, limit.Limit{Algorithm: limit.SlidingWindow, Capacity: 1, Window: time.Hour, Weighted: true}},
		{"sliding-log", limit.Limit{Capacity: 1000, Window: time.Millisecond}, limit.Limit{Capacity: 1, Window: time.Hour}},
		{"concurrency", limit.Limit{Capacity: 1, Lease: time.Second}, limit.Limit{Capacity: 1, Lease: time.Hour}},
	} {
		for kind, l := range map[string]limit.Limit{"admitted": c.large, "denied": c.full} {
			if l.Name = "hot"; l.Algorithm == "" {
				l.Algorithm = c.name
			}
			b.Run(kind+"/"+c.name, func(b *testing.B) {
				rules := []*limit.Rule{ruleFor(b, l)}
				o, out, now := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}, start
				var stored []byte
				var version int64
				store := func() {
					for len(out.Sends) > 0 {
						m := out.Sends[0]
						out.Reset()
						a := owner.Answer{Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch, Verdict: owner.Accepted, Position: m.To, Generation: m.Generation}
						if m.Claim {
							a.Version, a.Ledger = version, stored
						} else {
							version, stored = m.From, m.Ledger
						}
						o.Answer(a, now, out)
					}
					out.Reset()
				}
				check := owner.Check{Rules: rules, Cost: 1, Outcomes: make([]limit.Outcome, 1)}
				step := int64(1000)
				if kind == "admitted" && l.Lease > 0 {
					step = int64(l.Lease)
				}
				b.ReportAllocs()
				for b.Loop() {
					check.At, check.Deadline = now, now+second
					o.Check(check, out)
					store()
					now += step
				}
			})
		}
	}
}
