package web

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

var aHold = limit.Hold{Key: "user:42", Granted: 1500, Limits: []limit.Held{{Limit: "demo", Generation: 1, Owner: limit.OwnerID{15: 1}, ID: 7}}}

// holder takes every hold as aHold, and notes what it was asked. Its settlements of more than 5 minutes are too long.
type holder struct {
	conformance.Stub

	checks  []limit.Request
	settled []limit.Settlement
}

func (h *holder) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	h.checks = append(h.checks, r)
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	d := limit.Decision{Allowed: r.Cost <= 3000, Limits: []limit.Outcome{{Name: "demo", Allowed: r.Cost <= 3000, Limit: 3000, RetryAfter: time.Minute}}}
	if d.Allowed && r.Hold > 0 {
		d.Hold = &aHold
	}
	return d, nil
}

func (h *holder) Settle(_ context.Context, s limit.Settlement) (limit.Settled, error) {
	h.settled = append(h.settled, s)
	if s.For > 5*time.Minute {
		return limit.Settled{}, &limit.FieldError{Field: "hold", Problem: `6m is longer than limit "demo" allows: at most 5m`}
	}
	if s.Hold.Key == "gone" {
		return limit.Settled{}, limit.ErrUnknownHold
	}
	one := limit.SettledLimit{Name: "demo", State: limit.HoldSettled, Charged: s.Used, Returned: max(s.Hold.Granted-s.Used, 0), Debt: max(s.Used-s.Hold.Granted, 0)}
	if s.Open {
		one.State, one.Until = limit.HoldOpen, conformance.Noon().UnixNano()
	}
	return limit.SumSettled([]limit.SettledLimit{one}), nil
}

// wantAnswer fails t unless a has that status and body.
func wantAnswer(t *testing.T, a answer, status int, want string) {
	t.Helper()
	if a.StatusCode != status || strings.TrimSpace(a.body) != want {
		t.Errorf("got %d %s\nwant %d %s", a.StatusCode, a.body, status, want)
	}
}

func TestHoldOverHTTP(t *testing.T) {
	h := &holder{}
	ask := serveAPI(t, APIConfig{Limiter: h})
	const outcome = `{"name":"demo","allowed":true,"limit":3000,"remaining":0,"retry_after_ms":60000,"reset_after_ms":0}`
	held := `{"allowed":true,"limits":[` + outcome + `],"hold":"` + aHold.String() + `","granted":1500}`
	body := `{"key":"user:42","limits":["demo"],"cost":3000,"for":"60s","least":100,"plan":"pro","request_id":"r"}`
	for _, path := range []string{"/v1/hold", "/v1/check"} {
		wantAnswer(t, ask("POST", path, body), 200, held)
	}
	want := limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("demo")}, Cost: 3000, Hold: time.Minute, Least: 100, Plan: "pro", ID: "r"}
	if len(h.checks) != 2 || !reflect.DeepEqual(h.checks[0], want) || !reflect.DeepEqual(h.checks[1], want) {
		t.Errorf("asked %+v, want %+v", h.checks, want)
	}
	for _, path := range []string{"/v1/hold", "/v1/check"} {
		got := ask("POST", path, `{"key":"user:42","limits":["demo"],"cost":3001,"for":"60s"}`)
		wantAnswer(t, got, 429, `{"allowed":false,"limits":[`+strings.Replace(outcome, `"allowed":true`, `"allowed":false`, 1)+`]}`)
		if got.Header.Get("Retry-After") != "60" {
			t.Errorf("%s: Retry-After %q", path, got.Header.Get("Retry-After"))
		}
	}
}

func TestBadHolds(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: &holder{}})
	for body, want := range map[string]struct{ field, says string }{
		`{"key":"k","limits":["demo"]}`:                                               {"for", "is missing"},
		`{"key":"k","limits":["demo"],"for":""}`:                                      {"for", "is missing"},
		`{"key":"k","limits":["demo"],"for":60}`:                                      {"for", "not a"},
		`{"key":"k","limits":["demo"],"for":"60"}`:                                    {"for", "is not a duration"},
		`{"key":"k","limits":["demo"],"for":"0s"}`:                                    {"for", "is not after now"},
		`{"key":"k","limits":["demo"],"for":"-60s"}`:                                  {"for", "is not after now"},
		`{"key":"k","limits":["demo"],"for":"999ms"}`:                                 {"for", "too short"},
		`{"key":"k","limits":["demo"],"for":"60s","cost":-1}`:                         {"cost", "negative"},
		`{"key":"k","limits":["demo"],"for":"60s","cost":0}`:                          {"cost", "0 takes nothing"},
		`{"key":"k","limits":["demo"],"for":"60s","cost":5,"least":6}`:                {"least", "not from 1 to the cost"},
		`{"key":"k","limits":["demo"],"for":"60s","cost":5,"least":-1}`:               {"least", "not from 1 to the cost"},
		`{"key":"k","limits":["demo"],"for":"60s","look":true}`:                       {"for", "leave look, extend and receipt out"},
		`{"key":"k","limits":["demo"],"for":"60s","receipt":true}`:                    {"for", "leave look, extend and receipt out"},
		`{"key":"k","limits":["demo"],"for":"60s","wait_ms":5}`:                       {"wait_ms", "at once or not at all"},
		`{"key":"k","limits":["demo"],"for":"60s","forr":1}`:                          {"forr", `a hold has key, limits, cost, for, least, request_id, plan: did you mean "for"?`},
		`{"limits":["demo"],"for":"60s"}`:                                             {"key", "empty"},
		`{"key":"k","for":"60s"}`:                                                     {"limits", "empty"},
		`{"key":"k","limits":[{"name":"n","capacity":1,"refill":"1/s"}],"for":"60s"}`: {"limits[0]", "takes no holds: give it hold: 1m"},
	} {
		wantProblem(t, ask("POST", "/v1/hold", body), 400, want.field, want.says)
	}
}

func TestSettleOverHTTP(t *testing.T) {
	h := &holder{}
	ask := serveAPI(t, APIConfig{Limiter: h})
	id := aHold.String()
	settled := func(state, numbers, until string) string {
		if until != "" {
			until = `,"until_ns":"` + until + `"`
		}
		return `{` + numbers + until + `,"limits":[{"name":"demo","state":"` + state + `",` + numbers + until + `}]}`
	}
	noon, err := json.Marshal(conformance.Noon().UnixNano())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, body, want string
		asked            limit.Settlement
	}{
		{"/v1/settle", `{"hold":"` + id + `","cost":1200}`, settled("settled", `"charged":1200,"returned":300,"debt":0`, ""), limit.Settlement{Used: 1200}},
		{"/v1/settle", `{"hold":"` + id + `","cost":0}`, settled("settled", `"charged":0,"returned":1500,"debt":0`, ""), limit.Settlement{}},
		{"/v1/settle", `{"hold":"` + id + `","cost":1600,"open":false}`, settled("settled", `"charged":1600,"returned":0,"debt":100`, ""), limit.Settlement{Used: 1600}},
		{"/v1/settle", `{"hold":"` + id + `","cost":10,"open":true}`, settled("open", `"charged":10,"returned":1490,"debt":0`, string(noon)), limit.Settlement{Used: 10, Open: true}},
		{
			"/v1/settle", `{"hold":"` + id + `","cost":10,"open":true,"for":"60s"}`, settled("open", `"charged":10,"returned":1490,"debt":0`, string(noon)),
			limit.Settlement{Used: 10, Open: true, For: time.Minute},
		},
		{
			"/v1/extend", `{"hold":"` + id + `","for":"60s"}`, settled("open", `"charged":0,"returned":1500,"debt":0`, string(noon)),
			limit.Settlement{Open: true, For: time.Minute},
		},
		{
			"/v1/extend", `{"hold":"` + id + `","for":"60s","cost":10}`, settled("open", `"charged":10,"returned":1490,"debt":0`, string(noon)),
			limit.Settlement{Used: 10, Open: true, For: time.Minute},
		},
	} {
		h.settled = nil
		wantAnswer(t, ask("POST", test.path, test.body), 200, test.want)
		if test.asked.Hold = aHold; len(h.settled) != 1 || !reflect.DeepEqual(h.settled[0], test.asked) {
			t.Errorf("%s: asked %+v, want %+v", test.body, h.settled, test.asked)
		}
	}
}

func TestBadSettlements(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: &holder{}})
	id, other := aHold.String(), `{"hold":"`+limit.Hold{Key: "gone", Granted: 1}.String()+`"`
	hold := `{"hold":"` + id + `"`
	const extension = `the extension of a hold has hold, for, cost`
	for _, test := range []struct {
		path, body  string
		field, says string
	}{
		{"/v1/settle", `{"cost":1}`, "hold", "is missing"},
		{"/v1/settle", `{"hold":"","cost":1}`, "hold", "is missing"},
		{"/v1/settle", `{"hold":7,"cost":1}`, "hold", "number"},
		{"/v1/settle", `{"hold":"no hold","cost":1}`, "hold", "is not a hold as it was answered"},
		{"/v1/settle", `{"hold":"` + id[:len(id)-1] + `","cost":1}`, "hold", "a character is missing"},
		{"/v1/settle", `{"hold":"` + strings.Repeat("A", limit.MaxHoldText+1) + `","cost":1}`, "hold", "too many"},
		{"/v1/settle", hold + `}`, "cost", "is missing"},
		{"/v1/settle", hold + `,"cost":null}`, "cost", "is missing"},
		{"/v1/settle", hold + `,"cost":-1}`, "cost", "negative"},
		{"/v1/settle", hold + `,"cost":1.5}`, "cost", "64-bit integer"},
		{"/v1/settle", hold + `,"cost":9223372036854775807}`, "cost", "too much"},
		{"/v1/settle", hold + `,"cost":1,"open":"yes"}`, "open", "boolean"},
		{"/v1/settle", hold + `,"cost":1,"for":"60s"}`, "for", "ends the hold"},
		{"/v1/settle", hold + `,"cost":1,"open":true,"for":"soon"}`, "for", "is not a duration"},
		{"/v1/settle", hold + `,"cost":1,"open":true,"for":"1ms"}`, "for", "too short"},
		{"/v1/settle", hold + `,"cost":1,"open":true,"for":"6m"}`, "for", "longer than limit"},
		{"/v1/settle", hold + `,"used":1}`, "used", `a settlement has hold, cost, open, for: did you mean "cost"?`},
		{"/v1/settle", hold + `,"tokens":1}`, "tokens", `did you mean "cost"?`},
		{"/v1/settle", hold + `,"cots":1}`, "cots", `did you mean "cost"?`},
		{"/v1/extend", hold + `,"for":"60s","used":1}`, "used", `did you mean "cost"?`},
		{"/v1/settle", `[]`, "body", "array"},
		{"/v1/settle", ``, "body", "JSON"},
		{"/v1/extend", hold + `}`, "for", "is missing"},
		{"/v1/extend", hold + `,"for":"soon"}`, "for", "is not a duration"},
		{"/v1/extend", hold + `,"for":"6m"}`, "for", "longer than limit"},
		{"/v1/extend", hold + `,"for":"60s","cost":-1}`, "cost", "negative"},
		{"/v1/extend", hold + `,"for":"60s","open":false}`, "open", extension},
		{"/v1/extend", hold + `,"receipt":{}}`, "receipt", extension},
		{"/v1/extend", `{"hold":null,"for":"60s"}`, "hold", "is missing"},
		{"/v1/extend", `{"key":"k","for":"60s"}`, "for", "the extension of a permit has key, receipt"},
	} {
		wantProblem(t, ask("POST", test.path, test.body), 400, test.field, test.says)
	}
	for body, field := range map[string]string{`,"request_identity":1}`: "request_identity", `,"x":1}`: "x"} {
		got := ask("POST", "/v1/settle", hold+body)
		wantProblem(t, got, 400, field, "a settlement has hold, cost, open, for")
		if detail, _ := got.member(t, "detail").(string); strings.Contains(detail, "did you mean") {
			t.Errorf("nothing is near %s: %s", field, detail)
		}
	}
	for path, body := range map[string]string{"/v1/settle": other + `,"cost":1}`, "/v1/extend": other + `,"for":"60s"}`} {
		got := ask("POST", path, body)
		wantProblem(t, got, http.StatusNotFound, "", "unknown hold: it expired more than 10 minutes ago")
		if kind := got.member(t, "type"); kind != "urn:jeton:problem:unknown-hold" {
			t.Errorf("the problem is of the type %v", kind)
		}
	}
}

// A permit of a limit that a request has defined is extended by what its receipt tells of the limit.
func TestExtendPermitOfInlineLimit(t *testing.T) {
	h := &holder{}
	ask := serveAPI(t, APIConfig{Limiter: h})
	for body, want := range map[string]limit.Ref{
		`{"limit":"streams","serial":"5","start_ns":"7","end_ns":"30000000007","permit":true}`: limit.Inline(limit.Limit{
			Name: "streams", Algorithm: limit.Concurrency, Capacity: 1, Lease: 30 * time.Second, OnUnavailable: limit.Allow,
		}),
		`{"limit":"streams","serial":"5","start_ns":"7","end_ns":"8","permit":true}`:        limit.Named("streams"), // no lease
		`{"limit":"streams","serial":"5","start_ns":"7","end_ns":"30000000007"}`:            limit.Named("streams"), // no permit
		`{"limit":"demo","serial":"5","start_ns":"7","end_ns":"30000000007","permit":true}`: limit.Named("demo"),    // it is stored
	} {
		h.checks = nil
		if got := ask("POST", "/v1/extend", `{"key":"k","receipt":`+body+`}`); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
		}
		if len(h.checks) != 1 || !reflect.DeepEqual(h.checks[0], limit.Request{Key: "k", Limits: []limit.Ref{want}, Extend: 5, Receipt: true}) {
			t.Errorf("%s: asked %+v, want %+v", body, h.checks, want)
		}
	}
}
