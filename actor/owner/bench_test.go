package owner_test

import (
	"fmt"
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
			Limit: m.Limit, Seq: m.Seq, Verdict: owner.Accepted, Position: m.To, Generation: m.Generation,
		}, now, out)
	}
	out.Reset()
}

func benchConfig() *owner.Config {
	seq := uint64(0)
	return &owner.Config{
		Replicas: 1, Delta: owner.DefaultDelta, Busy: owner.DefaultBusy, Slack: 1500 * ms, ReturnFor: owner.DefaultReturnFor,
		NextSeq: func() uint64 { seq++; return seq },
		Rand:    func(int64) int64 { return 0 },
	}
}

// A check of a hot key, admitted from memory, with the reservations that its key needs in the background.
func BenchmarkCheckAdmit(b *testing.B) {
	for _, receipts := range []bool{false, true} {
		b.Run(fmt.Sprintf("receipts=%v", receipts), func(b *testing.B) {
			rules := []*limit.Rule{mustRule(b, "hot", 1_000_000, 1_000_000_000, time.Second)}
			o, out, now := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}, start
			b.ReportAllocs()
			for b.Loop() {
				o.Check(owner.Check{At: now, Deadline: now + second, Rules: rules, Cost: 1, Receipts: receipts}, out)
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
	b.ReportAllocs()
	for b.Loop() {
		o.Check(check, out)
		out.Reset()
	}
}

// The first check of a key: the owner is made, waits for its reservation, and decides.
func BenchmarkCheckCold(b *testing.B) {
	rules := []*limit.Rule{mustRule(b, "login", 10, 1, time.Second)}
	cfg, out := benchConfig(), &owner.Out{}
	b.ReportAllocs()
	for b.Loop() {
		o := owner.New(cfg, limit.OwnerID{1}, 0)
		o.Check(owner.Check{At: start, Deadline: start + second, Rules: rules, Cost: 1}, out)
		promptly(o, out, start)
	}
}
