package answer_test

import (
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
)

func itoa(n int) string { return strconv.Itoa(n) }

// member is a member of one of the draft's lists.
type member struct {
	name    string
	numbers map[string]int64
}

// parse reads a field as RFC 9651 says, with a parser that knows nothing of this package.
func parse(tb rapid.TB, h http.Header, field string) []member {
	tb.Helper()
	list, err := httpsfv.UnmarshalList(h.Values(field))
	if err != nil {
		tb.Fatalf("%s: %q: %v", field, h.Values(field), err)
	}
	members := make([]member, 0, len(list))
	for _, one := range list {
		item, ok := one.(httpsfv.Item)
		name, is := item.Value.(string)
		if !ok || !is {
			tb.Fatalf("%s: %q: a member is no string", field, h.Values(field))
		}
		m := member{name: name, numbers: map[string]int64{}}
		for _, key := range item.Params.Names() {
			value, _ := item.Params.Get(key)
			if m.numbers[key], ok = value.(int64); !ok {
				tb.Fatalf("%s: %q: %s is no integer", field, h.Values(field), key)
			}
		}
		members = append(members, m)
	}
	return members
}

// quoted is a name as a structured field can hold it.
func quoted(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// faster says whether tokens in that many seconds is more than the rule's refill.
func faster(rule *limit.Rule, tokens, seconds int64) bool {
	product := func(a, b, c int64) *big.Int {
		p := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		return p.Mul(p, big.NewInt(c))
	}
	return product(tokens, int64(rule.Refill.Per), 1).Cmp(product(seconds, int64(time.Second), rule.Refill.Tokens)) > 0
}

// bucket is a bucket as it is after some checks.
type bucket struct {
	rule *limit.Rule
	tat  limit.Pos
}

// drawBucket draws a rule of every day or of the edges, and a bucket from which something was taken lately.
func drawBucket(t *rapid.T, name string, now int64) bucket {
	refill := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) limit.Refill {
			return limit.Refill{
				Tokens: rapid.Int64Range(1, 1000).Draw(t, "tokens"),
				Per:    rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 1500 * time.Millisecond, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "per"),
			}
		}),
		rapid.SampledFrom([]limit.Refill{
			{Tokens: 1e9, Per: time.Second},
			{Tokens: 999_999_937, Per: time.Second},
			{Tokens: 3, Per: 7},
			{Tokens: 1, Per: limit.MaxFill},
			{Tokens: 1_000_003, Per: 10 * time.Second},
			{Tokens: 7, Per: 365 * 24 * time.Hour},
		}),
	).Draw(t, "refill")
	most := new(big.Int).Mul(big.NewInt(int64(limit.MaxFill)), big.NewInt(refill.Tokens))
	largest := most.Quo(most, big.NewInt(int64(refill.Per))).Int64()
	capacity := rapid.OneOf(rapid.Int64Range(1, min(largest, 20)), rapid.Int64Range(1, largest), rapid.Just(largest)).Draw(t, "capacity")
	rule, err := limit.Limit{Name: name, Capacity: capacity, Refill: refill}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	b := bucket{rule: rule}
	at := now
	for range rapid.IntRange(0, 3).Draw(t, "checks") {
		at -= rapid.Int64Range(0, min(rule.Reach(), now/8)).Draw(t, "before")
	}
	for at <= now {
		b.tat, _ = rule.Decide(b.tat, at, rapid.OneOf(rapid.Int64Range(0, capacity), rapid.Just(rule.Tokens(b.tat, at))).Draw(t, "spent"))
		if at == now {
			break
		}
		at = min(now, at+rapid.Int64Range(0, rule.Reach()).Draw(t, "step")+1)
	}
	return b
}

// check asks all buckets for cost: all admit, or none is charged. It returns what each says.
func check(buckets []bucket, now, cost int64) (quotas []answer.Quota, allowed bool) {
	allowed = true
	for _, b := range buckets {
		_, ok := b.rule.Decide(b.tat, now, cost)
		allowed = allowed && ok
	}
	for i, b := range buckets {
		end := b.rule.End(b.tat, now, b.rule.Length(cost))
		_, ok := b.rule.Decide(b.tat, now, cost)
		if allowed && cost > 0 {
			buckets[i].tat = end
		}
		quotas = append(quotas, answer.Quota{Rule: b.rule, Outcome: b.rule.Outcome(buckets[i].tat, now, cost, end, ok)})
	}
	return quotas, allowed
}

// checkPolicies holds RateLimit-Policy against the rules.
func checkPolicies(t *rapid.T, h http.Header, buckets []bucket) {
	list := parse(t, h, "RateLimit-Policy")
	if len(list) != len(buckets) {
		t.Fatalf("%d policies of %d limits: %v", len(list), len(buckets), h)
	}
	for i, m := range list {
		rule := buckets[i].rule
		q, w := m.numbers["q"], m.numbers["w"]
		if m.name != rule.Name || len(m.numbers) != 2 || q != min(rule.Capacity, 999_999_999_999_999) || w < 1 {
			t.Fatalf("%+v of %+v", m, rule.Limit)
		}
		if faster(rule, q, w) {
			t.Fatalf("%+v is faster than %s", m, rule.Refill)
		}
		if w > 1 && !faster(rule, rule.Capacity, w-1) {
			t.Fatalf("%+v of %+v: the window is too long", m, rule.Limit)
		}
	}
}

// checkLimit holds RateLimit against the bucket that it tells of, which is returned.
func checkLimit(t *rapid.T, h http.Header, quotas []answer.Quota, buckets []bucket, now int64) (told int) {
	list := parse(t, h, "RateLimit")
	if len(list) != 1 || len(list[0].numbers) != 2 {
		t.Fatalf("%v", h)
	}
	told = -1
	for i, q := range quotas {
		if q.Name == list[0].name {
			told = i
		}
	}
	if told < 0 {
		t.Fatalf("%v is none of the limits", list)
	}
	b, r, window := buckets[told], list[0].numbers["r"], list[0].numbers["t"]
	if r != min(quotas[told].Remaining, 999_999_999_999_999) || window < 1 || faster(b.rule, r, window) {
		t.Fatalf("%+v: %+v of %+v", list[0], quotas[told].Outcome, b.rule.Limit)
	}
	has := func(after, tokens int64) bool {
		_, ok := b.rule.Decide(b.tat, now+after*int64(time.Second), tokens)
		return ok
	}
	switch {
	case r > 0 && window > 1 && !faster(b.rule, r, window-1):
		t.Fatalf("%+v of %+v: the window is too long", list[0], b.rule.Limit)
	case r == 0 && (!has(window, 1) || window > 1 && has(window-1, 1)):
		t.Fatalf("%+v of %+v: that is not when the next token comes", list[0], b.rule.Limit)
	}
	return told
}

// checkNearest holds the choice of the limit that is told against all others, with the waits of those that deny.
func checkNearest(t *rapid.T, quotas []answer.Quota, told int, waits []int64) {
	chosen := quotas[told]
	for i, q := range quotas {
		var worse bool
		switch {
		case chosen.Allowed != q.Allowed:
			worse = chosen.Allowed
		case chosen.Never != q.Never:
			worse = q.Never
		case !q.Allowed && !q.Never:
			worse = waits[i] > waits[told]
		default:
			worse = q.Remaining < chosen.Remaining
		}
		if worse {
			t.Fatalf("%s is told, and %s is nearer to exhaustion: %+v", chosen.Name, q.Name, quotas)
		}
	}
}

func TestHeadersKeepTheirPromises(t *testing.T) {
	w := newWriter(t, config.Answer{Headers: []string{"ratelimit", "ratelimit-03", "x-ratelimit"}})
	now := noon.UnixNano()
	rapid.Check(t, func(t *rapid.T) {
		var buckets []bucket
		for i := range rapid.IntRange(1, 4).Draw(t, "limits") {
			buckets = append(buckets, drawBucket(t, fmt.Sprint("limit-", i), now))
		}
		some := rapid.SampledFrom(buckets).Draw(t, "some")
		left := some.rule.Tokens(some.tat, now)
		cost := rapid.OneOf(rapid.Just(int64(1)), rapid.Just(left), rapid.Just(left+1), rapid.Just(some.rule.Capacity),
			rapid.Just(some.rule.Capacity+1), rapid.Int64Range(0, some.rule.Capacity)).Draw(t, "cost")
		quotas, allowed := check(buckets, now, cost)
		rec := refuseAny(w, quotas)
		checkPolicies(t, rec, buckets)
		told := checkLimit(t, rec, quotas, buckets, now)

		waits, never := make([]int64, len(quotas)), false
		var longest int64
		for i, q := range quotas {
			if q.Allowed {
				continue
			}
			checkLimit(t, refuseAny(w, quotas[i:i+1]), quotas[i:i+1], buckets[i:i+1], now)
			waits[i] = max(1, int64((q.RetryAfter+time.Second-1)/time.Second))
			longest = max(longest, waits[i])
			never = never || q.Never
		}
		checkNearest(t, quotas, told, waits)

		retry, err := strconv.ParseInt(rec.Get("Retry-After"), 10, 64)
		switch {
		case allowed || never:
			if rec.Get("Retry-After") != "" {
				t.Fatalf("allowed %v, never %v, and Retry-After is %d", allowed, never, retry)
			}
		case err != nil || retry != longest:
			t.Fatalf("Retry-After is %q, want %d: %+v", rec.Get("Retry-After"), longest, quotas)
		default:
			if _, ok := check(buckets, now+retry*int64(time.Second), cost); !ok {
				t.Fatalf("still denied after %d s: %+v", retry, quotas)
			}
			if _, ok := check(buckets, now+(retry-1)*int64(time.Second), cost); ok && retry > 1 {
				t.Fatalf("admitted a second before the %d s: %+v", retry, quotas)
			}
		}
		checkOlder(t, rec, quotas[told], buckets[told].rule, retry)
	})
}

// checkOlder holds the older forms against the quota that they tell of.
func checkOlder(t *rapid.T, h http.Header, q answer.Quota, rule *limit.Rule, retry int64) {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(h.Get(name), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	r, reset := number("RateLimit-Remaining"), number("RateLimit-Reset")
	if number("RateLimit-Limit") != min(q.Limit, 999_999_999_999_999) || r != min(q.Remaining, 999_999_999_999_999) || faster(rule, r, reset) {
		t.Fatalf("%v of %+v", h, q.Outcome)
	}
	if !q.Allowed && !q.Never && reset < retry {
		t.Fatalf("the wait is %d, and Reset only %d", retry, reset)
	}
	at := time.Unix(number("X-RateLimit-Reset"), 0).Sub(noon)
	if at < time.Duration(reset)*time.Second || at > time.Duration(reset+1)*time.Second ||
		number("X-RateLimit-Limit") != number("RateLimit-Limit") || number("X-RateLimit-Remaining") != r {
		t.Fatalf("%v: Reset is in %v", h, at)
	}
}

// header is a ResponseWriter of which only the header counts.
type header http.Header

func (h header) Header() http.Header       { return http.Header(h) }
func (header) Write(p []byte) (int, error) { return len(p), nil }
func (header) WriteHeader(int)             {}

// refuseAny is the header of a refusal by those quotas.
func refuseAny(w *answer.Writer, quotas []answer.Quota) http.Header {
	h := header{}
	w.Refuse(h, &answer.Refusal{Quotas: quotas})
	return h.Header()
}
