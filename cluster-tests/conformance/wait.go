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

// waitInTurn: checks that wait begin one after another, each when the line behind those before it can be spent; one that would wait too
// long is told when to come back, and a place that is given up goes to the next one.
func waitInTurn(h *harness) {
	rule, tat := h.rule("queue"), limit.Pos{}
	now, token := h.now.Load(), rule.Length(1)
	for held := 0; ; held++ {
		begin := rule.Start(tat, now, token)
		want := time.Duration(begin - now)
		d := h.check(waiting(longestWait))
		if want > longestWait {
			if held <= int(rule.Capacity) {
				h.Errorf("only %d checks may wait", held)
			}
			if d.Allowed || d.Wait != 0 || d.Limits[0].RetryAfter != want-longestWait {
				h.Errorf("%+v, want a denial that is to come back after %v", d, want-longestWait)
			}
			break
		}
		if !d.Allowed || d.Wait != want || len(d.Receipts) != 1 {
			h.Fatalf("check %d: %+v, want an admission that begins after %v", held, d, want)
		}
		h.placeGivenUp(d, want)
		tat = rule.End(tat, begin, token)
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
