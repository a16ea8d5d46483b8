package console

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A tried is what POST /console/try answers.
type tried struct {
	Decision        limit.Decision
	Status          int
	Headers         [][2]string
	Curl, Go, Redis string
}

func TestTry(t *testing.T) {
	r := newRig(t, false)
	own := "Sec-Fetch-Site: same-origin"
	try := func(body string) (out tried) {
		a := r.ask(http.MethodPost, "/console/try", body, own)
		if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", body, a.StatusCode, a.body, err)
		}
		return out
	}
	got := try(`{"key":"it's <me>","limits":["demo"],"cost":3}`)
	if !got.Decision.Allowed || got.Status != http.StatusOK || len(got.Headers) != 1 || got.Headers[0] != [2]string{"RateLimit", `"demo";r=1;t=1`} {
		t.Errorf("%+v", got)
	}
	host := r.server.Listener.Addr().String()
	if want := `curl http://` + host + `/v1/check -d '{"key":"it'\''s \u003cme\u003e","limits":["demo"],"cost":3}'`; got.Curl != want {
		t.Errorf("curl: %s, want %s", got.Curl, want)
	}
	if want := `d, err := cluster.Check(ctx, jeton.Request{Key: "it's <me>", Limits: []jeton.Ref{jeton.Named("demo")}, Cost: 3})`; got.Go != want {
		t.Errorf("Go: %s, want %s", got.Go, want)
	}
	if want := `redis-cli -p 7706 JETON.CHECK 'it'\''s <me>' demo 3`; got.Redis != want {
		t.Errorf("Redis: %s, want %s", got.Redis, want)
	}
	if denied := try(`{"key":"k","limits":["demo"],"cost":100000}`); denied.Decision.Allowed || denied.Status != http.StatusTooManyRequests {
		t.Errorf("%+v", denied)
	}
	for body, field := range map[string]string{`{"key":"","limits":["demo"]}`: "key", `{"kye":"k"}`: "kye", `{`: "body", `{"key":"k","limits":["demo"],"cost":-1}`: "cost"} {
		var p struct{ Field string }
		a := r.ask(http.MethodPost, "/console/try", body, own)
		if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.StatusCode != http.StatusBadRequest || p.Field != field {
			t.Errorf("%s: %d %s", body, a.StatusCode, a.body)
		}
	}
	if a := r.ask(http.MethodPost, "/console/try", `{"key":"k","limits":["none"]}`, own); a.StatusCode != http.StatusNotFound {
		t.Errorf("a limit that is not there: %d %s", a.StatusCode, a.body)
	}
	if a := r.ask(http.MethodPost, "/console/try", string(make([]byte, maxCheck+1)), own); a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d", a.StatusCode)
	}
	if a := r.ask(http.MethodPost, "/console/try", `{"key":"k","limits":["demo"]}`, "Origin: http://evil.example"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another site makes a check: %d", a.StatusCode)
	}
}

// What a form cannot say is not shown in that form.
func TestForms(t *testing.T) {
	c := &Console{Config: Config{Redis: "0.0.0.0:7706"}}
	at := &http.Request{Host: "node-1.example:7702"}
	named := []limit.Ref{limit.Named("login")}
	for _, tt := range []struct {
		request   limit.Request
		goForm    string // the fields behind Limits; "-" for none
		redisForm string
	}{
		{limit.Request{Key: "k", Limits: named}, "", "redis-cli -h node-1.example -p 7706 JETON.CHECK k login"},
		{limit.Request{Key: "k", Limits: named, Look: true}, ", Look: true", "redis-cli -h node-1.example -p 7706 JETON.CHECK k login 0"},
		{limit.Request{Key: "k", Limits: named, Wait: 1500 * time.Millisecond, Plan: "pro"}, `, Plan: "pro", Wait: 1500 * time.Millisecond`, ""},
		{limit.Request{Key: "k", Limits: named, Cost: 5, Hold: time.Minute, Least: 2}, ", Cost: 5, Hold: 1 * time.Minute, Least: 2", ""},
		{limit.Request{Key: "k", Limits: named, ID: `a"b`, Receipt: true}, `, ID: "a\"b", Receipt: true`, ""},
		{limit.Request{Key: "k", Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "burst"})}}, "-", ""},
	} {
		want := ""
		if tt.goForm != "-" {
			want = `d, err := cluster.Check(ctx, jeton.Request{Key: "k", Limits: []jeton.Ref{jeton.Named("login")}` + tt.goForm + "})"
		}
		if got := inGo(tt.request); got != want {
			t.Errorf("Go: %s, want %s", got, want)
		}
		if got := c.redis(at, tt.request); got != tt.redisForm {
			t.Errorf("Redis: %s, want %s", got, tt.redisForm)
		}
	}
	two := limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("a"), limit.Named("b")}}
	if got := c.redis(at, two); got != "" {
		t.Errorf("two limits are no command: %s", got)
	}
	if got := (&Console{}).redis(at, limit.Request{Key: "k", Limits: named}); got != "" {
		t.Errorf("without a port there is no command: %s", got)
	}
	for text, want := range map[string]string{"user:42": "user:42", "": "''", "a b": "'a b'", "$HOME": "'$HOME'", "it's": `'it'\''s'`, "*": "'*'", "~": "'~'", "ä": "'ä'"} {
		if got := inShell(text); got != want {
			t.Errorf("%q in a shell is %s, want %s", text, got, want)
		}
	}
}
