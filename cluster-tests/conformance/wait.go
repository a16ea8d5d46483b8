package conformance

import (
	"errors"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// waiting is a check of that limit which may wait so long.
func waiting(wait time.Duration) limit.Request {
	r := request("user:42", 1, "queue")
	r.Wait, r.Receipt = wait, true
	return r
}

// Turns are the waits of checks of one token that come at now to a full bucket, as long as none waits longer than it may, and that of the
// first one that would.
func Turns(rule *limit.Rule, now int64, longest time.Duration) (waits []time.Duration, tooLong time.Duration) {
	for tat, token := (limit.Pos{}), rule.Length(1); ; {
		begin := rule.Start(tat, now, token)
		if tooLong = time.Duration(begin - now); tooLong > longest {
			return waits, tooLong
		}
		waits = append(waits, tooLong)
		tat = rule.End(tat, begin, token)
	}
}

// waitInTurn: checks that wait begin one after another, each when the line behind those before it can be spent; one that would wait too
// long is told when to come back, and a place that is given up goes to the next one.
func waitInTurn(h *harness) {
	rule := h.rule("queue")
	waits, tooLong := Turns(rule, h.now.Load(), longestWait)
	if len(waits) <= int(rule.Capacity) {
		h.Fatalf("only %d checks may wait", len(waits))
	}
	for i, want := range waits {
		d := h.check(waiting(longestWait))
		if !d.Allowed || d.Wait != want || len(d.Receipts) != 1 {
			h.Fatalf("check %d: %+v, want an admission that begins after %v", i, d, want)
		}
		h.placeGivenUp(d, want)
	}
	if d := h.check(waiting(longestWait)); d.Allowed || d.Wait != 0 || d.Limits[0].RetryAfter != tooLong-longestWait {
		h.Errorf("%+v, want a denial that is to come back after %v", d, tooLong-longestWait)
	}
	if d := h.check(request("user:42", 1, "queue")); d.Allowed || d.Wait != 0 {
		h.Errorf("one that does not wait: %+v", d)
	}
}

// placeGivenUp gives back a place in which no caller has begun: the next check has the same.
func (h *harness) placeGivenUp(d limit.Decision, want time.Duration) {
	h.Helper()
	if want == 0 {
		return
	}
	back, err := h.Return(h.Context(), "user:42", d.Receipts)
	if err != nil || len(back) != 1 || !back[0] {
		h.Fatalf("the place was not given up: %v, %v", back, err)
	}
	if next := h.check(waiting(longestWait)); !next.Allowed || next.Wait != want {
		h.Fatalf("in a place that was given up: %+v, want one that begins after %v", next, want)
	}
}

// waitRefused: a limit without wait lets no check wait, and one with a wait no longer than it says; the error names the field.
func waitRefused(h *harness) {
	unlimited := request("user:42", 1, "demo")
	unlimited.Wait = time.Second
	both := waiting(time.Second)
	both.Limits = append(both.Limits, limit.Named("demo"))
	for says, r := range map[string]limit.Request{
		`limit "demo" lets no check wait`:                  unlimited,
		"lets no check wait":                               both,
		`6s is more than limit "queue" allows: at most 5s`: waiting(6 * time.Second),
		"31s is too long":                                  waiting(31 * time.Second),
		"is negative":                                      waiting(-time.Second),
	} {
		_, err := h.Check(h.Context(), r)
		for _, err := range []error{err, h.CheckBatch(h.Context(), []limit.Request{r})[0].Err} {
			if field, ok := errors.AsType[*limit.FieldError](err); !ok || field.Field != "wait" || !strings.Contains(field.Problem, says) {
				h.Errorf("%+v: %v, want the field wait, %q", r, err, says)
			}
		}
	}
	if left := h.remaining("user:42", "demo"); left != h.rule("demo").Capacity {
		h.Errorf("what was refused took tokens: %d are left", left)
	}
}
