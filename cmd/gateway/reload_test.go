package gateway

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is what the gateway answers about the path that only some documents have a route for.
func (r *rig) served(t *testing.T) int {
	t.Helper()
	return r.get(t, r.ProxyAddr(), "/new").status
}

// withNew is a document with one more route.
func withNew(document string) string { return document + "- {name: new, path: /new}\n" }

func TestReload(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	for _, tt := range []struct {
		name     string
		document string
		outcome  string // of the metric; empty: nothing has changed
		says     string // in the error
	}{
		{"the same", good, "", ""},
		{"a good one", withNew(good), loaded, ""},
		{"no YAML", "routes: [", invalid, "document"},
		{"an unknown field", good + "nonsense: 1\n", invalid, "nonsense"},
		{"two mistakes", strings.ReplaceAll(withNew(good), "path: /", "path: "), invalid, "routes[1].path"},
		{"a missing file", good + "exempt: {token_file: none}\n", invalid, "exempt.token_file"},
		{"a bad variable", strings.Replace(withNew(good), "{limits: [two]}", `{limits: [two], key: ["{nope}"]}`, 1), "", "nope"},
		{"another address", strings.Replace(withNew(good), "proxy:\n  listen: 127.0.0.1:0", "proxy:\n  listen: 127.0.0.1:1", 1), refused, "proxy.listen: it cannot change while the gateway runs (from 127.0.0.1:0 to 127.0.0.1:1): restart"},
		{"no forward-auth", strings.Replace(withNew(good), `forward_auth: {listen: "127.0.0.1:0"}`, "", 1), refused, "forward_auth.listen"},
		{"another name", strings.Replace(withNew(good), "name: test", "name: other", 1), refused, "name: it cannot change while the gateway runs (from test to other)"},
		{"other servers", strings.Replace(withNew(good), aNode, "127.0.0.1:1", 1), refused, "cluster.servers"},
		{"tracing", withNew(good) + "tracing: {endpoint: 127.0.0.1:4317, insecure: true}\n", refused, "tracing.endpoint"},
		{"another patience", strings.Replace(withNew(good), "upstreams:", "idle_within: 1s\n  upstreams:", 1), refused, "proxy.idle_within"},
		{"another budget", strings.Replace(withNew(good), "decide_within: 5s", "decide_within: 6s", 1), loaded, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, Config{}, good)
			write(t, r.path, tt.document)
			err := r.Reload()
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Reload: %v, want %q", err, tt.says)
			}
			want := http.StatusNotFound
			if tt.outcome == loaded {
				want = http.StatusOK
			}
			if got := r.served(t); got != want {
				t.Errorf("/new is answered %d, want %d", got, want)
			}
			if tt.outcome != "" {
				if n := valueOf(r.counts.reloads.WithLabelValues(tt.outcome)); n != 1 {
					t.Errorf("%v reloads are counted as %s", n, tt.outcome)
				}
			}
			if current := valueOf(r.counts.current); (current == 1) != (tt.says == "") {
				t.Errorf("jeton_gateway_config_current is %v", current)
			}
			if body := r.get(t, r.AdminAddr(), "/readyz").body; strings.Contains(body, "configuration: last reload failed") != (tt.says != "") {
				t.Errorf("/readyz says %s", body)
			}
			write(t, r.path, withNew(good))
			if err := r.Reload(); err != nil || r.served(t) != http.StatusOK {
				t.Errorf("a good document after that: %v, %d", err, r.served(t))
			}
		})
	}
}

// What is wrong is said once, however often it is looked at, and again when it is something else, or asked for.
func TestAMistakeIsSaidOnce(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	r := open(t, Config{}, good)
	const said = "the document was not loaded"
	step := func(document string, asked bool, want int) {
		t.Helper()
		write(t, r.path, document)
		for range 3 {
			_ = r.look(asked)
			asked = false
		}
		if n := r.log.count(said); n != want {
			t.Errorf("said %d times, want %d", n, want)
		}
	}
	step(good, false, 0)
	step("nonsense: 1", false, 1)
	step("nonsense: 1", true, 2)
	step("rubbish: 1", false, 3)
	step(strings.Replace(good, "name: test", "name: other", 1), false, 4)
	step(strings.Replace(good, "name: test", "name: another", 1), false, 5)
	step(good, false, 5)
	if n := r.log.count("is in force again"); n != 1 {
		t.Errorf("that all is well again is said %d times", n)
	}
	step("nonsense: 1", false, 6)
	if n := valueOf(r.counts.reloads.WithLabelValues(invalid)); n != 3 {
		t.Errorf("%v documents are counted as invalid, want 3", n)
	}
	if n := valueOf(r.counts.reloads.WithLabelValues(refused)); n != 2 {
		t.Errorf("%v documents are counted as refused, want 2", n)
	}
}

// What clients may decide by themselves is said at the start and with every document that is put in force, and keeps none out.
func TestWarningsAreLogged(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	bad := strings.Replace(good, "{limits: [two]}", "{limits: [two], cost: {header: X-Units}}", 1)
	r := open(t, Config{}, bad)
	step := func(document string, want int) {
		t.Helper()
		write(t, r.path, document)
		for range 2 {
			if err := r.look(false); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.log.count("level=WARN"); n != want || r.log.count("field=routes[1].checks[0].cost.header") != want {
			t.Errorf("%d warnings are logged, want %d", n, want)
		}
	}
	step(bad, 1)
	step(good, 1)
	step(bad, 2)
}

// Files are replaced as orchestrators do it: a symbolic link points to another folder.
func TestFilesBehindSymbolicLinks(t *testing.T) {
	good := strings.Replace(aDocument(anUpstream(t).URL), "deny:", "exempt: {token_file: token}\ndeny:", 1)
	dir := t.TempDir()
	publish := func(version, document, token string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version, "gateway.yaml"), document)
		write(t, filepath.Join(dir, version, "token"), token)
		if err := os.Symlink(version, filepath.Join(dir, "next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
	}
	publish("v1", good, "a-token-of-the-first-version")
	r := openAt(t, filepath.Join(dir, "data", "gateway.yaml"), Config{})
	publish("v2", withNew(good), "a-token-of-the-first-version")
	if err := r.Reload(); err != nil || r.served(t) != http.StatusOK {
		t.Errorf("another document: %v, %d", err, r.served(t))
	}
	publish("v3", withNew(good), "a-token-of-the-third-version")
	before := valueOf(r.counts.reloads.WithLabelValues(loaded))
	if err := r.Reload(); err != nil || valueOf(r.counts.reloads.WithLabelValues(loaded)) != before+1 {
		t.Errorf("another file beside the same document is not noticed: %v", err)
	}
}

// Run looks by itself, and at once when it is told to.
func TestRunFollowsTheDocument(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	r := open(t, Config{}, good)
	ctx, cancel := context.WithCancel(t.Context())
	hangup := make(chan os.Signal, 1)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, hangup) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returns %v", err)
		}
	}()
	until := func(what string, done func() bool) {
		t.Helper()
		late := time.After(patience)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for !done() {
			select {
			case <-tick.C:
			case <-late:
				t.Fatal("still not so: ", what)
			}
		}
	}
	write(t, r.path, withNew(good))
	until("the new route is there", func() bool { return r.served(t) == http.StatusOK })
	hangup <- syscall.SIGHUP
	until("the signal is answered", func() bool { return r.log.count("nothing has changed") == 1 })
	write(t, r.path, good)
	until("the new route is gone", func() bool { return r.served(t) == http.StatusNotFound })
}
