package limit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestConsistency(t *testing.T) {
	doc := mustDocument(t, `limits:
  a: {capacity: 10, refill: 1/s, consistency: leased}
  b: {algorithm: fixed-window, limit: 10, window: 1m, consistency: leased, hold: 1m}
  c: {algorithm: sliding-log, limit: 10, window: 1m, consistency: strong}
  d: {capacity: 10, refill: 1/s}`)
	for name, want := range map[string]limit.Consistency{"a": limit.Leased, "b": limit.Leased, "c": limit.Strong, "d": ""} {
		rule, _ := doc.Rule(name)
		if rule.Consistency != want || (rule.AllowsLease() == nil) != (want == limit.Leased) || (rule.LeaseTerms() != 0) != (want == limit.Leased) {
			t.Errorf("%s: %q, leases %v, terms %d", name, rule.Consistency, rule.AllowsLease(), rule.LeaseTerms())
		}
		data, err := json.Marshal(rule.Limit)
		var again limit.Limit
		if err != nil || json.Unmarshal(data, &again) != nil || again != rule.Limit {
			t.Errorf("%s: %s is read as %+v", name, data, again)
		}
	}
	text, err := doc.YAML()
	if err != nil || strings.Count(string(text), "consistency: ") != 3 {
		t.Errorf("written as\n%s, %v", text, err)
	}
}

func TestConsistencyInvalid(t *testing.T) {
	for fields, want := range map[string]string{
		`capacity: 10, refill: 1/s, consistency: lease`: `consistency: unknown consistency "lease": use strong or leased`,
		`algorithm: sliding-window, limit: 5, window: 1m, consistency: leased`: "consistency: leased is for limits that spend a line, and sliding-window counts entries: " +
			"use the algorithm fixed-window or token-bucket, or write strong",
		`algorithm: concurrency, limit: 5, lease: 1m, consistency: leased`:                                   "and concurrency counts entries",
		`capacity: 10, refill: 1/h, hold: 1m, consistency: leased`:                                           "this one keeps a list of its holds: leave hold out, or write strong",
		`capacity: 10, refill: 1/s, consistency: leased, penalty_after: 3, penalty_for: 1m, penalty_max: 1m`: "consistency: leased does not go together with a penalty",
		`capacity: 10, refill: 1/s, consistency: leased, plans: {p: {capacity: 1, consistency: x}}`:          "is the limit's own",
	} {
		if _, err := limitOf(fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fields, err, want)
		}
	}
	l := limit.Limit{Name: "l", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Consistency: limit.Leased}
	err := limit.Request{Key: "k", Limits: []limit.Ref{limit.Inline(l)}}.Validate()
	if err == nil || err.Error() != "limits[0].consistency: is for stored limits, which edges know beforehand" {
		t.Errorf("defined by a request: %v", err)
	}
}

// Other numbers are other terms; what does not change how line is spent is not.
func TestLeaseTerms(t *testing.T) {
	of := func(fields string) uint64 {
		r, err := limitOf(fields + ", consistency: leased")
		if err != nil {
			t.Fatal(err)
		}
		return r.LeaseTerms()
	}
	same := of("capacity: 10, refill: 1/s")
	for _, fields := range []string{"capacity: 10, refill: 60/1m", "capacity: 10, refill: 1/s, on_unavailable: deny", "capacity: 10, refill: 1/s, reserve: exact, wait: 1s"} {
		if of(fields) != same {
			t.Errorf("%s has other terms", fields)
		}
	}
	seen := map[uint64]string{same: "the first"}
	for _, fields := range []string{
		"capacity: 11, refill: 1/s", "capacity: 10, refill: 2/s", "algorithm: fixed-window, limit: 10, window: 10s", "algorithm: fixed-window, limit: 10, window: 20s",
		"algorithm: fixed-window, limit: 10, per: day", "algorithm: fixed-window, limit: 10, per: day, timezone: Europe/Berlin",
	} {
		if other := seen[of(fields)]; other != "" {
			t.Errorf("%s has the terms of %s", fields, other)
		}
		seen[of(fields)] = fields
	}
}

func TestLeaseInvalid(t *testing.T) {
	ask := limit.LeaseAsk{Life: time.Second, Now: 1}
	ok := func() limit.Request {
		a := ask
		return limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("l")}, Lease: &a}
	}
	if err := ok().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*limit.Request){
		"lease.life: 0s is not from 1ms to 10s":         func(r *limit.Request) { r.Lease.Life = 0 },
		"lease.life: 10.001s is not from 1ms to 10s":    func(r *limit.Request) { r.Lease.Life = 10*time.Second + time.Millisecond },
		"lease.now: is missing":                         func(r *limit.Request) { r.Lease.Now = 0 },
		"lease.edge: is not a text of at most 64 bytes": func(r *limit.Request) { r.Lease.Edge = strings.Repeat("x", 65) },
		"limits: a lease is of one limit":               func(r *limit.Request) { r.Limits = append(r.Limits, limit.Named("m")) },
		"lease: takes tokens ahead, and nothing else":   func(r *limit.Request) { r.Receipt = true },
	} {
		r := ok()
		change(&r)
		if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
