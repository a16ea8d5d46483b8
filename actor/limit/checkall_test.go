package limit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestTaking makes up to four checks of which each in turn does not admit, or panics: what those before took is given back, once.
func TestTaking(t *testing.T) {
	for n := range 5 {
		for stops := range n + 1 { // n: none
			for _, panics := range []bool{false, true} {
				var given [][]limit.Taken
				var taking limit.Taking[limit.Taken]
				giveBack := func(taken []limit.Taken) { given = append(given, taken) }
				func() {
					defer func() { _ = recover() }()
					defer taking.End(giveBack)
					for i := range n {
						if i == stops && panics {
							panic("a bug")
						}
						if i == stops {
							return
						}
						r, d := of(fmt.Sprint(i), 1, "x"), limit.Decision{Receipts: make([]limit.Receipt, i%2)}
						if taken, some := limit.TakenBy(&r, &d); some {
							taking.Add(taken)
						}
					}
					taking.Keep()
				}()
				taking.End(giveBack)
				var want [][]limit.Taken
				if stops < n && stops > 1 { // every second check has taken something
					want = [][]limit.Taken{{{Key: "1", Receipts: make([]limit.Receipt, 1)}}}
				}
				if !reflect.DeepEqual(given, want) {
					t.Errorf("%d checks, number %d does not admit (panic: %v): given back %v, want %v", n, stops, panics, given, want)
				}
				if kept := stops == n; (len(taking.Taken) > 0) != (kept && n > 1) {
					t.Errorf("%d checks, number %d does not admit (panic: %v): kept %v", n, stops, panics, taking.Taken)
				}
			}
		}
	}
}

func of(key string, cost int64, names ...string) limit.Request {
	r := limit.Request{Key: key, Cost: cost}
	for _, name := range names {
		r.Limits = append(r.Limits, limit.Named(name))
	}
	return r
}

// TestPlanAllRefuses names the request and the field that are wrong.
func TestPlanAllRefuses(t *testing.T) {
	withID, look := of("b", 1, "x"), of("b", 1, "x")
	withID.ID, look.Look = "again", true
	for _, c := range []struct {
		rs          []limit.Request
		field, says string
	}{
		{nil, "checks", "is empty"},
		{slices.Repeat([]limit.Request{of("a", 1, "x")}, 17), "checks", "17 checks are too many: at most 16"},
		{[]limit.Request{of("a", 1, "x"), of("", 1, "x")}, "checks[1].key", "is empty"},
		{[]limit.Request{of("a", 1, "x"), of("b", 1)}, "checks[1].limits", "is empty"},
		{[]limit.Request{of("a", -1, "x"), of("b", 1, "x")}, "checks[0].cost", "negative"},
		{[]limit.Request{of("a", 1, "x"), look}, "checks[1].cost", "a look takes no tokens"},
		{[]limit.Request{of("a", 1, "x"), of("b", 1, "x", "x")}, "checks[1].limits[1]", "named twice"},
		{[]limit.Request{of("a", 1, "x"), withID}, "checks[1].request_id", "charged again"},
		{[]limit.Request{of("a", 1, "x"), of("b", 1, "x"), of("a", 2, "y", "x")}, "checks[2].limits[1]", `checks[0] has the limit "x" of this key already`},
	} {
		_, err := limit.PlanAll(c.rs)
		var fe *limit.FieldError
		if !errors.As(err, &fe) || fe.Field != c.field || !strings.Contains(fe.Problem, c.says) {
			t.Errorf("got %v, want %s: …%s", err, c.field, c.says)
		}
	}
}

// TestPlanAllMerges makes one check of requests of one key that cost the same, and asks for receipts where they may be needed.
func TestPlanAllMerges(t *testing.T) {
	wanted := of("org", 0, "burst")
	wanted.Receipt = true
	p, err := limit.PlanAll([]limit.Request{of("user", 2, "a"), of("org", 1, "b"), of("user", 2, "c"), of("ip", 1, "e"), of("user", 3, "d"), wanted})
	if err != nil {
		t.Fatal(err)
	}
	receipt := func(r limit.Request) limit.Request { r.Receipt = true; return r }
	want := []limit.Request{receipt(of("user", 2, "a", "c")), receipt(of("org", 1, "b", "burst")), receipt(of("ip", 1, "e")), of("user", 3, "d")}
	if !reflect.DeepEqual(p.Checks, want) {
		t.Errorf("the checks are %+v, want %+v", p.Checks, want)
	}
	names := make([]string, limit.MaxLimits)
	for i := range names {
		names[i] = fmt.Sprint("l", i)
	}
	if p, err = limit.PlanAll([]limit.Request{of("k", 1, names...), of("k", 1, "more")}); err != nil || len(p.Checks) != 2 {
		t.Errorf("more than %d limits of one key are %d checks: %v", limit.MaxLimits, len(p.Checks), err)
	}
}

// TestPlanAllOfHolds keeps holds apart from other checks, and asks for no receipts of them: they are settled.
func TestPlanAllOfHolds(t *testing.T) {
	hold := func(r limit.Request, d time.Duration, least int64) limit.Request {
		r.Hold, r.Least = d, least
		return r
	}
	p, err := limit.PlanAll([]limit.Request{
		hold(of("user", 5, "a"), time.Minute, 0), of("user", 5, "b"), hold(of("user", 5, "c"), time.Hour, 0), hold(of("user", 5, "d"), time.Minute, 2),
		hold(of("user", 5, "e"), time.Minute, 0), of("user", 5, "f"), hold(of("org", 5, "a"), time.Minute, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	plain := of("user", 5, "b", "f")
	plain.Receipt = true
	want := []limit.Request{
		hold(of("user", 5, "a", "e"), time.Minute, 0), plain, hold(of("user", 5, "c"), time.Hour, 0), hold(of("user", 5, "d"), time.Minute, 2),
		hold(of("org", 5, "a"), time.Minute, 0),
	}
	if !reflect.DeepEqual(p.Checks, want) {
		t.Fatalf("the checks are %+v, want %+v", p.Checks, want)
	}
	decided := make([]limit.Decision, len(want))
	for i, c := range want {
		decided[i] = limit.Decision{Allowed: true, Limits: make([]limit.Outcome, len(c.Limits))}
		for j, ref := range c.Limits {
			decided[i].Limits[j] = limit.Outcome{Name: ref.Name, Allowed: true}
		}
	}
	first := limit.Hold{Key: "user", Plan: "pro", Granted: 5, Limits: []limit.Held{{Limit: "a", ID: 1}, {Limit: "e", ID: 2}}}
	decided[0].Hold = &first
	a := p.Answer(decided)
	for i, want := range map[int]*limit.Hold{
		0: {Key: "user", Plan: "pro", Granted: 5, Limits: first.Limits[:1]}, 1: nil, 4: {Key: "user", Plan: "pro", Granted: 5, Limits: first.Limits[1:]},
	} {
		if got := a.Decisions[i].Hold; !reflect.DeepEqual(got, want) {
			t.Errorf("request %d has %+v, want %+v", i, got, want)
		}
	}
	decided[4].Allowed, decided[4].Limits[0].Allowed = false, false
	for i, d := range p.Answer(decided).Decisions {
		if d.Hold != nil {
			t.Errorf("request %d of a denial has %+v", i, d.Hold)
		}
	}
}

// TestTakenByHold takes a hold as it was taken.
func TestTakenByHold(t *testing.T) {
	r, h := of("k", 5, "x"), &limit.Hold{Key: "k", Granted: 5}
	taken, some := limit.TakenBy(&r, &limit.Decision{Hold: h})
	if want := (limit.Taken{Key: "k", Hold: h}); !some || !reflect.DeepEqual(taken, want) {
		t.Errorf("taken %+v, %v, want %+v", taken, some, want)
	}
}

// TestAllDecision takes the answers to the checks apart again: each request gets those of its own limits.
func TestAllDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs := make([]limit.Request, rapid.IntRange(1, limit.MaxAll).Draw(t, "requests"))
		for i := range rs {
			rs[i] = of(fmt.Sprint("k", rapid.IntRange(0, 3).Draw(t, "key")), rapid.Int64Range(0, 2).Draw(t, "cost"), fmt.Sprint("l", i), fmt.Sprint("m", i))
			rs[i].Receipt = rapid.Bool().Draw(t, "receipt")
		}
		p, err := limit.PlanAll(rs)
		if err != nil {
			t.Fatal(err)
		}
		stops := rapid.IntRange(0, len(p.Checks)).Draw(t, "denied") // len: none
		var decided []limit.Decision
		denied := ""
		for at, c := range p.Checks[:min(stops+1, len(p.Checks))] {
			d := limit.Decision{Allowed: at != stops, Node: "n"}
			no := rapid.IntRange(0, len(c.Limits)-1).Draw(t, "limit")
			for i, ref := range c.Limits {
				o := limit.Outcome{Name: ref.Name, Allowed: d.Allowed || i != no}
				if !o.Allowed {
					denied = ref.Name
				}
				d.Limits = append(d.Limits, o)
				if d.Allowed && c.Receipt {
					d.Receipts = append(d.Receipts, limit.Receipt{Limit: ref.Name})
				}
			}
			decided = append(decided, d)
		}
		a := p.Answer(decided)
		if a.Allowed != (denied == "") || (a.Denied == nil) != a.Allowed || len(a.Decisions) != len(rs) {
			t.Fatalf("denied by %q: %+v", denied, a)
		}
		if a.Denied != nil && (a.Denied.Limit != denied || a.Denied.Key != rs[a.Denied.Check].Key || a.Decisions[a.Denied.Check].Allowed) {
			t.Errorf("denied by %q: %+v", denied, *a.Denied)
		}
		for i, d := range a.Decisions {
			asked := len(d.Limits) > 0
			if asked && (d.Limits[0].Name != rs[i].Limits[0].Name || d.Limits[1].Name != rs[i].Limits[1].Name || len(d.Limits) != 2 || d.Node != "n") {
				t.Errorf("request %d has the answer %+v", i, d)
			}
			if !asked && (a.Allowed || d.Allowed || i == a.Denied.Check) {
				t.Errorf("request %d was not asked: %+v", i, a)
			}
			if want := a.Allowed && rs[i].Receipt; (len(d.Receipts) > 0) != want || want && d.Receipts[1].Limit != rs[i].Limits[1].Name {
				t.Errorf("request %d has the receipts %+v", i, d.Receipts)
			}
		}
	})
}

// TestWrap names the request of an error that comes after the first look at the requests.
func TestWrap(t *testing.T) {
	p, err := limit.PlanAll([]limit.Request{of("a", 1, "x"), of("b", 1, "y"), of("a", 1, "z")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   int
		err  error
		want string
	}{
		{0, &limit.FieldError{Field: "limits.z.refill", Problem: "is slow"}, "checks[2].limits.z.refill: is slow"},
		{0, &limit.FieldError{Field: "limits.x", Problem: "is stored"}, "checks[0].limits.x: is stored"},
		{1, limit.ErrUnavailable, `checks[1], "b": no decision available`},
	} {
		if got := p.Wrap(c.at, c.err); got.Error() != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
	if !errors.Is(p.Wrap(1, limit.ErrUnavailable), limit.ErrUnavailable) {
		t.Error("the kind of an error is lost")
	}
}

// TestAllJSON reads and writes the forms of POST /v1/check-all.
func TestAllJSON(t *testing.T) {
	var r limit.AllRequest
	if err := json.Unmarshal([]byte(`{"checks":[{"key":"a","limits":["x"]},{"key":"b","limits":["y"],"cost":3,"receipt":true}]}`), &r); err != nil {
		t.Fatal(err)
	}
	want := []limit.Request{of("a", 0, "x"), of("b", 3, "y")}
	want[1].Receipt = true
	if !reflect.DeepEqual(r.Checks, want) {
		t.Errorf("got %+v", r.Checks)
	}
	for text, says := range map[string]string{
		`{"checks":{}}`: "checks: is not a list",
		`{"check":[]}`:  "check: is not a known field",
		`{"checks":[{"key":"a","limits":["x"]},{"key":"b","limts":["y"]}]}`: "checks[1].limts: is not a known field",
		`{"checks":[{"key":"a","limits":["x"],"cost":0}]}`:                  "checks[0].cost: 0 takes nothing",
		`{"checks":[{"key":"a","limits":["x",7]}]}`:                         "checks[0].limits[1]: is neither",
		`{"checks":[7]}`: "checks[0].body: is a JSON number",
		`{"checks":[` + strings.Repeat(`{},`, 16) + `{}]}`: "checks: more than 16 checks are too many",
	} {
		if err := limit.DecodeJSON([]byte(text), new(limit.AllRequest)); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: got %v, want %s", text, err, says)
		}
	}
	a := limit.AllDecision{Denied: &limit.Denial{Check: 0, Key: "a", Limit: "x"}, Decisions: []limit.Decision{{Limits: []limit.Outcome{{Name: "x"}}}, {}}}
	text, err := json.Marshal(a)
	const form = `{"allowed":false,"denied":{"check":0,"key":"a","limit":"x"},"checks":[{"allowed":false,"limits":[{"name":"x","allowed":false,` +
		`"limit":0,"remaining":0,"retry_after_ms":0,"reset_after_ms":0}]},null]}`
	if err != nil || string(text) != form {
		t.Errorf("got %s, %v", text, err)
	}
	var back limit.AllDecision
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, a) {
		t.Errorf("got %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"allowed":7}`), &back); err == nil || !strings.Contains(err.Error(), "allowed") {
		t.Errorf("got %v", err)
	}
}
