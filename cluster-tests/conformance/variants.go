package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// varying has plans and overrides of every algorithm.
const varying = `limits:
  api:
    capacity: 10
    refill: 1/s
    plans: {free: {capacity: 2}, pro: {capacity: 1000, refill: 100/s}}
    overrides: [{key: "org:*", capacity: 20}, {key: "org:acme:*", capacity: 30, refill: 3/s}, {key: "org:acme:1", deny: true}, {key: vip, allow: true}]
  page: {algorithm: fixed-window, limit: 10, window: 1h, plans: {free: {limit: 2}, pro: {limit: 1000}}, overrides: [{key: "org:*", limit: 20}]}
  smooth: {algorithm: sliding-window, limit: 10, window: 1h, plans: {free: {limit: 2}, pro: {limit: 1000}}, overrides: [{key: "org:*", limit: 20}]}
  log: {algorithm: sliding-log, limit: 10, window: 1h, plans: {free: {limit: 2}, pro: {limit: 100}}, overrides: [{key: "org:*", limit: 20}]}
  inside: {algorithm: concurrency, limit: 10, lease: 1h, plans: {free: {limit: 2}, pro: {limit: 100}}, overrides: [{key: "org:*", limit: 20}]}
  plain: {capacity: 5, refill: 1/s}
`

// Variants holds the Limiters that open makes to what decides: the longest override, then the plan, then the limit itself. The [Model]
// knows plans alone.
func Variants(t *testing.T, open Open) {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(varying))
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{trial: trial{T: t}, doc: doc, now: new(atomic.Int64)}
	h.now.Store(Noon().UnixNano())
	h.Limiter = open(t, doc, h.now.Load)
	for _, c := range []struct {
		names, plan, key, override string
		want                       int64
	}{
		{"page,smooth,log,inside", "", "a", "", 10},
		{"page,smooth,log,inside", "free", "b", "", 2},
		{"page,smooth", "pro", "c", "", 1000},
		{"log,inside", "pro", "c", "", 100},
		{"page,smooth,log,inside", "free", "org:d", `limit: 20 for "org:*", of the limits document`, 20},
		{"api", "", "a", "", 10},
		{"api", "free", "b", "", 2},
		{"api", "pro", "c", "", 1000},
		{"api", "free", "org:d", `capacity: 20 for "org:*", of the limits document`, 20},
		{"api", "pro", "org:acme:2", `capacity: 30, refill: 3/s for "org:acme:*", of the limits document`, 30},
	} {
		for name := range strings.SplitSeq(c.names, ",") {
			want := limit.Outcome{Name: name, Plan: c.plan, Override: c.override, Allowed: true, Limit: c.want}
			if c.override != "" {
				want.Plan = ""
			}
			h.spendAll(limit.Request{Key: c.key, Limits: []limit.Ref{limit.Named(name)}, Plan: c.plan, Cost: c.want}, want)
		}
	}
	h.verdicts()
	h.oneBucket()
	h.plansThatAreNot()
}

// spendAll spends the whole of a limit, and one more.
func (h *harness) spendAll(r limit.Request, want limit.Outcome) {
	h.Helper()
	for _, more := range []bool{false, true} {
		if more {
			want.Allowed, r.Cost = false, 1
		}
		got := h.check(r).Limits[0]
		if more == (got.RetryAfter == 0) {
			h.Errorf("%+v: the wait is %v", r, got.RetryAfter)
		}
		if got.RetryAfter, got.ResetAfter = 0, 0; got != want {
			h.Errorf("%+v: %+v, want %+v", r, got, want)
		}
	}
}

// verdicts are overrides that deny or let pass, whatever the plan.
func (h *harness) verdicts() {
	for key, want := range map[string]bool{"org:acme:1": false, "vip": true} {
		r := limit.Request{Key: key, Limits: []limit.Ref{limit.Named("api"), limit.Named("plain")}, Plan: "pro", Cost: 1}
		d := h.check(r)
		if o := d.Limits[0]; d.Allowed != want || o.Allowed != want || o.Plan != "" || o.Override == "" {
			h.Errorf("%s is decided by %+v", key, d)
		}
		if o := d.Limits[1]; !o.Allowed || o.Plan != "" || o.Override != "" {
			h.Errorf("the limit without plans is decided by %+v", o)
		}
	}
}

// oneBucket: whatever the plan of a check, a key has one bucket of a limit, and its debt is time.
func (h *harness) oneBucket() {
	left := func(plan string) int64 {
		r := request("mixed", 0, "api")
		r.Plan = plan
		return h.check(r).Limits[0].Remaining
	}
	spend := func(plan string, cost int64) {
		r := request("mixed", cost, "api")
		if r.Plan = plan; !h.check(r).Allowed {
			h.Errorf("%d of plan %q are denied", cost, plan)
		}
	}
	spend("pro", 500) // half of 10 s
	if free, own, pro := left("free"), left(""), left("pro"); free != 0 || own != 5 || pro != 500 {
		h.Errorf("after half of the plan pro, free has %d, no plan %d, pro %d", free, own, pro)
	}
	spend("", 5)
	if own, pro := left(""), left("pro"); own != 0 || pro != 0 {
		h.Errorf("when the line is spent, no plan has %d, pro %d", own, pro)
	}
	h.advance(time.Second)
	if own, pro := left(""), left("pro"); own != 1 || pro != 100 {
		h.Errorf("a second later no plan has %d, pro %d", own, pro)
	}
}

// plansThatAreNot are refused by name, by every way in.
func (h *harness) plansThatAreNot() {
	for _, c := range []struct{ names, plan, says string }{
		{"api", "gold", `limit "api" has no plan "gold": use free or pro`},
		{"plain", "pro", `there is no plan "pro": "plain" has no plans`},
		{"plain,api", "gold", `limit "api" has no plan "gold"`},
		{"api", "no plan", "is not a valid name"},
	} {
		r := limit.Request{Key: "k", Plan: c.plan, Cost: 1}
		for name := range strings.SplitSeq(c.names, ",") {
			r.Limits = append(r.Limits, limit.Named(name))
		}
		other := request("k", 1, "plain")
		_, err := h.Check(h.Context(), r)
		batch := h.CheckBatch(h.Context(), []limit.Request{other, r})
		_, all := h.CheckAll(h.Context(), []limit.Request{request("other", 1, "plain"), r})
		if batch[0].Err != nil {
			h.Errorf("the other request of the batch: %v", batch[0].Err)
		}
		for i, err := range []error{err, batch[1].Err, all} {
			field, want := &limit.FieldError{}, "plan"
			if i == 2 {
				want = "checks[1].plan"
			}
			if !errors.As(err, &field) || field.Field != want || !strings.Contains(field.Problem, c.says) || !limit.IsNoPlan(err) {
				h.Errorf("plan %s of %s: %v, want the field %s, %q", c.plan, c.names, fmt.Sprint(err), want, c.says)
			}
		}
	}
}
