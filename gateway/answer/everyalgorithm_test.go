package answer

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

// What headers tell of a limit comes true whatever its algorithm: when nothing remains, there is a token again after the window.
func TestHeadersOfEveryAlgorithm(t *testing.T) {
	for _, algorithm := range limit.Spending() {
		t.Run(algorithm, func(t *testing.T) {
			rule, err := limittest.Of(algorithm, "login", 10, limit.Refill{Tokens: 1, Per: 6 * time.Second}).Rule()
			if err != nil {
				t.Fatal(err)
			}
			tat := limit.Pos{}
			now := time.Date(2026, time.March, 1, 12, 0, 7, 1, time.UTC).UnixNano()
			for spent := range int64(11) {
				var ok bool
				end := rule.End(tat, now, rule.Length(1))
				if tat, ok = rule.Decide(tat, now, 1); ok != (spent < 10) {
					t.Fatalf("after %d of 10 another token is admitted: %v", spent, ok)
				}
				q := Quota{Rule: rule, Outcome: rule.Outcome(tat, now, 1, end, ok)}
				window, known := q.window()
				if !known || window < 1 || window > seconds(rule.Fill()) {
					t.Errorf("%+v has a window of %d s, and a whole bucket takes %v", q.Outcome, window, rule.Fill())
				}
				if back := now + window*int64(time.Second); q.Remaining == 0 && rule.Tokens(tat, back) == 0 {
					t.Errorf("%+v: after %d s there is no token", q.Outcome, window)
				}
				if back := now + q.wait()*int64(time.Second); !ok && rule.Tokens(tat, back) == 0 {
					t.Errorf("%+v: after the wait of %d s there is no token", q.Outcome, q.wait())
				}
			}
		})
	}
}
