package gateway

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/keys"
)

// keyed is a document that finds clients by API keys of a file, and answers 401 to all others.
func keyed(upstream string) string {
	text := strings.Replace(aDocument(upstream), "deny:", "identity: {key: [\"owner:{api_key.owner}\"], api_key: {keys_file: keys.d}}\ndeny:", 1)
	return strings.Replace(text, "{limits: [two]}", "{limits: [four], choose: {by: api_key.plan, when: [{is: free, limits: [two]}]}}", 1)
}

// Keys that are made count, keys that are revoked do not, and a broken file leaves what was in force.
func TestKeysAreFollowed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.d", "ours.jsonl")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, "# none yet\n")
	var leaked atomic.Bool
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "" {
			leaked.Store(true)
		}
	}))
	t.Cleanup(upstream.Close)
	path := filepath.Join(dir, "gateway.yaml")
	write(t, path, keyed(upstream.URL))
	r := openAt(t, path, Config{})
	r.heard(t)
	add := func(label, owner, plan string) string {
		t.Helper()
		key := keys.Make()
		if err := keys.Add(file, keys.Key{Label: label, Owner: owner, Digest: keys.DigestOf(key), Attributes: map[string]string{"plan": plan}}); err != nil {
			t.Fatal(err)
		}
		return key
	}
	wants := func(key string, statuses ...int) {
		t.Helper()
		for _, want := range statuses {
			if got := r.get(t, r.ProxyAddr(), "/items", "X-Api-Key: "+key).status; got != want {
				t.Errorf("answered %d, want %d", got, want)
			}
		}
	}
	reloads := func(says string) {
		t.Helper()
		if err := r.look(false); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	gold, free := add("ci", t.Name()+"-gold", "gold"), add("trial", t.Name()+"-free", "free")
	wants(gold, http.StatusUnauthorized)
	reloads("")
	wants(gold, 200, 200, 200, 200, http.StatusTooManyRequests)
	wants(free, 200, 200, http.StatusTooManyRequests)
	wants(gold[:len(gold)-1], http.StatusUnauthorized)
	if leaked.Load() {
		t.Error("the upstream gets the keys")
	}

	before := valueOf(r.counts.reloads.WithLabelValues(loaded))
	reloads("")
	if valueOf(r.counts.reloads.WithLabelValues(loaded)) != before {
		t.Error("a file that has not changed is loaded again")
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(good)+"rubbish\n")
	reloads("identity.api_key.keys_file: cannot be read: " + file + ":4: line: is not a JSON object")
	wants(free, http.StatusTooManyRequests)
	if body := r.get(t, r.AdminAddr(), "/readyz").body; !strings.Contains(body, "configuration: last reload failed") || !strings.Contains(body, "ours.jsonl:4") {
		t.Errorf("/readyz says %s", body)
	}
	write(t, file, string(good))
	reloads("")

	for _, label := range []string{"trial", "ci"} { // the last one, too: that no key has the attribute is no mistake
		if _, err := keys.Revoke(file, label, time.Now()); err != nil {
			t.Fatal(err)
		}
		reloads("")
	}
	wants(free, http.StatusUnauthorized)
	wants(gold, http.StatusUnauthorized)
	if n := r.log.count("api_key=ci"); n == 0 || r.log.count(gold) != 0 {
		t.Errorf("the log names the key by its label in %d lines, and by itself in %d", n, r.log.count(gold))
	}
}

// Keys that are lost, as by a file that was cut off, are said loudly and by their labels; those that were revoked are not.
func TestKeysThatAreLostAreSaid(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.d", "ours.jsonl")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"ci", "web", "app", "trial", "shop"} {
		if err := keys.Add(file, keys.Key{Label: label, Owner: t.Name(), Digest: keys.DigestOf(label), Attributes: map[string]string{"plan": "free"}}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "gateway.yaml")
	write(t, path, keyed(anUpstream(t).URL))
	r := openAt(t, path, Config{})
	step := func(says, held string) {
		t.Helper()
		if err := r.look(false); err != nil {
			t.Fatal(err)
		}
		if says += "\n"; says != "\n" && r.log.count(says) != 1 {
			t.Errorf("no line of the log ends with\n%s\nin\n%s", says, r.log.text.String())
		}
		if body := r.readyz(t, "").body; !strings.Contains(body, "\nconfiguration: 2 routes, "+held+", in force since 2") {
			t.Errorf("/readyz says\n%s, want %s", body, held)
		}
	}
	step("", "5 API keys")
	if _, err := keys.Revoke(file, "shop", time.Now()); err != nil {
		t.Fatal(err)
	}
	step(`level=INFO msg="document in force" file=`+path+` routes=2 routes_before=2 keys=4 keys_before=5 fields=[identity]`, "4 API keys")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, cut(t, string(whole), `{"label":"web"`))
	step(`level=WARN msg="document in force; some of what the previous one had is missing" file=`+path+
		` routes=2 routes_before=2 keys=1 keys_before=4 keys_gone="[web app trial]" fields=[identity]`, "1 API key")
	write(t, file, string(whole))
	step(`level=INFO msg="document in force" file=`+path+` routes=2 routes_before=2 keys=4 keys_before=1 fields=[identity]`, "4 API keys")
}
