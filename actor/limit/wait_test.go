package limit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

// A check that waits is decided as one that comes at Start: that is the first time at which one would be admitted, and what is spent at
// the latest time that a limit allows lies within its reach.
func TestEveryAlgorithmSaysWhenACheckBegins(t *testing.T) {
	for _, name := range limit.Spending() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			r := drawOf(t, name)
			l := r.Limit
			l.MaxWait = time.Duration(rapid.Int64Range(0, limit.LongestWait.Milliseconds()).Draw(t, "longest wait")) * time.Millisecond
			r, err := l.Rule()
			if err != nil {
				t.Fatal(err)
			}
			at := rapid.Int64Range(0, 1<<60).Draw(t, "t")
			if bound := r.Bound(at + int64(r.MaxWait)); bound.Ceil() > at+r.Reach() {
				t.Fatalf("a check at %d that waits %v may spend up to %d, with a reach of %d", at, r.MaxWait, bound, r.Reach())
			}
			tat := limit.At(max(at+rapid.Int64Range(-r.Reach(), 2*r.Reach()).Draw(t, "tat"), 0))
			cost := rapid.Int64Range(1, r.Capacity).Draw(t, "cost")
			begin := r.Start(tat, at, r.Length(cost))
			if begin < at {
				t.Fatalf("begins at %d, before %d", begin, at)
			}
			if _, ok := r.Decide(tat, begin, cost); !ok {
				t.Fatalf("at %d, when it would begin, it is denied", begin)
			}
			if later := begin + rapid.Int64Range(0, r.Reach()).Draw(t, "later"); later > begin {
				if _, ok := r.Decide(tat, later, cost); !ok {
					t.Fatalf("it would begin at %d, and at %d it is denied", begin, later)
				}
			}
			if begin == at {
				return
			}
			for _, earlier := range []int64{begin - 1, rapid.Int64Range(at, begin-1).Draw(t, "earlier")} {
				if _, ok := r.Decide(tat, earlier, cost); ok {
					t.Fatalf("it would begin at %d, and at %d it is admitted", begin, earlier)
				}
			}
		}))
	}
}

// Documents and requests have waits, and refuse those that say nothing, each with the field and what to write.
func TestWaitInvalid(t *testing.T) {
	for text, want := range map[string]string{
		"algorithm: sliding-window, limit: 5, window: 1m, wait: 2s": "wait: does not fit the algorithm sliding-window, which has limit, window, weighted, reserve, hold, on_expiry and max_debt: leave it out, or write algorithm: fixed-window or token-bucket",
		"algorithm: concurrency, limit: 5, lease: 30s, wait: 2s":    "wait: does not fit the algorithm concurrency",
		"capacity: 5, refill: 5/s, wait: 31s":                       "wait: 31s is too long: at most 30s, the longest deadline",
		"capacity: 5, refill: 5/s, wait: -1s":                       "wait: -1s is negative: leave it out to wait for nothing",
		"capacity: 5, refill: 5/s, wait: 1500us":                    "wait: 1.5ms is no whole number of milliseconds",
		"capacity: 5, refill: 5/s, wait: 2":                         `wait: "2" is not a duration, such as 2s or 500ms`,
	} {
		for _, form := range []string{"limits: {smooth: {" + text + "}}", "limits:\n  smooth:\n    " + strings.ReplaceAll(text, ", ", "\n    ") + "\n"} {
			if _, err := limit.ParseDocument([]byte(form)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		}
	}
	plain := limit.Limit{Name: "plain", Capacity: 5, Refill: limit.Refill{Tokens: 5, Per: time.Second}}
	waits := plain
	waits.Name, waits.MaxWait = "waits", 2*time.Second
	for what, r := range map[string]struct {
		l    limit.Limit
		wait time.Duration
		want string
	}{
		"none allowed":  {plain, time.Second, `wait: limit "plain" lets no check wait: leave the wait out, or give the limit wait: 1s`},
		"more":          {waits, 3 * time.Second, `wait: 3s is more than limit "waits" allows: at most 2s`},
		"counts":        {limittest.Of(limit.SlidingLog, "log", 5, plain.Refill), time.Second, `counts by sliding-log, which says nothing of a time to come`},
		"as allowed":    {waits, 2 * time.Second, ""},
		"nothing asked": {plain, 0, ""},
	} {
		rule, err := r.l.Rule()
		if err != nil {
			t.Fatal(err)
		}
		err = rule.AllowsWait(r.wait)
		if r.want == "" && err != nil || r.want != "" && (err == nil || !strings.Contains(err.Error(), r.want)) {
			t.Errorf("%s: %v, want %q", what, err, r.want)
		}
	}
}

func TestRequestWithWaitInvalid(t *testing.T) {
	named := []limit.Ref{limit.Named("login")}
	for _, tt := range []struct {
		r    limit.Request
		want string
	}{
		{limit.Request{Wait: -time.Second}, "-1s is negative"},
		{limit.Request{Wait: 31 * time.Second}, "31s is too long: at most 30s"},
		{limit.Request{Wait: time.Second, Look: true}, "a look takes nothing"},
		{limit.Request{Wait: time.Second, Extend: 7}, "a permit is extended at once"},
	} {
		tt.r.Key, tt.r.Limits = "user:42", named
		wrong := (*limit.FieldError)(nil)
		if err := tt.r.Validate(); !errors.As(err, &wrong) || wrong.Field != "wait" || !strings.Contains(wrong.Problem, tt.want) {
			t.Errorf("%+v: %v, want %q", tt.r, err, tt.want)
		}
	}
	for _, ms := range []string{"-1", "30001", "9223372036854775807"} {
		var r limit.Request
		wrong := (*limit.FieldError)(nil)
		if err := json.Unmarshal([]byte(`{"key":"k","limits":["login"],"wait_ms":`+ms+`}`), &r); !errors.As(err, &wrong) || wrong.Field != "wait_ms" {
			t.Errorf("wait_ms %s: %v", ms, err)
		}
	}
}

// Waits are the same after JSON and after a document, and in an answer they are rounded up: who begins too early breaks the limit.
func TestWaitRoundTrip(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {smooth: {capacity: 5, refill: 5/s, wait: 1.5s}}"))
	if err != nil {
		t.Fatal(err)
	}
	written, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := limit.ParseDocument(written)
	if err != nil {
		t.Fatal(err)
	}
	if rule, _ := again.Rule("smooth"); rule.MaxWait != 1500*time.Millisecond {
		t.Errorf("the document says %v", rule.MaxWait)
	}
	rule, _ := doc.Rule("smooth")
	want := limit.Request{Key: "k", Limits: []limit.Ref{limit.Inline(rule.Limit)}, Wait: 700 * time.Millisecond}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var r limit.Request
	if err := json.Unmarshal(text, &r); err != nil || r.Wait != want.Wait || *r.Limits[0].Inline != rule.Limit {
		t.Errorf("%s is read as %+v, %v", text, r, err)
	}
	for ns, ms := range map[time.Duration]time.Duration{0: 0, 1: time.Millisecond, time.Second: time.Second, time.Second + 1: 1001 * time.Millisecond} {
		text, err := json.Marshal(limit.AllDecision{Allowed: true, Wait: ns, Decisions: []limit.Decision{{Allowed: true, Wait: ns, Limits: []limit.Outcome{{Name: "a", Allowed: true}}}}})
		if err != nil {
			t.Fatal(err)
		}
		var d limit.AllDecision
		if err := json.Unmarshal(text, &d); err != nil || d.Wait != ms || d.Decisions[0].Wait != ms {
			t.Errorf("%v is %s, read as %v and %v, %v", ns, text, d.Wait, d.Decisions[0].Wait, err)
		}
	}
}

// The wait of requests for several keys is the longest of their parts. Requests of one key that wait differently are checks of their own.
func TestPlanAllWaits(t *testing.T) {
	r := func(key, name string, wait time.Duration) limit.Request {
		return limit.Request{Key: key, Limits: []limit.Ref{limit.Named(name)}, Wait: wait}
	}
	p, err := limit.PlanAll([]limit.Request{r("a", "one", time.Second), r("b", "one", time.Second), r("a", "two", time.Second), r("a", "three", 0)})
	if err != nil || len(p.Checks) != 3 {
		t.Fatalf("%d checks, %v, want 3", len(p.Checks), err)
	}
	said := func(waits ...time.Duration) (ds []limit.Decision) {
		for i, w := range waits {
			ds = append(ds, limit.Decision{Allowed: w >= 0, Wait: max(w, 0), Limits: make([]limit.Outcome, len(p.Checks[i].Limits))})
		}
		return ds
	}
	if a := p.Answer(said(200, 300, 0)); !a.Allowed || a.Wait != 300 || a.Decisions[2].Wait != 200 {
		t.Errorf("%+v, want a wait of 300 ns in all, and 200 ns for the third request", a)
	}
	if a := p.Answer(said(200, -1)); a.Allowed || a.Wait != 0 {
		t.Errorf("%+v, want a denial without a wait", a)
	}
}

func TestEffectsOfAWait(t *testing.T) {
	before, err := limit.Limit{Name: "a", Capacity: 5, Refill: limit.Refill{Tokens: 5, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	l := before.Limit
	l.MaxWait = 2 * time.Second
	after, err := l.Rule()
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(limit.Effects(before, after), "; "); said != "buckets stay as they are; checks may wait for tokens up to 2s, and gateways ask for no longer; those that wait now begin at their times" {
		t.Error(said)
	}
	if said := strings.Join(limit.Effects(after, before), "; "); !strings.Contains(said, "checks that ask to wait are refused") {
		t.Error(said)
	}
	if before.Reach()+int64(2*time.Second) != after.Reach() {
		t.Errorf("the reach goes from %d to %d", before.Reach(), after.Reach())
	}
}
