package simulate

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

var update = flag.Bool("update", false, "write the golden files")

// parsed is a document of limits.
func parsed(t *testing.T, text string) *limit.Document {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

const two = `limits:
  burst: {capacity: 5, refill: 1/s}
  steady: {capacity: 1, refill: 30/1m}
`

// logs are texts as logs.
func logs(texts ...string) (all []Log) {
	for i, text := range texts {
		all = append(all, Log{Name: fmt.Sprintf("log-%d", i+1), Text: strings.NewReader(text)})
	}
	return all
}

// accessLog is the traffic of the golden files: alice comes in bursts, bob once a second, and some lines are broken.
func accessLog() string {
	var out strings.Builder
	start := time.Date(2026, 10, 10, 13, 0, 0, 0, time.FixedZone("", 2*60*60))
	for second := range 300 {
		at := start.Add(time.Duration(second) * time.Second).Format(commonLayout)
		if second%60 < 10 {
			for range 4 {
				fmt.Fprintf(&out, "192.0.2.1 - alice [%s] \"GET /items?page=2 HTTP/1.1\" 200 2326 \"-\" \"curl/8 \\\"x\\\"\"\n", at)
			}
		}
		fmt.Fprintf(&out, "2001:db8::7 - - [%s] \"POST /orders HTTP/1.1\" 201 -\n", at)
		if second == 100 {
			fmt.Fprintf(&out, "\n192.0.2.1 - alice [10/Oct/2026] \"GET / HTTP/1.1\" 200 5\n\x1b[2Jhello\n")
		}
	}
	return out.String()
}

// jsonLog has costs, keys that steer terminals, and times within one second.
func jsonLog() string {
	var out strings.Builder
	for i := range 400 {
		fmt.Fprintf(&out, `{"ts":%d.%03d,"user":{"id":"u\u001b[31m%d"},"tokens":%d}`+"\n", 1790000000+i/100, i%100*10, i%3, 1+i%7)
	}
	return out.String()
}

func TestGolden(t *testing.T) {
	const wide = "limits: {big: {capacity: 1000, refill: 10/1s}, small: {capacity: 6, refill: 2/1s}}"
	for _, tt := range []struct {
		name  string
		cfg   Config
		style Style
		json  bool
	}{
		{"access", Config{Logs: logs(accessLog()), Limits: parsed(t, two), Top: 5, Columns: 68}, Style{}, false},
		{"access-plain", Config{Logs: logs(accessLog()), Limits: parsed(t, two), Names: []string{"burst"}, Top: 1, Columns: 30}, Style{Plain: true}, false},
		{"access-by-path", Config{Logs: logs(accessLog()), Limits: parsed(t, two), Fields: Fields{Key: "{method} {path}"}, Columns: 20}, Style{}, false},
		{"access-by-user", Config{Logs: logs(accessLog()), Limits: parsed(t, two), Fields: Fields{Key: "{user}"}, Top: 3, Columns: 20}, Style{}, false},
		{"access-one-key", Config{Logs: logs(accessLog()), Limits: parsed(t, two), Fields: Fields{Key: "all"}, Top: 3, Columns: 20}, Style{}, false},
		{"json", Config{Logs: logs(jsonLog()), Limits: parsed(t, wide), Fields: Fields{Key: "user:{user.id}", Cost: "tokens"}, Top: 2, Columns: 60}, Style{}, false},
		{"json-output", Config{Logs: logs(jsonLog()), Limits: parsed(t, wide), Fields: Fields{Key: "user:{user.id}", Cost: "tokens"}, Top: 2, Columns: 8}, Style{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Run(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if tt.json {
				e := json.NewEncoder(&got)
				e.SetIndent("", "  ")
				err = e.Encode(r)
			} else {
				err = r.Print(&got, tt.style)
			}
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", tt.name+".golden")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(want, got.Bytes()) {
				t.Errorf("got\n%s\nwant\n%s%v", got.String(), want, err)
			}
		})
	}
}

// asked is a check of the slow loop.
type asked struct {
	at, cost int64
	key      string
	admitted []bool // by each limit
}

// slowly decides checks in the order of time, by nothing but Rule.Decide.
func slowly(checks []asked, rules []*limit.Rule) {
	slices.SortStableFunc(checks, func(a, b asked) int { return int(min(max(a.at-b.at, -1), 1)) })
	for i, rule := range rules {
		buckets := map[string]limit.Pos{}
		for j := range checks {
			c := &checks[j]
			c.admitted = append(c.admitted, false)
			buckets[c.key], c.admitted[i] = rule.Decide(buckets[c.key], c.at, c.cost)
		}
	}
}

// withinEnvelope says whether no window of time has more admitted than the limit's envelope.
func withinEnvelope(checks []asked, i int, rule *limit.Rule, key string) bool {
	e := rule.Envelope()
	for first := range checks {
		sum := int64(0)
		for _, c := range checks[first:] {
			if c.key == key && c.admitted[i] {
				sum += c.cost
			}
			if (sum-e.Burst)*int64(e.Refill.Per) > (c.at-checks[first].at)*e.Refill.Tokens {
				return false
			}
		}
	}
	return true
}

// What a run says is what a slow obvious loop counts, for every algorithm, whatever the order of the lines, and no window of it has
// more than the limits' envelopes.
func TestRunIsTheSlowLoop(t *testing.T) {
	for range 60 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		var limits []limit.Limit
		for i := range 1 + random.IntN(3) {
			for _, algorithm := range limit.Spending() {
				limits = append(limits, limittest.Of(algorithm, fmt.Sprintf("%s-%d", algorithm, i), 1+random.Int64N(20),
					limit.Refill{Tokens: 1 + random.Int64N(9), Per: time.Duration(1+random.IntN(5000)) * time.Millisecond}))
			}
		}
		doc, err := limit.NewDocument(limits...)
		if err != nil {
			t.Fatal(err)
		}
		checks := make([]asked, 1+random.IntN(200))
		at := int64(1_790_000_000_000_000_000)
		for i := range checks {
			at += 1 + random.Int64N(1<<random.IntN(32)) // of one time, lines count as they stand
			checks[i] = asked{at: at, cost: random.Int64N(1 << random.IntN(6)), key: fmt.Sprint("k", random.IntN(4))}
		}
		shuffled := slices.Clone(checks)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		files := make([]string, 1+random.IntN(3))
		for _, c := range shuffled {
			files[random.IntN(len(files))] += fmt.Sprintf(`{"time":%q,"key":%q,"cost":%d}`+"\n", time.Unix(0, c.at).UTC().Format(time.RFC3339Nano), c.key, c.cost)
		}
		r, err := Run(Config{Logs: logs(files...), Limits: doc, Top: 100, Columns: 10})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		slowly(checks, doc.Rules())
		for i, rule := range doc.Rules() {
			compare(t, seed, &r.Candidates[i], checks, i)
			for _, key := range []string{"k0", "k1", "k2", "k3"} {
				if !withinEnvelope(checks, i, rule, key) {
					t.Fatalf("seed %d: %s admitted too much of %s", seed, rule.Name, key)
				}
			}
		}
	}
}

// compare holds a result against what the slow loop decided.
func compare(t *testing.T, seed uint64, r *Result, checks []asked, i int) {
	t.Helper()
	want := Result{Name: r.Name, Limit: r.Limit, Never: r.Never, LongestWait: r.LongestWait, fields: r.fields}
	keys := map[string]*Key{}
	for _, c := range checks {
		if keys[c.key] == nil {
			keys[c.key] = &Key{Key: c.key}
		}
		if c.admitted[i] {
			want.Admitted, want.AdmittedTokens = want.Admitted+1, want.AdmittedTokens+c.cost
			keys[c.key].Admitted++
			continue
		}
		want.Denied, want.DeniedTokens = want.Denied+1, want.DeniedTokens+c.cost
		if keys[c.key].Denied++; keys[c.key].Denied == 1 {
			want.KeysDenied++
		}
	}
	for _, k := range r.Top {
		if k != *keys[k.Key] {
			t.Fatalf("seed %d: %s says %+v of a key, the slow loop %+v", seed, r.Name, k, *keys[k.Key])
		}
	}
	denied := int64(0)
	for _, n := range r.DeniedAt {
		denied += n
	}
	got := *r
	got.Top, got.DeniedAt, want.Top, want.DeniedAt = nil, nil, nil, nil
	if fmt.Sprint(got) != fmt.Sprint(want) || denied != want.Denied || len(r.Top) != want.KeysDenied {
		t.Fatalf("seed %d: %s got\n%+v, %d in the chart, %d keys; the slow loop has\n%+v", seed, r.Name, got, denied, len(r.Top), want)
	}
}

// The longest wait is the one that a denial told, and a cost above the capacity has none.
func TestWaits(t *testing.T) {
	text := `{"time":1790000000,"key":"a","cost":5}` + "\n" + `{"time":1790000001,"key":"a","cost":3}` + "\n" + `{"time":1790000001,"key":"a","cost":6}` + "\n"
	r, err := Run(Config{Logs: logs(text), Limits: parsed(t, two), Names: []string{"burst"}, Columns: 10})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Candidates[0]; c.LongestWait != Step(2*time.Second) || c.Never != 1 || c.Denied != 2 || len(r.Candidates) != 1 {
		t.Errorf("got %+v", c)
	}
}

// A penalty closes a key's bucket as an owner would, which the report says.
func TestPenaltiesOfALog(t *testing.T) {
	var text strings.Builder
	for second := range 300 { // one token comes back each minute
		fmt.Fprintf(&text, `{"time":%d,"key":"a"}`+"\n", 1790000000+second)
	}
	fmt.Fprintln(&text, `{"time":1790000300,"key":"a","cost":7}`)
	doc := parsed(t, `limits:
  open: {capacity: 1, refill: 1/1m}
  shut: {capacity: 1, refill: 1/1m, penalty_after: 10, penalty_for: 20s, penalty_max: 1h}
`)
	r, err := Run(Config{Logs: logs(text.String()), Limits: doc, Columns: 10})
	if err != nil {
		t.Fatal(err)
	}
	open, shut := r.Candidates[0], r.Candidates[1]
	if open.Penalties != 0 || open.Admitted != 5 || open.Never != 1 {
		t.Errorf("without a penalty: %+v", open)
	}
	// Closed from 10 to 30, from 39 to 70 (twice 20 s, less the nine since), and, with a token at the end of each, from 80 to 132, from
	// 142 to 236, and from 246 on.
	if shut.Penalties != 5 || shut.Admitted != 4 || shut.Closed != 19+30+51+93+53 || shut.Never != 1 {
		t.Errorf("with a penalty: %+v", shut)
	}
	var page strings.Builder
	if err := r.Print(&page, Style{}); err != nil || strings.Count(page.String(), "penalties closed buckets 5 times, and denied ") != 1 {
		t.Errorf("%v:\n%s", err, page.String())
	}
}

func TestLogsThatCannotBeUsed(t *testing.T) {
	good := `{"time":1790000000,"key":"a"}` + "\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(bytes.Repeat([]byte(good), 1000)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	broken := errors.New("no such disk")
	for _, tt := range []struct {
		name string
		cfg  Config
		want []string
	}{
		{"no log", Config{}, []string{"no log: name one"}},
		{"empty", Config{Logs: logs("\n \n")}, []string{"it has no lines"}},
		{"another format", Config{Logs: logs("a\nb\nc\nd\ne\n")}, []string{"5 of 5 lines are left out, more than a tenth", "log-1:1: is neither a JSON object", "log-1:3"}},
		{"a tenth and one", Config{Logs: logs(strings.Repeat(good, 8) + "x\n")}, []string{"1 of 9 lines are left out", "log-1:9"}},
		{"no key", Config{Logs: logs(`{"time":1790000000,"user":"a"}` + "\n")}, []string{"no line has a key", "log-1:1: has no key for the key: --key names the fields, such as --key '{user}'"}},
		{"cut off", Config{Logs: []Log{{"cut", bytes.NewReader(packed.Bytes()[:packed.Len()-9])}}}, []string{"cut: after line", "the gzip file is cut off"}},
		{"not gzip", Config{Logs: logs("\x1f\x8bnothing of this is packed")}, []string{"log-1: after line 0: gzip"}},
		{"failing", Config{Logs: []Log{{"bad", io.MultiReader(strings.NewReader(good), failing{broken})}}}, []string{"bad: after line", "no such disk"}},
		{"template", Config{Logs: logs(good), Fields: Fields{Key: "{user"}}, []string{`--key: "{user": a { has no name and } behind it`}},
		{"template", Config{Logs: logs(good), Fields: Fields{Key: "user}"}}, []string{`--key: "user}": a } has no {`}},
		{"cost", Config{Logs: logs(good), Fields: Fields{Cost: "0"}}, []string{"--cost: 0: use 1 or more tokens"}},
		{"time", Config{Logs: logs(good), Fields: Fields{Time: []string{""}}}, []string{"--time: an empty name"}},
		{"limit", Config{Logs: logs(good), Names: []string{"brust"}}, []string{`--limit: the document has no limit "brust"`}},
		{"no limit", Config{Logs: logs(good), Limits: parsed(t, "limits: {}")}, []string{"there are no limits to try"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.cfg.Limits == nil {
				tt.cfg.Limits = parsed(t, two)
			}
			tt.cfg.Columns = 10
			_, err := Run(tt.cfg)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }
