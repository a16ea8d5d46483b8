package metering

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/llm"
)

// TestExtensions lets an answer go on for ten minutes: its hold is extended each half of its time, and never after its settlement.
func TestExtensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		until := start.Add(time.Minute)
		var extended, over int
		m, _ := newMeter(t, fake{settle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
			switch {
			case over > 0:
				t.Errorf("%+v after the settlement", s)
			case time.Now().After(until):
				t.Errorf("the hold ended %v ago", time.Since(until))
			case s.Open:
				extended, until = extended+1, time.Now().Add(s.For)
			default:
				over++
			}
			return settled(s), nil
		}})
		x, _ := begun(t, m)
		pass(10 * time.Minute)
		x.Unanswered(502, false)
		pass(10 * time.Minute)
		if extended != 20 || over != 1 {
			t.Errorf("%d extensions and %d settlements", extended, over)
		}
		m.Close()
	})
}

// TestExtensionIsRepeated lets every other extension fail: the hold never ends all the same.
func TestExtensionIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until, tries := time.Now().Add(time.Minute), 0
		m, registry := newMeter(t, fake{settle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
			if time.Now().After(until) {
				t.Errorf("the hold ended %v ago", time.Since(until))
			}
			if tries++; s.Open && tries%2 == 1 {
				return limit.Settled{}, limit.ErrUnavailable
			}
			until = time.Now().Add(s.For)
			return settled(s), nil
		}})
		x, _ := begun(t, m)
		pass(10 * time.Minute)
		x.Unanswered(502, false)
		m.Close()
		if ok, bad := count(t, registry, "jeton_gateway_llm_extensions_total", "done"), count(t, registry, "jeton_gateway_llm_extensions_total", "failed"); ok < 10 || bad < 10 {
			t.Errorf("%v extensions, and %v that failed", ok, bad)
		}
	})
}

// TestSettlementWaitsForExtension settles while an extension is under way: the settlement comes last.
func TestSettlementWaitsForExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		m, _ := newMeter(t, fake{settle: func(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
			if s.Open {
				<-ctx.Done()            // the end gives it up,
				time.Sleep(time.Second) //nolint:forbidigo // and the node answers later; in the bubble's time
				order = append(order, "extended")
				return limit.Settled{}, ctx.Err()
			}
			order = append(order, "settled")
			return settled(s), nil
		}})
		x, _ := begun(t, m)
		pass(31 * time.Second)
		x.Unanswered(502, false)
		m.Close()
		if len(order) != 2 || order[1] != "settled" {
			t.Errorf("%v", order)
		}
	})
}

// TestPermitIsReturnedAsExtended returns the receipt of the last extension.
func TestPermitIsReturnedAsExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receipt := limit.Receipt{Limit: "s", Serial: 1, Span: limit.Span{End: int64(10 * time.Second)}, Permit: true}
		var returned []limit.Receipt
		m, _ := newMeter(t, fake{
			check: func(_ context.Context, r limit.Request) (limit.Decision, error) {
				if r.Extend != receipt.Serial {
					t.Errorf("permit %d is extended, which is %d", r.Extend, receipt.Serial)
				}
				receipt.Serial++
				return limit.Decision{Allowed: true, Receipts: []limit.Receipt{receipt}}, nil
			},
			back: func(_ context.Context, _ string, receipts []limit.Receipt) ([]bool, error) {
				returned = append(returned, receipts...)
				return []bool{true}, nil
			},
			settle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) { return settled(s), nil },
		})
		x := m.Begin(m.Route("chat"), "gpt-x", llm.Usage{})
		x.AddPermit(m.at, "org:a", receipt)
		x.Release(t.Context())
		synctest.Wait()
		if len(returned) != 1 || returned[0].Serial != 1 {
			t.Fatalf("a refused request returns %+v", returned)
		}
		x, _ = begun(t, m)
		x.AddPermit(m.at, "org:a", receipt)
		x.extend()
		x.extend()
		x.Unanswered(502, false)
		m.Close()
		if len(returned) != 2 || returned[1].Serial != 3 {
			t.Errorf("%+v", returned)
		}
	})
}

// TestQueue tries until there is an answer, gives up in the end, and drops what comes after Close.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails, tries := 3, 0
		m, registry := newMeter(t, fake{settle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
			if tries++; tries <= fails {
				return limit.Settled{}, limit.ErrUnavailable
			}
			return settled(s), nil
		}})
		outcomes := func(want map[string]float64) {
			t.Helper()
			for outcome, n := range want {
				if got := count(t, registry, "jeton_gateway_llm_settlements_total", outcome); got != n {
					t.Errorf("%v are %s, want %v", got, outcome, n)
				}
			}
		}
		end := func() {
			x, id := begun(t, m)
			x.end(llm.Charge{Usage: llm.Usage{Input: 12, Output: 30}, Basis: llm.ByUsage}, nil)
			x.end(llm.Charge{Usage: llm.Usage{Input: 99}, Basis: llm.ByUsage}, nil) // does nothing
			pass(5 * time.Minute)
			r, err := m.memory.Recall(id)
			if err != nil || r.Exchange.Used.Input != 12 || r.Exchange.Basis != "usage" {
				t.Errorf("%+v, %v", r, err)
			}
		}
		end()
		outcomes(map[string]float64{"done": 1, "failed": 0})
		if tries != 4 {
			t.Errorf("%d tries", tries)
		}
		fails = 1 << 20
		tries = 0
		end()
		outcomes(map[string]float64{"done": 1, "failed": 1})
		if tries != maxTries {
			t.Errorf("%d tries", tries)
		}
		start := time.Now()
		x, id := begun(t, m)
		x.Unanswered(502, true)
		if r, err := m.memory.Recall(id); err != nil || r.Exchange.Basis != "estimate" || r.Exchange.Unread != "there was none in time, or before its client left" {
			t.Errorf("%+v, %v", r, err)
		}
		m.Close()
		if took := time.Since(start); took > closeWithin {
			t.Errorf("closing took %v", took)
		}
		outcomes(map[string]float64{"failed": 2, "dropped": 0})
		x, _ = begun(t, m)
		x.Unanswered(502, true)
		outcomes(map[string]float64{"failed": 2, "dropped": 1})
	})
}

// TestFinalErrors are not tried again.
func TestFinalErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{limit.ErrUnknownHold, &limit.FieldError{Field: "hold", Problem: "is wrong"}} {
			tries := 0
			m, _ := newMeter(t, fake{settle: func(context.Context, limit.Settlement) (limit.Settled, error) {
				tries++
				return limit.Settled{}, errors.Join(err)
			}})
			x, _ := begun(t, m)
			x.Unanswered(502, false)
			m.Close()
			if tries != 1 {
				t.Errorf("%v: %d tries", err, tries)
			}
		}
	})
}

// TestConfig refuses a Meter that could not work.
func TestConfig(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error without a checker")
	}
}
