package limit_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// limitOf is the rule of the one limit of a document, which is written in braces.
func limitOf(fields string) (*limit.Rule, error) {
	doc, err := limit.ParseDocument([]byte("limits: {l: {" + fields + "}}\n"))
	if err != nil {
		return nil, err
	}
	r, _ := doc.Rule("l")
	return r, nil
}

func TestSpare(t *testing.T) {
	for _, c := range []struct {
		fields string
		spare  int64 // tokens
		exact  bool
	}{
		{"capacity: 1000, refill: 1000/1m", 50, false},
		{"capacity: 1000, refill: 1000/1m, reserve: 5%", 50, false},
		{"capacity: 1000, refill: 1000/1m, reserve: 1%", 10, false},
		{"capacity: 1000, refill: 100/1m, reserve: 1%", 10, false},
		{"capacity: 1000, refill: 1/1m, reserve: 50%", 500, false},
		{"capacity: 1000, refill: 1000/1m, reserve: exact", 0, true},
		{"capacity: 10, refill: 10/s", 5, false},
		{"capacity: 100, refill: 1000/s", 50, false},
		{"capacity: 99, refill: 1000/s", 49, false},
		{"capacity: 1000, refill: 1000/s", 500, false},
		{"capacity: 1000, refill: 100/s", 50, false},
		{"capacity: 1000, refill: 150/s", 75, false},
		{"capacity: 39, refill: 1/1h", 1, false},
		{"capacity: 19, refill: 1/1h", 0, false},
		{"capacity: 5, refill: 5/1m", 0, false},
		{"capacity: 1, refill: 1000/s", 0, false},
		{"capacity: 1000, refill: 1000/1m, hold: 1m", 50, false},
		{"capacity: 1000, refill: 1000/1h, hold: 1m", 0, true},
		{"capacity: 1000000000000000000, refill: 1000000000/s", 1e18 / 20, false},
		{"capacity: 1152921504606846976, refill: 1000000000/s, reserve: 50%", 1 << 59, false},
		{"capacity: 2305843009213693952, refill: 1000000000/s, reserve: 50%", 1 << 60, false},
		{"algorithm: fixed-window, limit: 600000000000, window: 10m, reserve: 50%", 3e11, false},
		{"algorithm: sliding-window, limit: 1000000000000000, window: 10m, reserve: 50%", 5e14, false},
		{"algorithm: fixed-window, limit: 100, window: 1m", 5, false},
		{"algorithm: fixed-window, limit: 100, window: 1s", 50, false},
		{"algorithm: fixed-window, limit: 100, window: 10m, reserve: 20%", 20, false},
		{"algorithm: fixed-window, limit: 100, window: 1h", 0, true},
		{"algorithm: fixed-window, limit: 100, per: month, reserve: exact", 0, true},
		{"algorithm: sliding-window, limit: 100, window: 1m", 5, false},
		{"algorithm: sliding-window, limit: 100, window: 1m, weighted: true, reserve: 10%", 10, false},
		{"algorithm: sliding-window, limit: 100, window: 1m, reserve: exact", 0, true},
		{"algorithm: sliding-window, limit: 100, window: 1h", 0, true},
		{"algorithm: sliding-log, limit: 100, window: 1m", 0, true},
		{"algorithm: concurrency, limit: 100, lease: 1m", 0, true},
	} {
		r, err := limitOf(c.fields)
		if err != nil {
			t.Errorf("%s: %v", c.fields, err)
			continue
		}
		if r.Spare() != c.spare || r.Exact() != c.exact {
			t.Errorf("%s: an owner may take %d tokens, and is exact is %v; want %d, %v", c.fields, r.Spare(), r.Exact(), c.spare, c.exact)
		}
		if want := r.Length(c.spare).NS; r.SpareLine() != want {
			t.Errorf("%s: %v of line, want %v", c.fields, time.Duration(r.SpareLine()), time.Duration(want))
		}
		if r.Spare() > r.Capacity/2 {
			t.Errorf("%s: %d tokens are more than half", c.fields, r.Spare())
		}
	}
}

// What stands in a document comes back from it, from JSON and from the words of a difference.
func TestReserveIsWritten(t *testing.T) {
	for _, text := range []string{"exact", "1%", "5%", "50%"} {
		r, err := limitOf("capacity: 1000, refill: 1000/1m, reserve: " + text)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(r.Limit)
		if err != nil || !strings.Contains(string(data), `"reserve":"`+text+`"`) {
			t.Errorf("%s: %s, %v", text, data, err)
		}
		var back limit.Limit
		if err := json.Unmarshal(data, &back); err != nil || back != r.Limit {
			t.Errorf("%s became %s: %+v, %v", text, data, back, err)
		}
		doc := mustDocument(t, "limits: {l: {capacity: 1000, refill: 1000/1m, reserve: "+text+"}}")
		if yaml, err := doc.YAML(); err != nil || !strings.Contains(string(yaml), "    reserve: "+text+"\n") {
			t.Errorf("%s: %s, %v", text, yaml, err)
		}
		wantSameDocument(t, doc)
		if terms := strings.Join(r.Terms(), ", "); !strings.Contains(terms, "reserve "+text) {
			t.Errorf("%s: %s", text, terms)
		}
	}
	r, err := limitOf("capacity: 1000, refill: 1000/1m")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(r.Limit); err != nil || strings.Contains(string(data), "reserve") {
		t.Errorf("%s, %v", data, err)
	}
}

func TestReserveInvalid(t *testing.T) {
	const share = " is neither exact nor a whole percentage from 1% to 50%, such as 5%"
	for fields, want := range map[string]string{
		`capacity: 10, refill: 1/s, reserve: 5`:                                `reserve: "5"` + share,
		`capacity: 10, refill: 1/s, reserve: 0%`:                               `reserve: "0%"` + share,
		`capacity: 10, refill: 1/s, reserve: 51%`:                              `reserve: "51%"` + share,
		`capacity: 10, refill: 1/s, reserve: 2.5%`:                             `reserve: "2.5%"` + share,
		`capacity: 10, refill: 1/s, reserve: 05%`:                              `reserve: "05%"` + share,
		`capacity: 10, refill: 1/s, reserve: +5%`:                              `reserve: "+5%"` + share,
		`capacity: 10, refill: 1/s, reserve: -1%`:                              `reserve: "-1%"` + share,
		`capacity: 10, refill: 1/s, reserve: five`:                             `reserve: "five"` + share,
		`capacity: 10, refill: 1/s, reserve: ""`:                               `reserve: ""` + share,
		`capacity: 10, refill: 1/s, reserve: "5 %"`:                            `reserve: "5 %"` + share,
		`capacity: 10, refill: 1/s, reserve: [5%]`:                             `reserve: `,
		`capacity: 10, refill: 1/h, hold: 1m, reserve: 5%`:                     `reserve: 5% of what takes longer than 10m to come back would be missed for as long after a crash: leave it out, or write exact`,
		`algorithm: fixed-window, limit: 5, window: 1h, reserve: 5%`:           `reserve: 5% of what takes longer than 10m`,
		`algorithm: fixed-window, limit: 5, per: day, reserve: 5%`:             `reserve: 5% of what takes longer than 10m`,
		`algorithm: sliding-window, limit: 5, window: 1h, reserve: 5%`:         `reserve: 5% of what takes longer than 10m`,
		`algorithm: sliding-log, limit: 5, window: 1m, reserve: 5%`:            `reserve: does not fit the algorithm sliding-log`,
		`algorithm: concurrency, limit: 5, lease: 1m, reserve: exact`:          `reserve: does not fit the algorithm concurrency`,
		`capacity: 10, refill: 1/s, plans: {gold: {capacity: 9, reserve: 5%}}`: `reserve: is the limit's own`,
	} {
		if _, err := limitOf(fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fields, err, want)
		}
	}
	for _, r := range []limit.Reserve{-2, 51, math.MaxInt32, math.MinInt32} {
		_, err := limit.Limit{Name: "l", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Reserve: r}.Rule()
		var wrong *limit.FieldError
		if !errors.As(err, &wrong) || wrong.Field != "reserve" {
			t.Errorf("%d: %v", r, err)
		}
	}
	var l limit.Limit
	err := json.Unmarshal([]byte(`{"name":"l","capacity":10,"refill":"1/s","reserve":"5"}`), &l)
	var wrong *limit.FieldError
	if !errors.As(err, &wrong) || wrong.Field != "reserve" {
		t.Errorf("JSON: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"name":"l","capacity":10,"refill":"1/s","reserve":5}`), &l); err == nil || !strings.Contains(err.Error(), "reserve") {
		t.Errorf("JSON: %v", err)
	}
}

// Who goes by a plan or an override may lose as much of it as of the limit's own numbers, in percent.
func TestReserveOfAPlan(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {l: {capacity: 100, refill: 100/1m, reserve: 20%, plans: {gold: {capacity: 1000}}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r := doc.DecidedBy(&limit.Outcome{Name: "l", Plan: "gold"}, "k"); r.Capacity != 1000 || r.Spare() != 200 {
		t.Errorf("%d of %d tokens may be taken, want 200 of 1000", r.Spare(), r.Capacity)
	}
}

// The default decides alike whether it is written or left out, and so does what a long window cannot be but.
func TestReserveThatChangesNothing(t *testing.T) {
	for fields, reserve := range map[string]string{
		"capacity: 1000, refill: 1000/1m":                   "5%",
		"capacity: 1, refill: 1/1m":                         "50%",
		"algorithm: fixed-window, limit: 100, window: 1h":   "exact",
		"algorithm: sliding-window, limit: 100, window: 1h": "exact",
	} {
		before, after := mustDocument(t, "limits: {l: {"+fields+"}}"), mustDocument(t, "limits: {l: {"+fields+", reserve: "+reserve+"}}")
		out, _ := before.Rule("l")
		written, _ := after.Rule("l")
		if !out.Equal(written) {
			t.Errorf("%s: with reserve %s, it is another rule", fields, reserve)
		}
		want := limit.Changes{Changed: []string{"l"}, Fields: []limit.FieldChange{{Limit: "l", Field: "reserve", After: reserve}}}
		if got := limit.Difference(before, after); !reflect.DeepEqual(got, want) { // it can be stored all the same
			t.Errorf("%s: with reserve %s, the difference is %+v", fields, reserve, got)
		}
	}
	for _, reserve := range []string{"1%", "exact"} {
		out, err := limitOf("capacity: 1000, refill: 1000/1m")
		if err != nil {
			t.Fatal(err)
		}
		if other, err := limitOf("capacity: 1000, refill: 1000/1m, reserve: " + reserve); err != nil || other.Equal(out) {
			t.Errorf("reserve %s is the same rule as the default, %v", reserve, err)
		}
	}
}

// A gateway's part of a limit with holds may take longer than ten minutes to fill, where the limit does not.
func TestPartOfALimitWithReserve(t *testing.T) {
	r, err := limitOf("capacity: 1, refill: 1/5m, hold: 1m, reserve: 50%")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 10} {
		if part := r.Part(n); part == nil {
			t.Errorf("one of %d gateways has no part", n)
		}
	}
}

// A plan cannot say reserve, so its numbers are what is wrong.
func TestReserveOfAnotherKindOfBucket(t *testing.T) {
	const fields = "capacity: 10, refill: 1/s, hold: 1m, reserve: 20%"
	for _, variants := range []string{"plans: {slow: {refill: 1/10m}}", "overrides: [{key: k, refill: 1/10m}]"} {
		if _, err := limitOf(fields + ", " + variants); err == nil || !strings.Contains(err.Error(), ".refill: an empty bucket takes") {
			t.Errorf("%s: %v", variants, err)
		}
	}
}
