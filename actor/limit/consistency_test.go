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
  d: {capacity: 10, refill: 1/s}
  e: {capacity: 10, refill: 1/s, consistency: eventual}
  f: {capacity: 10, refill: 1/s, consistency: eventual, sync: 250ms}
  g: {capacity: 10, refill: 1/s, consistency: local, share: divided}
  h: {capacity: 10, refill: 1/s, consistency: strong, hot: lease}
  i: {algorithm: fixed-window, limit: 10, window: 1m, hold: 1m, hot: lease}`)
	for name, want := range map[string]limit.Consistency{
		"a": limit.Leased, "b": limit.Leased, "c": limit.Strong, "d": "", "e": limit.Eventual, "f": limit.Eventual, "g": limit.OfEdge, "h": limit.Strong, "i": "",
	} {
		rule, _ := doc.Rule(name)
		hot := name == "h" || name == "i"
		owned := (want == "" || want == limit.Strong) && !hot
		if rule.Consistency != want || (rule.AllowsLease() == nil) != (want == limit.Leased || hot) || rule.LeasedWhenHot() != hot || (rule.LeaseTerms() == 0) != owned || (rule.AllowsCharge() == nil) != (want == limit.Eventual) {
			t.Errorf("%s: %q, leases %v, terms %d", name, rule.Consistency, rule.AllowsLease(), rule.LeaseTerms())
		}
		data, err := json.Marshal(rule.Limit)
		var again limit.Limit
		if err != nil || json.Unmarshal(data, &again) != nil || again != rule.Limit {
			t.Errorf("%s: %s is read as %+v", name, data, again)
		}
	}
	e, _ := doc.Rule("e")
	f, _ := doc.Rule("f")
	if e.Reports() != time.Second || f.Reports() != 250*time.Millisecond || e.Debt().NS != int64(time.Minute) {
		t.Errorf("reports every %v and %v, with a debt of %v", e.Reports(), f.Reports(), e.Debt())
	}
	text, err := doc.YAML()
	if err != nil || strings.Count(string(text), "consistency: ") != 7 || strings.Count(string(text), "hot: lease") != 2 || !strings.Contains(string(text), "sync: 250ms") || !strings.Contains(string(text), "share: divided") {
		t.Errorf("written as\n%s, %v", text, err)
	}
}

func TestConsistencyInvalid(t *testing.T) {
	for fields, want := range map[string]string{
		`capacity: 10, refill: 1/s, consistency: lease`: `consistency: unknown consistency "lease": use strong, leased, eventual or local`,
		`algorithm: sliding-window, limit: 5, window: 1m, consistency: leased`: "consistency: leased is for limits that spend a line, and sliding-window counts entries: " +
			"use the algorithm " + strings.Join(limit.Spending(), " or ") + ", or write strong",
		`algorithm: concurrency, limit: 5, lease: 1m, consistency: leased`:                                   "and concurrency counts entries",
		`capacity: 10, refill: 1/h, hold: 1m, consistency: leased`:                                           "this one keeps a list of its holds: leave hold out, or write strong",
		`capacity: 10, refill: 1/s, consistency: leased, penalty_after: 3, penalty_for: 1m, penalty_max: 1m`: "consistency: leased does not go together with a penalty",
		`capacity: 10, refill: 1/s, consistency: leased, plans: {p: {capacity: 1, consistency: x}}`:          "is the limit's own",
		`capacity: 10, refill: 1/s, sync: 1s`:                                                                "sync: is how often edges report what they admit, which they do with consistency: eventual: leave it out",
		`capacity: 10, refill: 1/s, consistency: eventual, sync: 10ms`:                                       "sync: 10ms is no whole number of milliseconds from 100ms to 5s",
		`capacity: 10, refill: 1/s, consistency: eventual, sync: 6s`:                                         "sync: 6s is no whole number",
		`capacity: 10, refill: 1/s, consistency: eventual, sync: soon`:                                       `sync: "soon" is not a duration, such as 1s or 250ms`,
		`capacity: 10, refill: 1/s, consistency: leased, share: divided`:                                     "share: is how much of the limit each edge has, with consistency: local: leave it out",
		`capacity: 10, refill: 1/s, consistency: local, share: half`:                                         `share: unknown share "half": use per-edge or divided`,
		`capacity: 10, refill: 1/h, consistency: local, hold: 1m`:                                            "consistency: local is for limits that spend a line, and this one keeps",
		`capacity: 10, refill: 10/s, consistency: eventual, hold: 1m`:                                        "consistency: eventual does not go together with hold",
		`capacity: 10, refill: 10/s, consistency: local, wait: 1s`:                                           "consistency: local does not go together with wait",
		`capacity: 10, refill: 1/s, hot: deny`:                                                               `hot: unknown "deny": use lease, or leave it out`,
		`capacity: 10, refill: 1/s, hot: lease, consistency: leased`:                                         "hot: is for limits whose owners decide, and leased has edges decide about all keys: leave hot out, or write consistency: strong",
		`algorithm: sliding-log, limit: 5, window: 1m, hot: lease`: "hot: lease is for limits that spend a line, and sliding-log counts entries: " +
			"use the algorithm " + strings.Join(limit.Spending(), " or ") + ", or leave hot out",
		`capacity: 10, refill: 1/s, hot: lease, penalty_after: 3, penalty_for: 1m, penalty_max: 1m`: "for which the owner counts every denial: leave penalty_after out, or leave hot out",
		`capacity: 10, refill: 1/s, hot: lease, plans: {p: {capacity: 1, hot: lease}}`:              "is the limit's own",
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
	l.Consistency, l.Hot = "", limit.LeaseHot
	err = limit.Request{Key: "k", Limits: []limit.Ref{limit.Inline(l)}}.Validate()
	if err == nil || err.Error() != "limits[0].hot: is for stored limits, which edges know beforehand" {
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
		"lease.after: -1ns is not from 0s to 10s":       func(r *limit.Request) { r.Lease.After = -1 },
		"lease.after: 10.001s is not from 0s to 10s":    func(r *limit.Request) { r.Lease.After = 10*time.Second + time.Millisecond },
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
