package denial

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 2, 3, 12, 0, 0, 123_999_999, time.UTC)

func TestPassesAt(t *testing.T) {
	wait := func(d time.Duration) Limit { return Limit{Outcome: limit.Outcome{RetryAfter: d}} }
	chosen := noon.Add(time.Hour)
	for what, c := range map[string]struct {
		record Record
		want   time.Time
	}{
		"nothing was asked":    {Record{At: noon}, time.Time{}},
		"one limit":            {Record{At: noon, Limits: []Limit{wait(time.Second)}}, noon.Add(time.Second)},
		"the longest wait":     {Record{At: noon, Limits: []Limit{wait(3), wait(time.Minute), wait(0)}}, noon.Add(time.Minute)},
		"no wait can help":     {Record{At: noon, Limits: []Limit{wait(time.Second), {Outcome: limit.Outcome{Never: true}}}}, time.Time{}},
		"no wait is known":     {Record{At: noon, Limits: []Limit{wait(0)}}, time.Time{}},
		"said by the gateway":  {Record{At: noon, Limits: []Limit{wait(3)}, PassesAt: chosen}, chosen},
		"said without a limit": {Record{At: noon, PassesAt: chosen}, chosen},
	} {
		NewMemory("edge", 1).Remember(&c.record)
		if !c.record.PassesAt.Equal(c.want) {
			t.Errorf("%s: passes at %v, want %v", what, c.record.PassesAt, c.want)
		}
	}
}

// TestJSON writes what is promised to those who read it, and reads it back.
func TestJSON(t *testing.T) {
	rule := limit.Limit{Name: "login", Algorithm: "token-bucket", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, OnUnavailable: limit.Deny}
	for what, c := range map[string]struct {
		record Record
		want   string
	}{
		"everything": {
			Record{
				At: noon.In(time.FixedZone("far", 3600)), Route: "sign-in", Method: "POST", Path: "/login", Status: 429, Reason: "exceeded",
				Key: "user:42", APIKey: "ci", Flaw: &Flaw{Credential: "token", Check: "expired"}, Cost: 1, Counts: "money", Wait: 2 * time.Second, Node: "127.0.0.1:7700", Source: "cluster", Attached: func() {},
				Upstream: "app", Why: "limit login: unknown", Undecided: "limit all: down",
				Limits: []Limit{
					{Rule: &rule, Outcome: limit.Outcome{Name: "login", Limit: 10, RetryAfter: 1500*time.Millisecond + 1, ResetAfter: time.Minute}},
					{Outcome: limit.Outcome{Name: "all", Allowed: true, Limit: 5, Remaining: 4}, Counts: "tokens", Earlier: true},
				},
			},
			`{"id":"ID","gateway":"edge-1","at":"2026-02-03T12:00:00.123Z","route":"sign-in","method":"POST","path":"/login",
			"status":429,"reason":"exceeded","key":"user:42","api_key":"ci","flaw":{"credential":"token","check":"expired"},"cost":1,"counts":"money","wait_ms":2000,"node":"127.0.0.1:7700","source":"cluster","upstream":"app","why":"limit login: unknown","undecided":"limit all: down","limits":[
			{"rule":{"name":"login","algorithm":"token-bucket","capacity":10,"refill":"1/s","on_unavailable":"deny"},
			"outcome":{"name":"login","allowed":false,"limit":10,"remaining":0,"retry_after_ms":1501,"reset_after_ms":60000}},
			{"outcome":{"name":"all","allowed":true,"limit":5,"remaining":4,"retry_after_ms":0,"reset_after_ms":0},"counts":"tokens","earlier":true}],
			"passes_at":"2026-02-03T12:00:01.624Z"}`,
		},
		"little": {
			Record{At: noon.Truncate(time.Millisecond), Status: 403, Reason: "forbidden"},
			`{"id":"ID","gateway":"edge-1","at":"2026-02-03T12:00:00.123Z","status":403,"reason":"forbidden","cost":0,"limits":[]}`,
		},
	} {
		id := NewMemory("Edge.1", 1).Remember(&c.record)
		got, err := json.Marshal(&c.record)
		if err != nil {
			t.Fatal(err)
		}
		var gotAny, wantAny any
		if err := json.Unmarshal(got, &gotAny); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(strings.Replace(c.want, "ID", id, 1)), &wantAny); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(gotAny, wantAny) {
			t.Errorf("%s: got\n%s, want\n%s", what, got, c.want)
		}
		var back Record
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		again, err := json.Marshal(&back)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: read and written again\n%s with %v, want\n%s", what, again, err, got)
		}
		if back.Attached != nil || back.Key != c.record.Key || back.ID != id || !back.At.Equal(c.record.At.Truncate(time.Millisecond)) {
			t.Errorf("%s: read %+v", what, back)
		}
	}
}

func TestJSONThatIsNone(t *testing.T) {
	for text, want := range map[string]string{
		`{"at":"yesterday"}`: "at: ",
		`{"at":"2026-02-03T12:00:00Z","passes_at":"12:00"}`:     "passes_at: ",
		`{"limits":[{"outcome":{"retry_after_ms":"soon"}}]}`:    "denial: ",
		`{"limits":[{"rule":{"refill":"often"},"outcome":{}}]}`: "denial: ",
		`[]`: "denial: ",
	} {
		var r Record
		if err := json.Unmarshal([]byte(text), &r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var r Record
	if err := json.Unmarshal([]byte(`{"id":"x","of_tomorrow":1}`), &r); err != nil || r.ID != "x" {
		t.Errorf("an unknown field: %+v and %v", r, err)
	}
}

// TestHash tells keys apart, and is the same everywhere.
func TestHash(t *testing.T) {
	if got, want := Hash("abc"), "sha256-ba7816bf8f01cfea414140de5dae2223"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if Hash("a") == Hash("b") || Hash("") == Hash("a") {
		t.Error("two keys have one hash")
	}
}
