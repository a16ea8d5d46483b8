package top

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// update writes what the tests see into testdata, instead of comparing it: go test ./cmd/jeton/top -update.
var update = flag.Bool("update", false, "write the frames into testdata")

// at is when the first answer of the samples came.
var at = time.Date(2026, 11, 28, 12, 0, 3, 0, time.UTC)

// aKey is a key of a sample.
func aKey(key, node string, perSecond, denied float64, buckets ...activity.Bucket) activity.Key {
	k := activity.Key{Key: strings.ToValidUTF8(key, "\uFFFD"), Escaped: url.PathEscape(key), Node: node, PerSecond: perSecond, Share: perSecond / 4000, Denied: denied, Buckets: buckets}
	for _, b := range buckets {
		k.Limits = append(k.Limits, b.Limit)
	}
	return k
}

// aView is a cluster in an incident: a node is silent, a gateway fails open, and a key is denied nearly always.
func aView() *activity.View {
	v := &activity.View{
		At: at, Asked: "node-1", Seconds: 1,
		Problems: []activity.Problem{
			{Severity: activity.Critical, What: "node-2 does not answer", Do: "see whether it runs, and whether node-1 reaches it", Node: "node-2"},
			{Severity: activity.Warning, What: "one more node that fails leaves 90 of 271 partitions without a majority", Do: "bring node-2 back"},
			{Severity: activity.Notice, What: "the key scraper:9 is hot", Do: "jeton bucket api scraper:9 shows what it does"},
		},
		Total: activity.Rates{Allowed: 2345.6, Denied: 1204, FailedOpen: 12, FailedClosed: 3, Errors: 7.5, P50: 0.41, P99: 2.13},
		Nodes: []activity.NodeRates{
			{
				Name: "node-1", Version: "v1.4.0", Started: at.Add(-time.Hour), Rates: activity.Rates{Allowed: 1300, Denied: 1200, P50: 0.4, P99: 2.2}, FsyncP99: 1.4,
				Awake: 1234, Dormant: 20, Waiting: 3, MemoryHeld: 300 << 20, MemoryBudget: 512 << 20, DiskUsed: 3 << 30, DiskFree: 40 << 30,
			},
			{Name: "node-2", Error: "no answer within 500 ms"},
			{
				Name: "node-3", Version: "v1.4.0", Started: at.Add(-time.Hour), Rates: activity.Rates{Allowed: 1045.6, Denied: 4, P50: 0.42, P99: 1.9}, FsyncP99: 1.2,
				Awake: 988, MemoryHeld: 100 << 20, DiskFree: 41 << 30, Ready: "partitions 3, 7 (2 of 271) cannot be decided",
			},
		},
		Gateways: []activity.GatewayRates{{
			Name: "edge-a", Version: "v1.4.0", Admin: "10.0.0.7:7781", Rates: activity.Rates{Allowed: 900, Denied: 300, FailedOpen: 12, FailedClosed: 3, P50: 0.8, P99: 4},
			Requests: map[string]float64{"admitted": 900, "denied": 300, "fail_open": 12},
		}},
		Cluster: &cluster.Status{Cluster: "3f2a9c11d0e4"},
	}
	for i := range 30 {
		v.Limits = append(v.Limits, activity.LimitRates{Name: fmt.Sprintf("limit-%02d", i), Allowed: float64(30-i) * 10, Used: float64(i) / 30})
	}
	v.Limits[0] = activity.LimitRates{Name: "api", Allowed: 900.2, Denied: 1200, DeniedShare: 0.571, FailedOpen: 12, FailedClosed: 3, Errors: 7.5, Used: 1}
	v.Limits[1] = activity.LimitRates{Name: "login", Allowed: 12.3, Denied: 4, DeniedShare: 0.245, Used: 0.9996}
	v.Limits[29].Used = -1
	v.Keys = []activity.Key{
		aKey("scraper:9", "node-1", 1210, 0.99, activity.Bucket{Limit: "api", Capacity: 100, Used: 1}),
		aKey("user:42", "node-3", 20, 0, activity.Bucket{Limit: "login", Capacity: 5, Remaining: 1, Used: 0.8}, activity.Bucket{Limit: "api", Capacity: 100, Remaining: 90, Used: 0.1}),
		aKey("org:acme/eu", "node-3", 4.5, 0.5, activity.Bucket{Limit: "limit-07", Capacity: 10, Remaining: 5, Used: 0.5}),
	}
	v.Keys[0].Hot = true
	v.Denied = v.Keys[:1]
	return v
}

// aScreen is one that has seen the sample for a while.
func aScreen(width, height int, cfg Config) *Screen {
	if cfg.Options.By == "" {
		cfg.Options = Options{By: Limits, Sort: Traffic}
	}
	cfg.Every = time.Second
	s := New(cfg)
	s.Resize(width, height)
	for i := range 40 {
		v := aView()
		v.Total.Allowed = float64(100 * (i % 17))
		if i == 39 {
			v = aView()
		}
		s.Show(v, at.Add(time.Duration(i)*time.Second))
	}
	return s
}

// press presses keys: names of keys, or text in quotes.
func press(s *Screen, keys ...string) (leave bool) {
	for _, key := range keys {
		if text, isText := strings.CutPrefix(key, "'"); isText {
			for _, r := range text {
				leave = s.Press(string(r), string(r))
			}
			continue
		}
		text := ""
		if len(key) == 1 {
			text = key
		}
		leave = s.Press(key, text)
	}
	return leave
}

// checkFrame says what is wrong with the shape of a frame.
func checkFrame(t *testing.T, s *Screen, frame string) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	if len(lines) > max(s.height, 1) || s.height*s.width == 0 && frame != "" {
		t.Errorf("%d lines on a screen of %d", len(lines), s.height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > s.width {
			t.Errorf("%d cells on a screen of %d: %q", w, s.width, l)
		}
	}
}

// trailing is space at the end of lines.
var trailing = regexp.MustCompile(`(?m) +$`)

// plainly is a frame without attributes, and without space at the end of its lines.
func plainly(frame string) string { return trailing.ReplaceAllString(ansi.Strip(frame), "") + "\n" }

// golden compares text with what testdata has under a name.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("it looks otherwise than %s, which go test ./cmd/jeton/top -update writes anew:\n%s", path, text)
	}
}

// An inspection of a bucket of the sample.
func anInspection(t *testing.T, name, key string) *limit.Inspection {
	t.Helper()
	rule, err := limit.Limit{Name: name, Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	now := at.UnixNano()
	return &limit.Inspection{
		Key: key, Rule: rule, Now: now, TAT: now + int64(4*time.Second), Tokens: 6, Node: "node-3", Awake: true,
		Segment: limit.Span{Start: now + int64(4*time.Second), End: now + int64(6*time.Second)},
		Recent:  []limit.Recent{{At: now - int64(time.Second), Cost: 4, Allowed: true}},
	}
}

func TestFrames(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 40}} {
		for name, keys := range map[string][]string{
			"limits": nil, "keys": {"k"}, "nodes": {"n"}, "gateways": {"g"}, "help": {"?"}, "problems": {"p"},
			"denials": {"d"}, "utilization-reversed": {"u", "r"}, "filter": {"/", "'limit-1"}, "filter-kept": {"/", "'login", "enter"},
			"down": {"down", "down", "down"}, "end": {"end"}, "limit": {"enter"}, "node": {"n", "down", "enter"}, "node-silent": {"n", "down", "down", "enter"},
			"gateway": {"g", "enter"}, "back": {"enter", "esc"}, "tab": {"tab"}, "bucket": {"k", "down", "enter"}, "bucket-next": {"k", "down", "enter", "tab"},
		} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size.width, size.height), func(t *testing.T) {
				s := aScreen(size.width, size.height, Config{})
				if press(s, keys...) {
					t.Fatal("it ends")
				}
				if b := s.Opened(); b != nil {
					s.ShowBucket(*b, anInspection(t, b.Limit, b.Key), nil, s.now)
				}
				frame := s.Frame()
				checkFrame(t, s, frame)
				golden(t, fmt.Sprintf("%s-%dx%d.txt", name, size.width, size.height), plainly(frame))
			})
		}
	}
}

// Tables as text are for scripts too: their columns are where they are.
func TestWrite(t *testing.T) {
	for _, by := range Tables() {
		var out strings.Builder
		if err := Write(&out, aView(), Options{By: by, Sort: Denials, Top: 5}); err != nil {
			t.Fatal(err)
		}
		golden(t, "once-"+by+".txt", out.String())
	}
}

// Where there is no answer the screen stays, and says since when.
func TestNoAnswer(t *testing.T) {
	s := aScreen(80, 24, Config{})
	for i := range 10 {
		s.Failed(errors.New("no answer within 5s: \x1b[2J"), at.Add(39*time.Second+time.Duration(i)*time.Second))
	}
	frame := plainly(s.Frame())
	golden(t, "no-answer-80x24.txt", frame)
	if strings.Contains(frame, "\x1b") {
		t.Error("the error steers the terminal")
	}
	s.Show(aView(), at.Add(time.Minute))
	if frame := s.Frame(); strings.Contains(frame, "NO ANSWER") {
		t.Error("it has answered again")
	}
	s.Tick(at.Add(time.Minute + 10*time.Second))
	if frame := s.Frame(); !strings.Contains(frame, "NO ANSWER since 12:01:03, for 10s") {
		t.Errorf("nothing is said of an answer that does not come:\n%s", ansi.Strip(frame))
	}
}

// A small terminal shows what fits, and none is too small.
func TestEverySize(t *testing.T) {
	for _, keys := range [][]string{nil, {"k"}, {"n"}, {"enter"}, {"?"}, {"p"}, {"k", "enter"}, {"/", "'x"}} {
		s := aScreen(80, 24, Config{})
		press(s, keys...)
		for _, width := range []int{0, 1, 2, 3, 5, 10, 20, 39, 60, 79, 300} {
			for _, height := range []int{0, 1, 2, 3, 5, 8, 11, 12, 13, 20, 100} {
				s.Resize(width, height)
				checkFrame(t, s, s.Frame())
			}
		}
	}
}

func TestLeaving(t *testing.T) {
	s := aScreen(80, 24, Config{})
	for _, keys := range [][]string{{"esc"}, {"?", "q"}, {"/", "q", "esc"}, {"enter", "esc"}, {"f1"}, {"backspace"}} {
		if press(s, keys...) {
			t.Errorf("%v ends it", keys)
		}
	}
	for _, keys := range [][]string{{"q"}, {"ctrl+c"}, {"/", "ctrl+c"}, {"esc", "?", "ctrl+c"}} {
		if !press(s, keys...) {
			t.Errorf("%v does not end it", keys)
		}
	}
}

// The sample is a file, too, for the tests of jeton top in a terminal.
func TestSample(t *testing.T) {
	text, err := json.MarshalIndent(aView(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "view.json", string(text)+"\n")
}

func BenchmarkFrame(b *testing.B) {
	s := aScreen(120, 40, Config{})
	v := aView()
	for len(v.Limits) < 5000 {
		v.Limits = append(v.Limits, v.Limits...)
	}
	s.Show(v, at)
	for b.Loop() {
		_ = s.Frame()
	}
}
