package limit_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestRequestJSON(t *testing.T) {
	burst := limit.Limit{Name: "burst", Capacity: 10, Refill: perSecond(1)}
	strict := limit.Limit{
		Name: "strict", Algorithm: "token-bucket", Capacity: 1,
		Refill: limit.Refill{Tokens: 1, Per: 1500 * time.Millisecond}, OnUnavailable: limit.Deny,
	}
	for name, c := range map[string]struct {
		in   string
		want limit.Request
		out  string // how want is written
	}{
		"in full": {
			`{"key":"user:42","limits":["login"],"cost":3,"request_id":"r1","receipt":true}`,
			limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("login")}, Cost: 3, ID: "r1", Receipt: true},
			`{"key":"user:42","limits":["login"],"cost":3,"request_id":"r1","receipt":true}`,
		},
		"in short": {
			"\n{\"key\": \"user:42\",\n \"limits\": [\"login\"]}\n",
			limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("login")}},
			`{"key":"user:42","limits":["login"]}`,
		},
		"a look": {
			`{"key":"k","limits":["a"],"look":true}`,
			limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("a")}, Look: true},
			`{"key":"k","limits":["a"],"look":true}`,
		},
		"a look of no cost": {
			`{"key":"k","limits":["a"],"look":true,"cost":0}`,
			limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("a")}, Look: true},
			`{"key":"k","limits":["a"],"look":true}`,
		},
		"no cost": {
			`{"key":"k","limits":["a"],"cost":null}`,
			limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("a")}},
			`{"key":"k","limits":["a"]}`,
		},
		"the greatest cost": {
			`{"key":"k","limits":["a"],"cost":9223372036854775807}`,
			limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("a")}, Cost: math.MaxInt64},
			`{"key":"k","limits":["a"],"cost":9223372036854775807}`,
		},
		"inline limits": {
			`{"key":"k","limits":["a", {"name":"burst","capacity":10,"refill":"1/s"},
				{"name":"strict","algorithm":"token-bucket","capacity":1,"refill":"1/1.5s","on_unavailable":"deny"}]}`,
			limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("a"), limit.Inline(burst), limit.Inline(strict)}},
			`{"key":"k","limits":["a",{"name":"burst","capacity":10,"refill":"1/s"},` +
				`{"name":"strict","algorithm":"token-bucket","capacity":1,"refill":"1/1.5s","on_unavailable":"deny"}]}`,
		},
		"a key with everything": {
			`{"key":"ip:2001:db8::\/64 \u00fc \ud83e\ude99 \u0000","limits":["a"]}`,
			limit.Request{Key: "ip:2001:db8::/64 ü 🪙 \x00", Limits: []limit.Ref{limit.Named("a")}},
			`{"key":"ip:2001:db8::/64 ü 🪙 \u0000","limits":["a"]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got limit.Request
			if err := limit.DecodeJSON([]byte(c.in), &got); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, c.want)
			}
			if err := got.Validate(); err != nil {
				t.Errorf("not valid: %v", err)
			}
			if out, err := json.Marshal(got); err != nil || string(out) != c.out {
				t.Errorf("written as %s, %v, want %s", out, err, c.out)
			}
		})
	}
}

func TestRefJSONAlone(t *testing.T) {
	var r limit.Ref
	if err := json.Unmarshal([]byte(`"login"`), &r); err != nil || r != limit.Named("login") {
		t.Errorf("got %+v, %v", r, err)
	}
	wantFieldError(t, json.Unmarshal([]byte(`5`), &r), "limit", "is neither")
	wantFieldError(t, json.Unmarshal([]byte(`{"refill":"0/s"}`), &r), "limit.refill", "at least 1")
}

var decision = limit.Decision{
	Allowed: true,
	Limits:  []limit.Outcome{{Name: "login", Allowed: true, Limit: 10, Remaining: 9, ResetAfter: time.Second}},
	Receipts: []limit.Receipt{{
		Limit: "login", Generation: 3, Serial: math.MaxUint64,
		Span:   limit.Span{Start: 1_800_000_000_000_000_001, End: 1_800_000_001_000_000_001},
		Owner:  limit.OwnerID{0xab, 15: 0x01},
		Reuses: []limit.Span{{Start: -1, End: math.MaxInt64}},
	}},
}

func TestDecisionJSON(t *testing.T) {
	for name, c := range map[string]struct {
		value limit.Decision
		want  string
	}{
		"with receipts": {
			decision,
			`{"allowed":true,"limits":[{"name":"login","allowed":true,"limit":10,"remaining":9,"retry_after_ms":0,"reset_after_ms":1000}],` +
				`"receipts":[{"limit":"login","generation":"3","start_ns":"1800000000000000001","end_ns":"1800000001000000001",` +
				`"owner":"ab000000000000000000000000000001","serial":"18446744073709551615",` +
				`"reuses":[{"start_ns":"-1","end_ns":"9223372036854775807"}]}]}`,
		},
		"allowed": {
			limit.Decision{Allowed: true, Limits: decision.Limits},
			`{"allowed":true,"limits":[{"name":"login","allowed":true,"limit":10,"remaining":9,"retry_after_ms":0,"reset_after_ms":1000}]}`,
		},
		"denied": {
			limit.Decision{Limits: []limit.Outcome{
				{Name: "a", Limit: 10, Remaining: 1, RetryAfter: 2 * time.Second, ResetAfter: 9 * time.Second},
				{Name: "b", Never: true, Limit: 1, Remaining: 1},
			}},
			`{"allowed":false,"limits":[` +
				`{"name":"a","allowed":false,"limit":10,"remaining":1,"retry_after_ms":2000,"reset_after_ms":9000},` +
				`{"name":"b","allowed":false,"never":true,"limit":1,"remaining":1,"retry_after_ms":0,"reset_after_ms":0}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(c.value)
			if err != nil || string(text) != c.want {
				t.Fatalf("got %s, %v, want %s", text, err, c.want)
			}
			back := decision // decoding leaves nothing of what stood there
			if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, c.value) {
				t.Errorf("reads back as %+v, %v, want %+v", back, err, c.value)
			}
		})
	}
}

// A client may be older than its node.
func TestDecisionJSONOfANewerNode(t *testing.T) {
	var d limit.Decision
	err := json.Unmarshal([]byte(`{"allowed":true,"limits":[{"name":"a","allowed":true,"hue":"red"}],"hue":"red"}`), &d)
	if want := (limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: "a", Allowed: true}}}); err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestOutcomeJSONRoundsUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Millisecond - 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2,
		limit.MaxFill: 2305843009214, math.MaxInt64: 9223372036855,
	} {
		text, err := json.Marshal(limit.Outcome{RetryAfter: d, ResetAfter: d})
		if err != nil {
			t.Fatal(err)
		}
		var wire map[string]any
		if err := json.Unmarshal(text, &wire); err != nil {
			t.Fatal(err)
		}
		if wire["retry_after_ms"] != float64(want) || wire["reset_after_ms"] != float64(want) {
			t.Errorf("%v is written as %s, want %d", d, text, want)
		}
		var back limit.Outcome
		err = json.Unmarshal(text, &back)
		if err != nil || back.RetryAfter < d || back.RetryAfter-d >= time.Millisecond || back.ResetAfter != back.RetryAfter {
			t.Errorf("%v reads back as %v and %v, %v", d, back.RetryAfter, back.ResetAfter, err)
		}
	}
}

// Numbers that no Duration holds do not wrap around.
func TestOutcomeJSONOutOfRange(t *testing.T) {
	for ms, want := range map[string]time.Duration{
		"9223372036854": 9223372036854 * time.Millisecond, "9223372036855": math.MaxInt64, "9223372036854775807": math.MaxInt64,
		"-1": 0, "-9223372036854775808": 0,
	} {
		var o limit.Outcome
		if err := json.Unmarshal([]byte(`{"retry_after_ms":`+ms+`,"reset_after_ms":`+ms+`}`), &o); err != nil {
			t.Errorf("%s: %v", ms, err)
		}
		if o.RetryAfter != want || o.ResetAfter != want {
			t.Errorf("%s ms read as %v and %v, want %v", ms, o.RetryAfter, o.ResetAfter, want)
		}
	}
}

func TestRetryAfterSeconds(t *testing.T) {
	wait := func(d time.Duration) limit.Outcome { return limit.Outcome{RetryAfter: d} }
	for name, c := range map[string]struct {
		d       limit.Decision
		seconds int64
		ok      bool
	}{
		"allowed":         {limit.Decision{Allowed: true, Limits: []limit.Outcome{{Allowed: true}}}, 0, false},
		"a nanosecond":    {limit.Decision{Limits: []limit.Outcome{wait(1)}}, 1, true},
		"a second":        {limit.Decision{Limits: []limit.Outcome{wait(time.Second)}}, 1, true},
		"rounded up":      {limit.Decision{Limits: []limit.Outcome{wait(time.Second + 1)}}, 2, true},
		"six minutes":     {limit.Decision{Limits: []limit.Outcome{wait(6 * time.Minute)}}, 360, true},
		"the longest":     {limit.Decision{Limits: []limit.Outcome{wait(2 * time.Second), wait(5 * time.Second), {Allowed: true}}}, 5, true},
		"never":           {limit.Decision{Limits: []limit.Outcome{{Never: true}}}, 0, false},
		"never, and wait": {limit.Decision{Limits: []limit.Outcome{wait(time.Second), {Never: true}}}, 0, false},
	} {
		if seconds, ok := c.d.RetryAfterSeconds(); seconds != c.seconds || ok != c.ok {
			t.Errorf("%s: %d, %v, want %d, %v", name, seconds, ok, c.seconds, c.ok)
		}
	}
}

func FuzzRequestJSON(f *testing.F) {
	for _, seed := range []string{
		`{"key":"user:42","limits":["login"],"cost":3,"request_id":"r1","receipt":true}`,
		`{"key":"k","limits":["a",{"name":"burst","capacity":10,"refill":"1/s"}]}`,
		`{"key":"k","limits":[{"name":"b","algorithm":"token-bucket","capacity":1,"refill":"1/1.5s","on_unavailable":"local"}],"look":true}`,
		`{"KEY":"k","key":"\ud800\u0000<","limits":["a"],"limits":["b"]}`, `{"limits":[null,{},""]}`, `{"cost":1e400}`,
		`{"key":"k","limits":[{"name":"w","algorithm":"fixed-window","limit":1,"window":"1m"},{"name":"m","algorithm":"fixed-window","limit":1,"per":"month","anchor":31}]}`,
		`{"key":"k","limits":[{"name":"a","capacity":1,"refill":"1/s","reserve":"exact"},{"name":"b","capacity":1,"refill":"1/s","reserve":"7%"}]}`,
		`{"key":"k","limits":["a"],"plan":"pro"}`, `{"key":"k","limits":["a"],"plan":"a b"}`,
		`{}]`, `null`, ``, `{"limits":[{"refill":"1/ns","capacity":2305843009213693952,"name":"a"}],"key":"\u2028"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r, again limit.Request
		if err := limit.DecodeJSON(text, &r); err != nil {
			fieldError(t, err)
			return
		}
		if err := r.Validate(); err != nil {
			fieldError(t, err)
			return
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := limit.DecodeJSON(out, &again); err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v is written as %s and reads back as %+v, %v", r, out, again, err)
		}
	})
}

func FuzzDecisionJSON(f *testing.F) {
	for _, seed := range []string{
		`{"allowed":false,"limits":[{"name":"a","allowed":false,"never":true,"limit":1,"remaining":1,"retry_after_ms":0,"reset_after_ms":0}]}`,
		`{"limits":[{"retry_after_ms":9223372036854775807,"reset_after_ms":-5}],"receipts":[]}`,
		`{"receipts":[{"generation":3}]}`, `{"receipts":[{"generation":null,"owner":null,"reuses":[null]}]}`, `null`, `{"limits":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	whole, err := json.Marshal(decision)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, text []byte) {
		var d, again limit.Decision
		if json.Unmarshal(text, &d) != nil {
			return
		}
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%+v is written as %s, which does not read back: %v", d, out, err)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(twice, out) {
			t.Fatalf("%s is written back as %s, %v", out, twice, err)
		}
	})
}

// TestNodeStays writes a decision without where it was made, and reads none.
func TestNodeStays(t *testing.T) {
	text, err := json.Marshal(limit.Decision{Allowed: true, Limits: []limit.Outcome{}, Node: "127.0.0.1:7700"})
	if err != nil || string(text) != `{"allowed":true,"limits":[]}` {
		t.Errorf("written %s with %v", text, err)
	}
	var d limit.Decision
	if err := json.Unmarshal([]byte(`{"allowed":true,"node":"a","Node":"b"}`), &d); err != nil || d.Node != "" {
		t.Errorf("read %+v with %v", d, err)
	}
}
