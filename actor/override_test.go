package actor

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

// overriding is a System whose overrides a test sets.
type overriding struct {
	*System

	t   *testing.T
	doc atomic.Pointer[limit.Document]
	now atomic.Int64
}

func newOverriding(t *testing.T) *overriding {
	t.Helper()
	o := &overriding{t: t}
	o.now.Store(1e18)
	o.doc.Store(document(t, "limits: {a: {capacity: 10, refill: 1/h}, b: {capacity: 5, refill: 1/h}}"))
	o.System = start(t, Config{Limits: o.doc.Load, Now: o.now.Load})
	return o
}

// set sets an override of limit a, or, where it says nothing, unsets it.
func (o *overriding) set(key, says string, until int64) {
	o.t.Helper()
	c := limit.OverrideChange{Limit: "a", Key: key}
	if says != "" {
		c.Set = &limit.Override{Limit: "a", Key: key, Says: says, Until: until}
	}
	doc, problems := o.doc.Load().WithOverrides([]limit.OverrideChange{c})
	if len(problems) > 0 {
		o.t.Fatal(problems)
	}
	o.doc.Store(doc)
}

// wants checks by every way in, and says what each limit must answer.
func (o *overriding) wants(what string, r limit.Request, allowed bool, want ...limit.Outcome) {
	o.t.Helper()
	d, err := o.Check(o.t.Context(), r)
	o.compare(what, d, err, allowed, want)
	look := r
	look.Look, look.Cost = true, 0 // the other ways in spend nothing more
	if !allowed {
		look = r
	}
	results := o.CheckBatch(o.t.Context(), []limit.Request{look, look})
	each := make([]limit.Result, 2)
	done := make(chan struct{}, 2)
	o.Each(o.t.Context(), []limit.Request{look, look}, func(place int, r limit.Result) {
		each[place] = r
		done <- struct{}{}
	}, nil, nil)
	<-done
	<-done
	for _, r := range append(results, each...) {
		for i := range want {
			want[i].ResetAfter = r.Decision.Limits[i].ResetAfter // a look is told when the bucket would be full, as is a check
		}
		o.compare(what+" by another way in", r.Decision, r.Err, allowed, want)
	}
}

func (o *overriding) compare(what string, d limit.Decision, err error, allowed bool, want []limit.Outcome) {
	o.t.Helper()
	if err != nil || d.Allowed != allowed || len(d.Limits) != len(want) {
		o.t.Fatalf("%s: %+v, %v", what, d, err)
	}
	for i, got := range d.Limits {
		w := want[i]
		if got.Name != w.Name || got.Allowed != w.Allowed || got.Never || got.Limit != w.Limit || got.Remaining != w.Remaining || got.RetryAfter != w.RetryAfter {
			o.t.Errorf("%s: limit %d: %+v, want %+v", what, i, got, w)
		}
	}
}

// Other numbers keep the debt of the bucket; a verdict leaves it alone.
func TestOverrides(t *testing.T) {
	o := newOverriding(t)
	decide(t, o.System, spend("org:acme:1", 4, "a"))
	o.set("org:acme:*", "capacity: 20", 0)
	o.wants("a larger bucket", spend("org:acme:1", 1, "a"), true, limit.Outcome{Name: "a", Allowed: true, Limit: 20, Remaining: 15})
	o.wants("another key", spend("org:other", 1, "a"), true, limit.Outcome{Name: "a", Allowed: true, Limit: 10, Remaining: 9})
	o.set("org:acme:1", "deny", o.now.Load()+int64(time.Minute))
	o.wants("a key that is blocked", spend("org:acme:1", 1, "a"), false, limit.Outcome{Name: "a", Limit: 20 - 10, RetryAfter: time.Minute})
	o.wants("a blocked key and another limit", spend("org:acme:1", 2, "b", "a"), false,
		limit.Outcome{Name: "b", Allowed: true, Limit: 5, Remaining: 5}, limit.Outcome{Name: "a", Limit: 10, RetryAfter: time.Minute})
	o.now.Add(int64(time.Minute))
	o.wants("after the block", spend("org:acme:1", 1, "a"), true, limit.Outcome{Name: "a", Allowed: true, Limit: 20, Remaining: 14})
	o.set("org:acme:1", "allow", 0)
	for range 3 {
		o.wants("a key that passes", spend("org:acme:1", 1000, "a"), true, limit.Outcome{Name: "a", Allowed: true, Limit: 10, Remaining: 10})
	}
	o.wants("passes one and is counted by the other", spend("org:acme:1", 2, "a", "b"), true,
		limit.Outcome{Name: "a", Allowed: true, Limit: 10, Remaining: 10}, limit.Outcome{Name: "b", Allowed: true, Limit: 5, Remaining: 3})
	o.wants("passes one and is denied by the other", spend("org:acme:1", 4, "a", "b"), false,
		limit.Outcome{Name: "a", Allowed: true, Limit: 10, Remaining: 10}, limit.Outcome{Name: "b", Limit: 5, Remaining: 3, RetryAfter: time.Hour - time.Minute + time.Minute})
	o.set("org:acme:1", "", 0)
	o.wants("what passed was not counted", spend("org:acme:1", 1, "a"), true, limit.Outcome{Name: "a", Allowed: true, Limit: 20, Remaining: 13})
	o.set("org:acme:*", "deny", 0)
	o.wants("a block without an end", spend("org:acme:1", 1, "a"), false, limit.Outcome{Name: "a", Limit: 10, RetryAfter: limit.RetryOfBlock})
	o.set("org:acme:*", "", 0)
	o.wants("as before", spend("org:acme:1", 1, "a"), true, limit.Outcome{Name: "a", Allowed: true, Limit: 10, Remaining: 2})
}

// Receipts, ids, looks, and limits of requests themselves.
func TestOverridesOfOtherRequests(t *testing.T) {
	o := newOverriding(t)
	o.set("k", "allow", 0)
	r := spend("k", 2, "a", "b")
	r.Receipt, r.ID = true, "one"
	d := decide(t, o.System, r)
	if len(d.Receipts) != 1 || d.Receipts[0].Limit != "b" {
		t.Errorf("the receipts are %+v", d.Receipts)
	}
	if back, err := o.Return(t.Context(), "k", d.Receipts); err != nil || !back[0] {
		t.Errorf("it is not taken back: %v, %v", back, err)
	}
	o.set("k", "deny", 0)
	if d := decide(t, o.System, r); d.Allowed || len(d.Receipts) != 0 || remaining(t, o.System, "k", "b") != 5 {
		t.Errorf("a block costs something: %+v", d)
	}
	look := spend("k", 0, "a")
	look.Look = true
	if d := decide(t, o.System, look); !d.Allowed || d.Limits[0].Remaining != 0 || d.Limits[0].RetryAfter != 0 {
		t.Errorf("a look at a blocked key: %+v", d)
	}
	own := spend("k", 1, "a")
	own.Limits = append(own.Limits, limit.Inline(limit.Limit{Name: "c", Capacity: 3, Refill: limit.Refill{Tokens: 1, Per: time.Hour}}))
	if d := decide(t, o.System, own); d.Allowed || len(d.Limits) != 2 || d.Limits[1].Name != "c" || d.Limits[1].Remaining != 3 {
		t.Errorf("with a limit of its own: %+v", d)
	}
	if err := o.Reset(t.Context(), "k", limit.Named("a")); err != nil {
		t.Errorf("a blocked bucket cannot be filled: %v", err)
	}
	in, err := o.Inspect(t.Context(), "k", limit.Named("a"), "")
	if err != nil || in.Override != `deny for "k"` {
		t.Errorf("it shows %q: %v", in.Override, err)
	}
}

// overriddenKey is the i-th of many keys that have overrides, of which benchmarks ask for the first: see requestsOf.
func overriddenKey(i int) string { return fmt.Sprint("user:", 10_000_000_000+i) }

// writtenOverrides is a document with so many overrides.
func writtenOverrides(tb testing.TB, n int) *limit.Document {
	tb.Helper()
	var text strings.Builder
	text.WriteString("limits:\n  x:\n    capacity: 1000000000\n    refill: 1000000000/s\n    plans: {pro: {capacity: 999999999}}\n    overrides:\n")
	for i := range n {
		fmt.Fprintf(&text, "    - {key: %q, capacity: 999999999}\n", overriddenKey(i))
	}
	return document(tb, text.String())
}

// BenchmarkCheckOfOverrides is BenchmarkCheck among no overrides, among 100,000 that are set, and among as many as a document may have;
// and by a plan.
func BenchmarkCheckOfOverrides(b *testing.B) {
	const many, written = 100_000, 49_999 // a document takes 50,000, its plan among them
	var changes []limit.OverrideChange
	for i := range many {
		changes = append(changes, limit.OverrideChange{Limit: "x", Key: overriddenKey(i), Set: &limit.Override{Limit: "x", Key: overriddenKey(i), Says: "capacity: 999999999"}})
	}
	set, problems := document(b, hot).WithOverrides(changes)
	if len(problems) > 0 {
		b.Fatal(problems[0])
	}
	for _, c := range []struct {
		name, plan string
		doc        *limit.Document
	}{
		{"0", "", document(b, hot)},
		{fmt.Sprint(many), "", set},
		{"written", "", writtenOverrides(b, written)},
		{"plan", "pro", writtenOverrides(b, 0)},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := start(b, Config{Limits: fixed(c.doc), IdleAfter: time.Hour})
			requests := requestsOf(1000, 1, "x")
			for i := range requests {
				requests[i].Plan = c.plan
				decide(b, s, requests[i])
			}
			runtime.GC() // what was made on the way
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if d, err := s.Check(b.Context(), requests[i%len(requests)]); err != nil || !d.Allowed {
					b.Fatal(d, err)
				}
			}
		})
	}
}

// A permit is extended as far as overrides let its key pass, and a limit that has none is named whatever they say.
func TestOverridesOfExtensions(t *testing.T) {
	o := newOverriding(t)
	o.doc.Store(document(t, "limits: {a: {algorithm: concurrency, limit: 2, lease: 30s}, b: {capacity: 5, refill: 1/h}}"))
	extend := func(name string, id uint64) (bool, error) {
		d, err := o.Check(t.Context(), limit.Request{Key: "user:1", Limits: []limit.Ref{limit.Named(name)}, Extend: id, Receipt: true})
		return d.Allowed, err
	}
	d, err := o.Check(t.Context(), limit.Request{Key: "user:1", Limits: []limit.Ref{limit.Named("a")}, Receipt: true})
	if err != nil || !d.Allowed {
		t.Fatalf("%+v, %v", d, err)
	}
	id := d.Receipts[0].Serial
	for _, c := range []struct {
		says string
		want bool
	}{{"", true}, {"deny", false}, {"limit: 3", true}, {"allow", true}} {
		o.set("user:1", c.says, 0)
		if allowed, err := extend("a", id); err != nil || allowed != c.want {
			t.Errorf("under %q the permit was extended: %v, %v", c.says, allowed, err)
		}
		if _, err := extend("b", id); err == nil {
			t.Errorf("under %q a permit of a token bucket was extended", c.says)
		}
	}
}

// What overrides decide is counted, each limit by what it said, whether an owner was asked or not.
func TestOverridesAreCounted(t *testing.T) {
	o := newOverriding(t)
	reg := prometheus.NewRegistry()
	o.System = start(t, Config{Limits: o.doc.Load, Now: o.now.Load, Metrics: reg})
	o.set("k", "deny", 0)
	o.set("vip", "allow", 0)
	for range 3 {
		decide(t, o.System, spend("k", 1, "a"))
		decide(t, o.System, spend("k", 1, "a", "b"))
		o.CheckBatch(t.Context(), []limit.Request{spend("vip", 1, "a")})
	}
	for _, c := range []struct {
		label, outcome string
		want           float64
	}{{"a", "denied", 6}, {"b", "spared", 3}, {"b", "allowed", 0}, {"a", "allowed", 3}} {
		if got := count(t, reg, "jeton_decisions_total", c.label, c.outcome); got != c.want {
			t.Errorf("%v decisions %s of %s, want %v", got, c.outcome, c.label, c.want)
		}
	}
	if _, used := o.Used(time.Hour)["a"]; !used {
		t.Error("a limit whose overrides decide counts as unused")
	}
}

// Each of several requests gets the receipts of its own limits, also where an override lets one of them pass uncounted.
func TestReceiptsBesideOverrides(t *testing.T) {
	o := newOverriding(t)
	o.set("k", "allow", 0)
	one, other := spend("k", 1, "a"), spend("k", 1, "b")
	one.Receipt, other.Receipt = true, true
	p, err := limit.PlanAll([]limit.Request{one, other})
	if err != nil || len(p.Checks) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	all := p.Answer([]limit.Decision{decide(t, o.System, p.Checks[0])})
	if r := all.Decisions[0].Receipts; len(r) != 0 {
		t.Errorf("of the limit that the override lets pass: %+v", r)
	}
	if r := all.Decisions[1].Receipts; len(r) != 1 || r[0].Limit != "b" {
		t.Errorf("of the other one: %+v", r)
	}
}
