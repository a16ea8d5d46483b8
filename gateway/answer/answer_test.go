package answer_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
)

// noon is when everything happens: 1,800,000,000.2 seconds after the epoch.
var noon = time.Unix(1_800_000_000, 200_000_000)

func newWriter(tb testing.TB, cfg config.Answer) *answer.Writer {
	tb.Helper()
	w, err := answer.New(cfg, answer.Clock(func() time.Time { return noon }))
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func ruleOf(tb testing.TB, name string, capacity int64, refill string) *limit.Rule {
	tb.Helper()
	r, err := limit.ParseRefill(refill)
	if err != nil {
		tb.Fatal(err)
	}
	rule, err := limit.Limit{Name: name, Capacity: capacity, Refill: r}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

// after is what rule says to a check of cost at noon, in a bucket of which spent tokens were just taken.
func after(rule *limit.Rule, spent, cost int64) answer.Quota {
	t := noon.UnixNano()
	tat, _ := rule.Decide(limit.Pos{}, t, spent)
	end := rule.End(tat, t, rule.Length(cost))
	next, allowed := rule.Decide(tat, t, cost)
	return answer.Quota{Rule: rule, Outcome: rule.Outcome(next, t, cost, end, allowed)}
}

// lines are the fields of h, one a line, sorted.
func lines(h http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	return b.String()
}

func dump(r *httptest.ResponseRecorder) string {
	return fmt.Sprintf("%d\n%s\n%s", r.Code, lines(r.Header()), r.Body)
}

func TestTell(t *testing.T) {
	login, daily, slow := ruleOf(t, "login", 10, "1/s"), ruleOf(t, "daily", 1000, "1000/24h"), ruleOf(t, "slow", 3, "2/7s")
	unknown := after(login, 6, 1)
	unknown.Rule = nil
	shared := after(ruleOf(t, "login", 5, "1/2s"), 0, 1) // a part of the limit
	shared.Rule = login
	unknownDenial := after(login, 10, 2)
	unknownDenial.Rule = nil
	all := []string{"ratelimit", "ratelimit-03", "x-ratelimit"}
	for name, c := range map[string]struct {
		forms  []string
		quotas []answer.Quota
		want   string
	}{
		"one": {nil, []answer.Quota{after(login, 6, 1)}, `
Ratelimit: "login";r=3;t=3
Ratelimit-Policy: "login";q=10;w=10
`},
		"a denial": {nil, []answer.Quota{after(login, 10, 1)}, `
Ratelimit: "login";r=0;t=1
Ratelimit-Policy: "login";q=10;w=10
`},
		"a denial of a large cost": {nil, []answer.Quota{after(login, 8, 5)}, `
Ratelimit: "login";r=2;t=2
Ratelimit-Policy: "login";q=10;w=10
`},
		"parts of a second are rounded up": {nil, []answer.Quota{after(slow, 0, 1)}, `
Ratelimit: "slow";r=2;t=7
Ratelimit-Policy: "slow";q=3;w=11
`},
		"several": {nil, []answer.Quota{after(daily, 100, 1), after(login, 2, 1)}, `
Ratelimit: "login";r=7;t=7
Ratelimit-Policy: "daily";q=1000;w=86400, "login";q=10;w=10
`},
		"one of several denies": {nil, []answer.Quota{after(login, 9, 1), after(daily, 999, 2), after(slow, 3, 1)}, `
Ratelimit: "daily";r=1;t=87
Ratelimit-Policy: "login";q=10;w=10, "daily";q=1000;w=86400, "slow";q=3;w=11
`},
		"never goes first": {nil, []answer.Quota{after(daily, 1000, 4), after(slow, 0, 4)}, `
Ratelimit: "slow";r=3;t=11
Ratelimit-Policy: "daily";q=1000;w=86400, "slow";q=3;w=11
`},
		"a limit asked twice": {nil, []answer.Quota{after(login, 2, 1), after(login, 4, 1)}, `
Ratelimit: "login";r=5;t=5
Ratelimit-Policy: "login";q=10;w=10
`},
		"no rule": {nil, []answer.Quota{unknown}, `
Ratelimit: "login";r=3
Ratelimit-Policy: "login";q=10
`},
		"another rule": {nil, []answer.Quota{shared}, `
Ratelimit: "login";r=4
Ratelimit-Policy: "login";q=5
`},
		"all forms": {all, []answer.Quota{after(daily, 100, 1), after(login, 6, 1)}, `
Ratelimit: "login";r=3;t=3
Ratelimit-Limit: 10
Ratelimit-Policy: "daily";q=1000;w=86400, "login";q=10;w=10
Ratelimit-Remaining: 3
Ratelimit-Reset: 3
X-Ratelimit-Limit: 10
X-Ratelimit-Remaining: 3
X-Ratelimit-Reset: 1800000004
`},
		"a denial in the older forms": {all[1:], []answer.Quota{after(login, 9, 5)}, `
Ratelimit-Limit: 10
Ratelimit-Remaining: 1
Ratelimit-Reset: 4
X-Ratelimit-Limit: 10
X-Ratelimit-Remaining: 1
X-Ratelimit-Reset: 1800000005
`},
		"no rule in the older forms":   {all[1:2], []answer.Quota{unknown}, "\nRatelimit-Limit: 10\nRatelimit-Remaining: 3\nRatelimit-Reset: 7\n"},
		"a denial, and no rule":        {all[1:2], []answer.Quota{unknownDenial}, "\nRatelimit-Limit: 10\nRatelimit-Remaining: 0\nRatelimit-Reset: 2\n"},
		"never, in the older forms":    {all[1:2], []answer.Quota{after(slow, 0, 4)}, "\nRatelimit-Limit: 3\nRatelimit-Remaining: 3\nRatelimit-Reset: 11\n"},
		"no headers":                   {[]string{"none"}, []answer.Quota{after(login, 6, 1)}, "\n"},
		"no quotas":                    {all, nil, "\n"},
		"more than fields may hold":    {nil, []answer.Quota{after(ruleOf(t, "big", 2_000_000_000_000_000, "1000000000/s"), 0, 1)}, "\nRatelimit: \"big\";r=999999999999999;t=1000000\nRatelimit-Policy: \"big\";q=999999999999999;w=2000000\n"},
		"faster than a second can say": {nil, []answer.Quota{after(ruleOf(t, "fast", 2, "1000/s"), 0, 1)}, "\nRatelimit: \"fast\";r=1;t=1\nRatelimit-Policy: \"fast\";q=2;w=1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			newWriter(t, config.Answer{Headers: c.forms}).Tell(h, c.quotas)
			if got := "\n" + lines(h); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTellKeepsOthers(t *testing.T) {
	h := http.Header{}
	h.Set("RateLimit-Policy", `"outer";q=5;w=1`)
	h.Add("RateLimit-Policy", `"other";q=5`)
	h.Set("RateLimit", `"outer";r=1;t=1`)
	h.Set("X-RateLimit-Limit", "99")
	theirs := h["Ratelimit"]
	newWriter(t, config.Answer{Headers: []string{"ratelimit", "x-ratelimit"}}).Tell(h, []answer.Quota{after(ruleOf(t, "login", 10, "1/s"), 0, 1)})
	const want = `Ratelimit: "outer";r=1;t=1
Ratelimit: "login";r=9;t=9
Ratelimit-Policy: "outer";q=5;w=1
Ratelimit-Policy: "other";q=5
Ratelimit-Policy: "login";q=10;w=10
X-Ratelimit-Limit: 10
X-Ratelimit-Remaining: 9
X-Ratelimit-Reset: 1800000010
`
	if got := lines(h); got != want || len(theirs) != 1 {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// What an upstream adds afterwards stays out of the neighboring field, which shares memory.
	h = http.Header{}
	newWriter(t, config.Answer{}).Tell(h, []answer.Quota{after(ruleOf(t, "login", 10, "1/s"), 0, 1)})
	h.Add("RateLimit-Policy", "one")
	h.Add("RateLimit", "two")
	if got := fmt.Sprint(h["Ratelimit-Policy"], h["Ratelimit"]); got != `["login";q=10;w=10 one] ["login";r=9;t=9 two]` {
		t.Error(got)
	}
}

func TestNearestOfNone(t *testing.T) {
	if q := answer.Nearest(nil); q != nil {
		t.Errorf("got %+v", q)
	}
}

func TestExplain(t *testing.T) {
	h := http.Header{}
	newWriter(t, config.Answer{}).Explain(h, "node-1")
	if len(h) != 0 {
		t.Errorf("got %v, and nobody asked", h)
	}
	newWriter(t, config.Answer{Debug: true}).Explain(h, "local: no answer\r\nX-Evil: ü")
	if got := h.Get("X-Jeton-Decision"); got != "local: no answer??X-Evil: ??" {
		t.Errorf("got %q", got)
	}
}

func TestTellAllocates(t *testing.T) {
	quotas := []answer.Quota{
		after(ruleOf(t, "login", 10, "1/s"), 6, 1), after(ruleOf(t, "daily", 1000, "1000/24h"), 6, 1), after(ruleOf(t, "hourly", 100, "100/1h"), 6, 1),
	}
	w := newWriter(t, config.Answer{})
	for n, most := range map[int]float64{1: 2, 3: 3} {
		h := http.Header{"Content-Type": {"text/plain"}}
		if got := testing.AllocsPerRun(100, func() {
			delete(h, "Ratelimit")
			delete(h, "Ratelimit-Policy")
			w.Tell(h, quotas[:n])
		}); got > most {
			t.Errorf("%d quotas: %v allocations, want %v", n, got, most)
		}
	}
}

func BenchmarkTell(b *testing.B) {
	quotas := []answer.Quota{after(ruleOf(b, "login", 10, "1/s"), 6, 1), after(ruleOf(b, "daily", 1000, "1000/24h"), 6, 1)}
	w := newWriter(b, config.Answer{})
	for n := 1; n <= len(quotas); n++ {
		b.Run(fmt.Sprint("quotas=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.Tell(http.Header{}, quotas[:n])
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		cfg         config.Answer
		field, want string
	}{
		"an unknown form":        {config.Answer{Headers: []string{"ratelimit", "retry"}}, "headers[1]", `"retry" is not known`},
		"none beside another":    {config.Answer{Headers: []string{"ratelimit", "none"}}, "headers[1]", "none alone"},
		"a form twice":           {config.Answer{Headers: []string{"x-ratelimit", "x-ratelimit"}}, "headers[1]", "duplicate"},
		"a status of success":    {config.Answer{Status: 200}, "status", "400 to 599"},
		"a status out of range":  {config.Answer{Status: 600}, "status", "400 to 599"},
		"a redirect to nowhere":  {config.Answer{Redirect: "help"}, "redirect", "https://host/path"},
		"a redirect to a file":   {config.Answer{Redirect: "file:///etc"}, "redirect", "https://host/path"},
		"a host by two slashes":  {config.Answer{Redirect: "//evil/x"}, "redirect", "https://host/path"},
		"a host by a backslash":  {config.Answer{Redirect: `/\evil/x`}, "redirect", "https://host/path"},
		"a host by its id":       {config.Answer{Redirect: "https://{route}.example/"}, "redirect", "https://host/path"},
		"a line break":           {config.Answer{Redirect: "/x\r\nSet-Cookie: a"}, "redirect", "https://host/path"},
		"an unknown brace":       {config.Answer{Redirect: "/x?{key}"}, "redirect", "{id} or {route}"},
		"a template unfinished":  {config.Answer{Body: "{{"}, "body", ".RetryAfter"},
		"a template of a field":  {config.Answer{Body: "{{.Key}}"}, "body", ".RetryAfter"},
		"a type that is none":    {config.Answer{Body: "x", ContentType: "text plain"}, "content_type", "text/html"},
		"a type with a new line": {config.Answer{Body: "x", ContentType: "text/plain\r\nX: y"}, "content_type", "text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := answer.New(c.cfg)
			fe, ok := errors.AsType[*limit.FieldError](err)
			if !ok || fe.Field != c.field || !strings.Contains(fe.Problem, c.want) {
				t.Errorf("got %v, want one about %s that says %q", err, c.field, c.want)
			}
		})
	}
}

func TestTheTimeIsToldWithoutAnOption(t *testing.T) {
	w, err := answer.New(config.Answer{Headers: []string{"x-ratelimit"}})
	if err != nil {
		t.Fatal(err)
	}
	h, before := http.Header{}, time.Now().Unix()
	w.Tell(h, []answer.Quota{after(ruleOf(t, "login", 10, "1/s"), 6, 1)})
	var reset int64
	if _, err := fmt.Sscan(h.Get("X-RateLimit-Reset"), &reset); err != nil || reset < before+3 {
		t.Errorf("Reset is %s at %d, %v", h.Get("X-RateLimit-Reset"), before, err)
	}
}
