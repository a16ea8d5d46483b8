package history_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// anything draws a few calls of one bucket that no limiter need ever have answered so.
func anything(t *rapid.T) *history.History {
	h := &history.History{Limits: []history.Limit{
		token(rapid.Int64Range(1, 6).Draw(t, "capacity"), rapid.Int64Range(1, 7).Draw(t, "tokens"), rapid.Int64Range(1, 7).Draw(t, "per")),
	}}
	long := rapid.SampledFrom([]int64{1, 1, 10_000_000}).Draw(t, "long")
	kinds := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4}), 1, 14).Draw(t, "calls")
	resets := rapid.Bool().Draw(t, "resets")
	for _, kind := range kinds {
		c := history.Call{Limit: "api", Key: "k", Start: epoch + long*rapid.Int64Range(0, 40).Draw(t, "start")}
		c.End = c.Start + rapid.Int64Range(0, 9).Draw(t, "took")
		span := history.Span{Start: c.Start, End: c.Start + rapid.Int64Range(0, 9).Draw(t, "line")}
		switch {
		case kind == 1:
			c.Kind, c.Outcome, c.Receipt = history.KindReturn, history.Taken, &history.Receipt{Span: span}
		case kind == 2:
			c.Kind, c.Outcome, c.Receipt = history.KindReturn, history.Failed, &history.Receipt{Span: span, Reuses: []history.Span{span}}
		case kind == 3 && resets:
			c.Kind, c.Outcome = history.KindReset, history.Done
		case kind == 4 && resets:
			c.Kind, c.Outcome = history.KindReset, history.Failed
		default:
			c.Kind, c.Outcome, c.Cost = history.KindCheck, history.Admitted, rapid.Int64Range(1, 6).Draw(t, "cost")
			if resets { // a bucket and a segment are many tokens
				c.Cost *= rapid.SampledFrom([]int64{1, history.Ahead / 4}).Draw(t, "times")
			}
		}
		h.Calls = append(h.Calls, c)
	}
	return h
}

// The tree finds exactly what looking at every window finds.
func TestWindowsIsTheSlowWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := anything(t)
		epsilon := rapid.Int64Range(0, 3).Draw(t, "epsilon")
		over, worst := slow(h, epsilon)
		results, err := history.Run(h, epsilon, "windows")
		if err != nil {
			t.Fatal(err)
		}
		if over != (results[0].Found > 0) {
			t.Fatalf("%v; the slow way finds %v tokens", results[0], worst)
		}
	})
}

// One token more than fits is always found, and what just fits never is.
func TestOneTokenIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScene(t)
		s.resets, s.returns, s.checks, s.keys, s.limits = 0, 0, min(s.checks, 30), 1, s.limits[:1]
		h := s.play()
		c := history.Call{Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "key:0", Start: epoch, End: epoch}
		if n := len(h.Calls); n > 0 {
			at := h.Calls[rapid.IntRange(0, n-1).Draw(t, "at")]
			c.Start, c.End = at.Start, at.End
		}
		h.Calls = append(h.Calls, c)
		last := &h.Calls[len(h.Calls)-1]
		// What fits: less than that cannot be too much, since the worst window with a large check is one that holds it.
		last.Cost = 1 << 40
		_, worst := slow(h, s.epsilon)
		worst.Sub(big.NewRat(1<<40, 1), worst)
		last.Cost = new(big.Int).Quo(worst.Num(), worst.Denom()).Int64()
		for extra := range int64(2) {
			last.Cost += extra
			results, err := history.Run(h, s.epsilon, "windows")
			if err != nil {
				t.Fatal(err)
			}
			if results[0].Found != int(extra) {
				t.Fatalf("%d tokens, %d more than fit: %v", last.Cost, extra, results[0])
			}
		}
	})
}

// A nanosecond that is spent twice is always found.
func TestOneNanosecondIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScene(t)
		s.mute, s.failures = 0, 0
		h := s.play()
		var spans []int
		for i := range h.Calls {
			if c := &h.Calls[i]; isAdmitted(c) && c.Receipt.End > c.Receipt.Start {
				spans = append(spans, i)
			}
		}
		if len(spans) == 0 {
			t.Skip("nothing was admitted")
		}
		c := h.Calls[rapid.SampledFrom(spans).Draw(t, "call")]
		r := *c.Receipt
		length := r.End - r.Start
		if rapid.Bool().Draw(t, "before") {
			r.Start, r.End = r.Start-length+1, r.Start+1
		} else {
			r.Start, r.End = r.End-1, r.End-1+length
		}
		c.Receipt = &r
		h.Calls = append(h.Calls, c)
		results, err := history.Run(h, s.epsilon, "disjoint")
		if err != nil {
			t.Fatal(err)
		}
		if results[0].Found == 0 {
			t.Fatalf("%v was spent twice", r.Span)
		}
	})
}
