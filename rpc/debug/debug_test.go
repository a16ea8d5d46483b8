package debug

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errFull = errors.New("no room")

type actorsFunc func(context.Context, int) (actor.Overview, error)

func (f actorsFunc) Overview(ctx context.Context, top int) (actor.Overview, error) {
	return f(ctx, top)
}

type inspectorFunc func(context.Context, string, limit.Ref, string) (limit.Inspection, error)

func (f inspectorFunc) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	return f(ctx, key, ref, plan)
}

// newConfig is a Config that shows a model at noon whose limit is demo, capacity 10, refill 10/1h, and no actors.
func newConfig(t *testing.T) (Config, *conformance.Model) {
	t.Helper()
	model := conformance.NewNoonModel(t)
	return Config{
		Inspector: model,
		Actors:    actorsFunc(func(context.Context, int) (actor.Overview, error) { return actor.Overview{}, nil }),
		Metrics:   prometheus.NewRegistry(),
		Ready:     func() (string, error) { return "", nil },
		Fail:      web.WriteProblem,
	}, model
}

// A visitor asks for pages.
type visitor func(method, path string, header ...string) (status int, head http.Header, body string)

func serve(t *testing.T, cfg Config) visitor {
	t.Helper()
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ReadHeaderTimeout, server.Config.IdleTimeout = time.Minute, time.Minute // however slow the machine
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(method, path string, header ...string) (int, http.Header, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header, string(body)
	}
}

// TestNewWithout leaves out one field after the other: the error names it. Only Ring is optional.
func TestNewWithout(t *testing.T) {
	full, _ := newConfig(t)
	for i := range reflect.TypeFor[Config]().NumField() {
		cfg := full
		reflect.ValueOf(&cfg).Elem().Field(i).SetZero()
		name := reflect.TypeFor[Config]().Field(i).Name
		_, err := New(cfg)
		switch {
		case name == "Ring" && err != nil:
			t.Errorf("without Ring: %v", err)
		case name != "Ring" && (err == nil || !strings.Contains(err.Error(), "Config."+name+" ")):
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestBucketOverHTTP(t *testing.T) {
	cfg, model := newConfig(t)
	visit := serve(t, cfg)
	request := limit.Request{Key: "a//../b c", Limits: []limit.Ref{limit.Named("demo")}, Cost: 7}
	if d, err := model.Check(t.Context(), request); err != nil || !d.Allowed {
		t.Fatalf("got %+v and %v", d, err)
	}
	const path = "/debug/buckets/demo/a//../b%20c"
	for range 2 { // looking changes nothing
		status, head, page := visit("GET", path)
		if status != http.StatusOK || head.Get("Content-Type") != plainText || head.Get("Cache-Control") != "no-store" {
			t.Errorf("got %d, %v", status, head)
		}
		for _, want := range []string{`demo of "a//../b c"`, "3 of 10", "cost 5       would pass in 12m", "cost 7", "|####"} {
			if !strings.Contains(page, want) {
				t.Errorf("%q is missing in\n%s", want, page)
			}
		}
	}
	for _, header := range [][]string{nil, {"Accept", "application/json"}} {
		query := "?format=json"
		if header != nil {
			query = ""
		}
		status, head, page := visit("GET", path+query, header...)
		var b struct {
			Key    string
			Tokens int64
			Now    int64 `json:"now_ns,string"`
		}
		if err := json.Unmarshal([]byte(page), &b); err != nil || status != http.StatusOK || head.Get("Content-Type") != "application/json" {
			t.Fatalf("got %d, %v, %s: %v", status, head, page, err)
		}
		if b.Key != request.Key || b.Tokens != 3 || b.Now != noon.UnixNano() {
			t.Errorf("got %s", page)
		}
	}
	if _, _, page := visit("GET", "/debug/buckets/demo/%2F100%2525"); !strings.Contains(page, `demo of "/100%25"`) {
		t.Errorf("the key is not /100%%25:\n%s", page)
	}
	if _, _, page := visit("GET", "/debug/buckets/demo/never?format=json"); !strings.Contains(page, `"unknown": true`) {
		t.Errorf("a key that was never checked is known:\n%s", page)
	}
	if _, _, page := visit("GET", path+"?format=json"); !strings.Contains(page, `"unknown": false`) {
		t.Errorf("a key that was checked is unknown:\n%s", page)
	}
	if _, _, page := visit("GET", path+"?cost=4&cost=11"); !strings.Contains(page, "cost 4       would pass in 6m") || !strings.Contains(page, "never pass") {
		t.Errorf("the costs asked about are missing:\n%s", page)
	}
	if status, _, page := visit("HEAD", path); status != http.StatusOK || page != "" {
		t.Errorf("HEAD: got %d %q", status, page)
	}
}

func TestBucketProblems(t *testing.T) {
	cfg, _ := newConfig(t)
	visit := serve(t, cfg)
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/debug/buckets/nobody/k":        {404, "nobody"},
		"/debug/buckets/demo/":           {400, `"field":"key"`},
		"/debug/buckets/demo":            {400, `"field":"path"`},
		"/debug/buckets/demo/k?cost=x":   {400, `"field":"cost"`},
		"/debug/buckets/demo/k?cost=-1":  {400, `"field":"cost"`},
		"/debug/buckets/demo/k?cost=1.5": {400, `"field":"cost"`},
	} {
		status, head, body := visit("GET", path)
		if status != want.status || head.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, want.says) {
			t.Errorf("%s: got %d %s, want %d with %s", path, status, body, want.status, want.says)
		}
	}
	if status, head, _ := visit("DELETE", "/debug/buckets/demo//k"); status != http.StatusMethodNotAllowed || head.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE: got %d, Allow %q", status, head.Get("Allow"))
	}
}

// TestUnavailable lets the actors answer neither for a bucket nor for themselves, and checks that they are not asked for
// ever.
func TestUnavailable(t *testing.T) {
	cfg, _ := newConfig(t)
	answer := func(ctx context.Context) error {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > maxTime {
			t.Errorf("a page may take until %v", deadline)
		}
		return limit.ErrUnavailable
	}
	cfg.Inspector = inspectorFunc(func(ctx context.Context, _ string, _ limit.Ref, _ string) (limit.Inspection, error) {
		return limit.Inspection{}, answer(ctx)
	})
	cfg.Actors = actorsFunc(func(ctx context.Context, _ int) (actor.Overview, error) { return actor.Overview{}, answer(ctx) })
	visit := serve(t, cfg)
	for _, path := range []string{"/debug/buckets/demo/k", "/debug/actors"} {
		if status, _, body := visit("GET", path); status != http.StatusServiceUnavailable {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
}

func TestActors(t *testing.T) {
	cfg, _ := newConfig(t)
	cfg.Actors = actorsFunc(func(_ context.Context, top int) (actor.Overview, error) {
		if top != topKeys {
			t.Errorf("asked for the %d busiest", top)
		}
		return actor.Overview{
			Awake: 3, Waiting: 5, PerSecond: 20_000,
			Checked: []actor.CheckedKey{
				{Key: "user:42", Label: "#0123456789ab", Limits: []string{"login"}, PerSecond: 18_000, Share: 0.9, Denied: 0.25, Hot: true},
				{Key: "user:7", Label: "#ba9876543210", Limits: []string{"login", "burst"}, PerSecond: 100, Share: 0.005},
			},
			Shards: []actor.ShardOverview{{Awake: 1, Waiting: 5, Inbox: 2}, {Awake: 2}},
			Busiest: []actor.Busy{
				{Key: "user:42", Limits: []string{"login", "burst"}, PerSecond: 1234.56, Waiting: 5},
				{Key: "user:7", Limits: []string{"login"}, PerSecond: 0.5},
			},
			Gauged: []actor.GaugedBucket{{Limit: "login", Key: "user:42", Label: "#0123456789ab", Remaining: 3, Used: 0.7}},
		}, nil
	})
	visit := serve(t, cfg)
	const want = `20000 checks/s

key checked most  checks/s  share  denied  in metrics            limits
"user:42"         18000     90 %   25 %    hot, "#0123456789ab"  login
"user:7"          100       0 %    0 %     -                     login, burst

3 keys awake, 5 checks waiting in their mailboxes

shard  awake  waiting  inbox
0      1      5        2
1      2      0        0

busiest key  tokens/s  waiting  limits
"user:42"    1234.6    5        login, burst
"user:7"     0.5       0        login

limit with gauges  busy key   used  remaining  in metrics
login              "user:42"  70 %  3          "#0123456789ab"
`
	if status, _, page := visit("GET", "/debug/actors"); status != http.StatusOK || page != want {
		t.Errorf("got %d\n%s\nwant\n%s", status, page, want)
	}
	_, _, page := visit("GET", "/debug/actors?format=json")
	var got overview
	if err := json.Unmarshal([]byte(page), &got); err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if len(got.Gauged) != 1 || got.Gauged[0] != (gauged{Limit: "login", Key: "user:42", Label: "#0123456789ab", Remaining: 3, Used: 0.7}) {
		t.Errorf("the gauges are %+v", got.Gauged)
	}
	if got.Awake != 3 || len(got.Shards) != 2 || got.Shards[0].Inbox != 2 || len(got.Busiest) != 2 ||
		got.Busiest[0].Key != "user:42" || got.Busiest[0].PerSecond != 1234.56 ||
		got.PerSecond != 20_000 || len(got.Checked) != 2 || !got.Checked[0].Hot || got.Checked[0].Label != "#0123456789ab" || got.Checked[1].Share != 0.005 || !strings.Contains(page, `"tokens_per_second"`) {
		t.Errorf("got %s", page)
	}
}

func TestNoActors(t *testing.T) {
	cfg, _ := newConfig(t)
	visit := serve(t, cfg)
	if _, _, page := visit("GET", "/debug/actors"); !strings.Contains(page, "0 keys awake") || strings.Count(page, "none") != 2 {
		t.Errorf("got\n%s", page)
	}
	if _, _, page := visit("GET", "/debug/actors?format=json"); !strings.Contains(page, `"busiest": []`) || !strings.Contains(page, `"checked_most": []`) || !strings.Contains(page, `"gauged": []`) {
		t.Errorf("got %s", page)
	}
}

func TestHealth(t *testing.T) {
	cfg, _ := newConfig(t)
	var (
		degraded string
		notReady error
	)
	cfg.Ready = func() (string, error) { return degraded, notReady }
	visit := serve(t, cfg)
	for _, path := range []string{"/livez", "/readyz"} {
		if status, _, body := visit("GET", path); status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	degraded = "partitions 3, 17 (2 of 271) cannot be decided: replicas b and c do not answer"
	if status, _, body := visit("GET", "/readyz"); status != http.StatusOK || body != "degraded: "+degraded+"\n" {
		t.Errorf("where some keys cannot be decided: %d %s", status, body)
	}
	if status, _, body := visit("GET", "/readyz?strict"); status != http.StatusServiceUnavailable || body != "degraded: "+degraded+"\n" {
		t.Errorf("the same, strictly: %d %s", status, body)
	}
	notReady = errors.New("the node is stopping")
	if status, _, body := visit("GET", "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
		t.Errorf("got %d %s", status, body)
	}
	if status, _, _ := visit("GET", "/livez"); status != http.StatusOK {
		t.Errorf("a node that is not ready is not alive: %d", status)
	}
}

func TestOtherPages(t *testing.T) {
	cfg, _ := newConfig(t)
	reg := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "jeton_test_total", Help: "A test."})
	reg.MustRegister(counter)
	counter.Inc()
	cfg.Metrics = reg
	visit := serve(t, cfg)
	for path, says := range map[string]string{
		"/":                              "/debug/buckets/",
		"/debug/":                        "/debug/buckets/",
		"/metrics":                       "jeton_test_total 1",
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/cmdline":           ".test",
		"/debug/pprof/symbol":            "num_symbols",
	} {
		if status, _, body := visit("GET", path); status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: got %d, without %q: %.200s", path, status, says, body)
		}
	}
	for _, path := range []string{"/debug/nothing", "/nothing"} {
		if status, _, _ := visit("GET", path); status != http.StatusNotFound {
			t.Errorf("%s: got %d", path, status)
		}
	}
}

// TestProfilesTakeTheirTime asks for a trace that lasts longer than the server reads requests: it is not cut short.
func TestProfilesTakeTheirTime(t *testing.T) {
	cfg, _ := newConfig(t)
	visit := serve(t, cfg)
	start := time.Now()
	if status, _, _ := visit("GET", "/debug/pprof/trace?seconds=0.4"); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	if took := time.Since(start); took < 400*time.Millisecond {
		t.Errorf("a trace of 400 ms took %v", took)
	}
}

// Who asks for the root of a node is shown every path that it has, PUT /v1/limits too.
func TestTheIndexListsEveryRoute(t *testing.T) {
	cfg, _ := newConfig(t)
	for _, path := range []string{"/", "/debug/"} {
		_, _, body := serve(t, cfg)("GET", path)
		shown := strings.Join(strings.Fields(body), " ")
		for _, e := range access.Table() {
			if listed := strings.Contains(shown, " "+e.Call+" "); e.Door == access.NodeHTTP && !listed {
				t.Errorf("GET %s does not list %s:\n%s", path, e.Call, body)
			}
		}
	}
}

// Every page is in the table of who may look.
func TestEveryPageIsInTheTable(t *testing.T) {
	cfg, _ := newConfig(t)
	p := &pages{Config: cfg}
	for pattern := range p.routes() {
		method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
		if _, _, ok := access.Route(access.NodeHTTP, method, path); !ok {
			t.Errorf("%s is missing in the table of rpc/access", pattern)
		}
	}
}
