package limit_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A denial says what is left and when it passes; of several limits, the one counts that the request waits for.
func TestWords(t *testing.T) {
	for _, tt := range []struct {
		outcome limit.Outcome
		want    string
	}{
		{limit.Outcome{Allowed: true, Limit: 10, Remaining: 10}, "10 of 10 left"},
		{limit.Outcome{Allowed: true, Limit: 10, Remaining: 9, ResetAfter: 6 * time.Minute}, "9 of 10 left; full again in 6m"},
		{limit.Outcome{Limit: 10, Remaining: 1, RetryAfter: 1600 * time.Millisecond, ResetAfter: time.Hour}, "1 of 10 left; try again in 1.6s"},
		{limit.Outcome{Never: true, Ended: true, Limit: 10, Remaining: 2}, "2 of 10 left; the permit has ended; only a new check can enter"},
		{limit.Outcome{Never: true, Limit: 10, Remaining: 10}, "10 of 10 left; the cost is above the capacity and can never pass"},
	} {
		if got := tt.outcome.Words(); got != tt.want {
			t.Errorf("%+v says %q, want %q", tt.outcome, got, tt.want)
		}
	}
	short, long := limit.Outcome{Name: "short", RetryAfter: 1}, limit.Outcome{Name: "long", RetryAfter: 2}
	fine, never := limit.Outcome{Name: "fine", Allowed: true, RetryAfter: 9}, limit.Outcome{Name: "never", Never: true}
	for want, limits := range map[string][]limit.Outcome{
		"long": {fine, short, long}, "short": {short, fine}, "never": {long, never, short}, "": {fine},
	} {
		got := (&limit.Decision{Limits: limits}).Denying()
		if want == "" && got != nil || want != "" && (got == nil || got.Name != want) {
			t.Errorf("%+v: %+v, want %s", limits, got, want)
		}
	}
}
