package limit_test

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A decision alone: admitted mostly, and with a time per token of 10/7 ns.
func BenchmarkDecide(b *testing.B) {
	rule := mustRule(b, 1000, perSecond(700_000_000))
	tat, now := limit.Pos{}, epoch
	b.ReportAllocs()
	for b.Loop() {
		tat, _ = rule.Decide(tat, now, 1)
		now += 2
	}
}

func BenchmarkOutcome(b *testing.B) {
	rule := mustRule(b, 1000, perSecond(700_000_000))
	tat := limit.At(epoch + 700)
	end := rule.End(tat, epoch, rule.Length(1000))
	b.ReportAllocs()
	for b.Loop() {
		rule.Outcome(tat, epoch, 1000, end, false)
	}
}

func BenchmarkParseRefill(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := limit.ParseRefill("100/1m"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHold reports what the text of a hold costs, which is written and read twice in the life of each.
func BenchmarkHold(b *testing.B) {
	h := limit.Hold{Key: "user:10000000042", Granted: 1500, Limits: []limit.Held{{Limit: "tokens", Generation: 1, ID: 7}}}
	text := h.String()
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		var room []byte
		for b.Loop() {
			room = h.AppendTo(room[:0])
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		var (
			r    limit.HoldReader
			room [1]limit.Held
		)
		for b.Loop() {
			if _, err := r.Read(text, room[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
