package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/ring/cluster"
)

const plansDocument = `limits:
  api:
    capacity: 10
    refill: 1/h
    plans: {free: {capacity: 2}, pro: {capacity: 1000, refill: 100/h}}
    overrides: [{key: "org:acme:*", capacity: 50}, {key: "user:7", deny: true}]
  plain: {capacity: 5, refill: 1/h}
`

// send sends JSON to a node, and returns the status and the answer.
func send(t *testing.T, method, at, path, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+at+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.Status + " " + string(text)
}

// Plans and overrides of the limits document, by the command line and the JSON API.
func TestPlans(t *testing.T) {
	n := aCluster(t)
	env := map[string]string{"JETON_SERVER": n.GRPCAddr()}
	file := filepath.Join(t.TempDir(), "limits.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(plansDocument)
	says(t, env, "limits diff --merge -f "+file, cli.ExitNo, "plan pro:       capacity: 1000, refill: 100/h", "plan free is new", "override user:7: deny", "overrides: 2 new")
	says(t, env, "limits apply --merge -f "+file, cli.ExitOK)
	says(t, env, "limits get", cli.ExitOK, "free: {capacity: 2}", `- {key: "org:acme:*", capacity: 50}`, `- {key: "user:7", deny: true}`)

	says(t, env, "check api user:1 --plan pro --cost 900", cli.ExitOK, "100 of 1000 left", "by plan pro")
	says(t, env, "check api user:1 --plan free", cli.ExitNo, "0 of 2 left", "by plan free")
	says(t, env, "bucket api user:1", cli.ExitOK, "plan         free: these are its numbers", "capacity 2")
	says(t, env, "bucket api user:1 --plan pro", cli.ExitOK, "plan         pro: these are its numbers", "tokens now   100 of 1000")
	says(t, env, "bucket api user:9 --plan free", cli.ExitOK, "tokens now   2 of 2: full")
	says(t, env, "bucket api user:1 --plan gold", cli.ExitError, `plan: limit "api" has no plan "gold": use free or pro`)
	says(t, env, "bucket plain user:1 --plan pro", cli.ExitError, `"plain" has no plans`)
	says(t, env, "check api,plain user:2 --plan free", cli.ExitOK, "1 of 2 left", "4 of 5 left")
	says(t, env, "check api user:2 plain org:2 --plan free", cli.ExitError, `checks[1].plan: there is no plan "free"`)
	says(t, env, "check api user:2 --plan gold", cli.ExitError, `plan: limit "api" has no plan "gold": use free or pro, or leave the plan out`)
	says(t, env, "check plain user:2 --plan pro", cli.ExitError, `"plain" has no plans`)
	says(t, env, "check api org:acme:1 --plan free", cli.ExitOK, "49 of 50 left", `by override: capacity: 50 for "org:acme:*", of the limits document`)
	says(t, env, "check api user:7 --plan pro", cli.ExitNo, `by override: deny for "user:7", of the limits document`)
	says(t, env, "bucket api user:7 --plan pro", cli.ExitOK, `deny for "user:7", of the limits document`)
	for path, want := range map[string]string{
		"/v1/buckets/api/user:1?plan=pro":                "200 OK {\"key\":\"user:1\",\"limit\":{\"name\":\"api\",\"algorithm\":\"token-bucket\",\"capacity\":1000,",
		"/v1/buckets/api/user:1?plan=gold":               `plan: limit \"api\" has no plan \"gold\"`,
		"/debug/buckets/api/user:1?plan=pro&format=text": "plan         pro: these are its numbers",
		"/debug/buckets/api/user:1?plan=gold":            `has no plan \"gold\"`,
		"/v1/buckets/nothing/user:1?plan=pro":            "404 ",
	} {
		if got := send(t, http.MethodGet, n.HTTPAddr(), path, ""); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}

	for _, c := range []struct{ path, body, want string }{
		{"/v1/check", `{"key":"user:3","limits":["api"],"plan":"pro"}`, `"plan":"pro","allowed":true`},
		{"/v1/check", `{"key":"org:acme:3","limits":["api"],"plan":"pro"}`, `"override":"capacity: 50 for \"org:acme:*\", of the limits document","allowed":true`},
		{"/v1/check-all", `{"checks":[{"key":"user:3","limits":["api"],"plan":"free"},{"key":"user:4","limits":["plain"]}]}`, `"plan":"free"`},
		{"/v1/check", `{"key":"user:3","limits":["api"],"plan":"gold"}`, `use free or pro`},
		{"/v1/check", `{"key":"user:3","limits":["api"],"plan":7}`, `400 `},
		{"/v1/check-all", `{"checks":[{"key":"user:3","limits":["api"],"plan":"gold"}]}`, `checks[0].plan`},
	} {
		if got := send(t, http.MethodPost, n.HTTPAddr(), c.path, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.path, c.body, got, c.want)
		}
	}

	// A live override of the same keys counts before the document's, which comes back.
	says(t, env, "limits override set api org:acme:* --capacity 60", cli.ExitOK)
	says(t, env, "check api org:acme:9", cli.ExitOK, "59 of 60 left")
	says(t, env, "limits override list", cli.ExitOK, "api    org:acme:*  capacity: 60", "api    user:7      deny", "the limits document")
	says(t, env, "limits override unset api org:acme:*", cli.ExitOK)
	says(t, env, "check api org:acme:9 --look", cli.ExitOK, "of 50 left")
	var all []cluster.OverrideStatus
	if err := json.Unmarshal([]byte(says(t, env, "limits override list api --output json", cli.ExitOK)), &all); err != nil || len(all) != 2 || !all[0].Document || all[0].Who != "" {
		t.Errorf("%+v: %v", all, err)
	}

	write(strings.Replace(plansDocument, "pro: {capacity: 1000, refill: 100/h}", "max: {limit: 3}", 1))
	says(t, env, "limits apply --merge -f "+file, cli.ExitError, "limits.yaml: line 5: limits.api.plans.max.limit: does not fit the algorithm token-bucket")
}
