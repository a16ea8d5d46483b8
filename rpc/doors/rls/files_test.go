package rls_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

func rule(domain, n string) string {
	return "domain: " + domain + "\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: " + n + "}}]\n"
}

func TestNew(t *testing.T) {
	stub := conformance.Stub{}
	registered := prometheus.NewRegistry()
	if _, err := rls.New(rls.Config{Limiter: stub, Directory: write(t, small), Registerer: registered}); err != nil {
		t.Fatal(err)
	}
	empty, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "a.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	large := t.TempDir()
	put(t, filepath.Join(large, "a.yaml"), strings.Repeat("#", 16<<20+1))
	many := t.TempDir()
	for _, name := range repeat(1001, "a") {
		put(t, filepath.Join(many, name+".yaml"), "domain: "+name)
	}
	twice := write(t, rule("d", "1"))
	put(t, filepath.Join(twice, "second.yml"), "\n"+rule("d", "2"))
	for name, c := range map[string]struct {
		cfg  rls.Config
		want string
	}{
		"no limiter":       {rls.Config{Directory: empty}, "no Limiter is given"},
		"no directory":     {rls.Config{Limiter: stub}, "no directory"},
		"missing":          {rls.Config{Limiter: stub, Directory: missing}, "no such file"},
		"a file":           {rls.Config{Limiter: stub, Directory: filepath.Join(twice, "rules.yaml")}, "is no directory"},
		"registered twice": {rls.Config{Limiter: stub, Directory: write(t, small), Registerer: registered}, "duplicate metrics"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := rls.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ directory, want string }{
		"empty":          {empty, "has no file whose name ends in .yaml or .yml"},
		"a folder":       {folder, "is a directory"},
		"large":          {large, "more than 16777216 bytes"},
		"many":           {many, "more than 1000 files"},
		"a mistake":      {write(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: d, requests_per_unit: 1}}]"), "rules.yaml:2: descriptors[0].rate_limit.unit"},
		"a domain twice": {twice, `second.yml:2: domain: "d" is the domain of ` + filepath.Join(twice, "rules.yaml") + ":1 already"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			door, err := rls.New(rls.Config{Limiter: stub, Directory: c.directory, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatalf("the node does not start: %v", err)
			}
			_, err = direct(door).ShouldRateLimit(t.Context(), request("d", "a=1"))
			if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no rules are in force: ") || !strings.Contains(err.Error(), c.want) || !strings.Contains(log.String(), "level=ERROR") {
				t.Errorf("got %v and %s, want %s", err, log.String(), c.want)
			}
		})
	}
}

// A door that was opened with a mistake in its files decides once they are right.
func TestRunAfterAMistake(t *testing.T) {
	directory := write(t, rule("d", "x"))
	synctest.Test(t, func(t *testing.T) {
		stub := conformance.Stub{OnCheck: func(context.Context, limit.Request) (limit.Decision, error) {
			return limit.Decision{Allowed: true}, nil
		}}
		r := &rig{tb: t, metrics: prometheus.NewRegistry()}
		var err error
		if r.door, err = rls.New(rls.Config{Limiter: stub, Directory: directory, Registerer: r.metrics}); err != nil {
			t.Fatal(err)
		}
		r.client = direct(r.door)
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.door.Run(ctx) }()
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if _, err := r.client.ShouldRateLimit(t.Context(), request("d", "a=1")); status.Code(err) != codes.Unavailable || r.count("jeton_door_rls_configuration_refused", "") != 1 {
			t.Errorf("with the mistake: %v", err)
		}
		put(t, filepath.Join(directory, "rules.yaml"), rule("d", "2"))
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if r.expect(ok, request("d", "a=1")); r.count("jeton_door_rls_configuration_refused", "") != 0 {
			t.Error("the files are right, and refused")
		}
		end()
		<-done
	})
}

// What the files say counts within a second, unless it has a mistake.
func TestRun(t *testing.T) {
	directory := write(t, rule("d", "1"))
	path := filepath.Join(directory, "rules.yaml")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		capacity := int64(0)
		stub := conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
			capacity = r.Limits[0].Inline.Capacity
			return limit.Decision{Allowed: true}, nil
		}}
		r := &rig{tb: t, metrics: prometheus.NewRegistry()}
		var err error
		if r.door, err = rls.New(rls.Config{Limiter: stub, Directory: directory, Registerer: r.metrics, Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
		r.client = direct(r.door)
		put(t, path, rule("d", "2")) // before Run begins
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.door.Run(ctx) }()
		after := func(what string, want int64, refused float64) {
			t.Helper()
			time.Sleep(time.Second) //nolint:forbidigo // in a bubble
			synctest.Wait()
			capacity = 0
			if r.expect(ok, request("d", "a=1")); capacity != want {
				t.Errorf("%s: the limit is %d, want %d", what, capacity, want)
			}
			if got := r.count("jeton_door_rls_configuration_refused", ""); got != refused {
				t.Errorf("%s: configuration_refused is %v", what, got)
			}
			if got := r.door.Problem(); (got != "") != (refused == 1) {
				t.Errorf("%s: the problem is %q", what, got)
			}
		}
		after("a change before Run", 2, 0)
		after("nothing", 2, 0)
		put(t, path, rule("d", "3"))
		after("a change", 3, 0)
		put(t, path, rule("d", "x"))
		after("a mistake", 3, 1)
		after("the mistake, still", 3, 1)
		if n := strings.Count(log.String(), "rules.yaml:2: descriptors[0].rate_limit.requests_per_unit"); n != 1 {
			t.Errorf("the mistake was logged %d times: %s", n, log.String())
		}
		put(t, path, rule("d", "3"))
		after("what was before", 3, 0)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		after("nothing at all", 3, 1)
		put(t, path, rule("d", "3"))
		after("the same again", 3, 0)
		put(t, filepath.Join(directory, "more.yml"), rule("e", "1"))
		put(t, filepath.Join(directory, ".hidden.yaml"), "[")
		put(t, filepath.Join(directory, "README"), "[")
		after("a further file", 3, 0)
		if r.expect(ok, request("e", "a=1")); capacity != 1 {
			t.Errorf("the further file has the limit %d", capacity)
		}
		put(t, path, strings.ReplaceAll(rule("d", "4"), "key: a", "key: b"))
		after("another rule", 0, 0)
		for _, m := range []string{"taken", "refused"} {
			if got := r.count("jeton_door_rls_configurations_total", "outcome="+m); got != map[string]float64{"taken": 5, "refused": 1}[m] {
				t.Errorf("%s: %v", m, got)
			}
		}
		if got := r.count("jeton_door_rls_hits_total", "rule=d.a"); got != 0 {
			t.Errorf("the rule that is gone has %v hits", got)
		}
		end()
		<-done
	})
}

func TestCheck(t *testing.T) {
	directory := write(t, small)
	put(t, filepath.Join(directory, "shop.yml"), "domain: shop\ndescriptors:\n- {key: x*}\n")
	put(t, filepath.Join(directory, "notes.txt"), "")
	report, err := rls.Check(directory)
	if err != nil {
		t.Fatal(err)
	}
	text := report.String()
	for _, want := range []string{
		"Domains: 2. Rules: 2.\n", "begin with a dot: notes.txt\n", "shop.yml:3: descriptors[0].key: \"x*\" matches keys", "takes nothing", "charge_always: true", "hits_addend: 0", "refunds: true",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	put(t, filepath.Join(directory, "shop.yml"), "domain: shop\ndescriptors:\n- {key: }\n- {kye: b}\n")
	if report, err = rls.Check(directory); err != nil || len(report.Problems) != 1 {
		t.Fatalf("got %v, %v", report, err)
	}
	if text = report.String(); !strings.Contains(text, `shop.yml:4: descriptors[1].kye: is not a known field`) || !strings.Contains(text, `did you mean "key"?`) {
		t.Errorf("got %s", text)
	}
	if _, err = rls.Check(filepath.Join(directory, "missing")); err == nil {
		t.Error("a directory that is missing was checked")
	}
}
