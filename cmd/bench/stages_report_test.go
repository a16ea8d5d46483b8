package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// committed is where the report of this repository stands, with its picture and its page.
const committed = "../../docs/speed"

// The picture and the tables of the page are those of the report that stands beside them. "make speed" makes all three.
func TestCommittedPicture(t *testing.T) {
	r, err := ReadStages(committed + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var drawn bytes.Buffer
	if err := r.Draw(&drawn); err != nil {
		t.Fatal(err)
	}
	page := contents(t, committed+".md")
	filled, err := r.Fill(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(drawn.Bytes(), contents(t, committed+".svg")) || !bytes.Equal(filled, page) {
		t.Error("docs/speed.svg or docs/speed.md does not say what docs/speed.json does: " +
			"jeton bench stages --from docs/speed.json --output docs/speed.svg --page docs/speed.md mends it")
	}
	if len(r.Cases) != len(StageLoads()) {
		t.Errorf("docs/speed.json has %d cases of %d", len(r.Cases), len(StageLoads()))
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func costOf(decide, memory float64) *StageCost {
	return &StageCost{Processors: 2, Profiled: time.Second, Checks: 5, PerCheck: map[Stage]float64{Decide: decide, Memory: memory}}
}

// sampleReport has one case more than loads that there are: such a case is drawn too.
func sampleReport() *StageReport {
	r := &StageReport{Cases: []StageCase{{Name: "old", Title: "<b> & more", Before: costOf(1, 0), After: costOf(1, 0)}}}
	l := stageLoads()[1]
	r.put(l, Before, costOf(1, 1))
	r.put(l, Before, costOf(8000, 4000))
	r.put(l, After, costOf(1500.4, 0.26))
	r.put(stageLoads()[0], Before, costOf(1, 1))
	r.put(stageLoads()[0], After, costOf(2, 2))
	return r
}

func TestReportKeepsItsOrder(t *testing.T) {
	r := sampleReport()
	var names []string
	for _, c := range r.Cases {
		names = append(names, c.Name)
	}
	if got, want := strings.Join(names, " "), "old batch-memory batch-fsync"; got != want {
		t.Errorf("the cases are %s, want %s", got, want)
	}
	if c := r.Cases[2]; c.Before.total() != 12000 || c.After.total() < 1500 {
		t.Errorf("%+v", c)
	}
}

func TestDraw(t *testing.T) {
	r := sampleReport()
	var one, two bytes.Buffer
	if err := errors.Join(r.Draw(&one), r.Draw(&two)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same report makes different pictures")
	}
	svg := one.String()
	for d := xml.NewDecoder(&one); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"&lt;b&gt; &amp; more", ">12,000 ns</text>", ">8,000<", "decide: 1,500 ns", "memory: 0.3 ns", "÷ 8.0"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if strings.Contains(svg, "÷ 0") {
		t.Error("the picture praises what has become slower")
	}
	colors := map[string]bool{}
	for _, s := range Stages() {
		colors[colorOf(s)] = true
	}
	if len(colors) != len(Stages()) || colors[""] {
		t.Errorf("%d stages have %d colors", len(Stages()), len(colors))
	}
}

func TestFill(t *testing.T) {
	r := sampleReport()
	page := "above\n" + tablesBegin + "\nstale\n" + tablesEnd + "\nbelow\n"
	filled, err := r.Fill([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	text := string(filled)
	if !strings.HasPrefix(text, "above\n"+tablesBegin) || !strings.HasSuffix(text, tablesEnd+"\nbelow\n") ||
		strings.Contains(text, "stale") || !strings.Contains(text, "| all       |     12,000 |     1,501 |") {
		t.Errorf("filled:\n%s", text)
	}
	if again, err := r.Fill(filled); err != nil || !bytes.Equal(again, filled) {
		t.Errorf("filled again: %v\n%s", err, again)
	}
	if _, err := r.Fill([]byte("nothing")); err == nil || !strings.Contains(err.Error(), tablesBegin) {
		t.Errorf("a page without a place for tables: %v", err)
	}
}

func TestReportsAreWhole(t *testing.T) {
	for want, r := range map[string]*StageReport{
		"there is no case": {},
		`case "x" has no before: jeton bench stages capture --before BINARY --only x`: {Cases: []StageCase{{Name: "x", After: costOf(1, 1)}}},
		`case "x" has no after`: {Cases: []StageCase{{Name: "x", Before: costOf(1, 1)}}},
	} {
		if err := r.Draw(io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

func TestReadStages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "speed.json")
	r := sampleReport()
	if err := r.save(path); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadStages(path); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("what was saved is read as %+v, %v", got, err)
	}
	side := func(fields string) string {
		return `{"cases":[{"name":"x","title":"X","before":{"processors":2,` + fields + `}}]}`
	}
	for text, want := range map[string]string{
		`{"cases":[{"nome":"x"}]}`:                                                    `unknown field "nome"`,
		side(`"profiled_ns":0,"checks":1,"ns_per_check":{"decide":1}`):                `case "x": before: checks, profiled_ns`,
		side(`"profiled_ns":1,"checks":1,"ns_per_check":{}`):                          "ns_per_check is empty",
		side(`"profiled_ns":1,"checks":1,"ns_per_check":{"decide":-1}`):               "decide: -1 is not between",
		side(`"profiled_ns":1,"checks":1,"ns_per_check":{"decision":1}`):              `"decision" is no stage`,
		side(`"profiled_ns":1,"checks":1,"ns_per_check":{"decide":0}`):                "nothing takes any time",
		side(`"profiled_ns":1,"checks":1,"ns_per_check":{"decide":1}`) + `{"cases":[`: "more than one",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadStages(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if got, err := openStages(filepath.Join(t.TempDir(), "new.json")); err != nil || len(got.Cases) != 0 {
		t.Errorf("a file that is not there yet: %+v, %v", got, err)
	}
}

func TestCaptureIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*StageCapture){
		"--after: /nonexistent is not":              func(c *StageCapture) { c.Program = "/nonexistent" },
		"--before: /nonexistent is not":             func(c *StageCapture) { c.Before = "/nonexistent" },
		"--into: name the file":                     func(c *StageCapture) { c.Into = "" },
		"--into: " + file:                           func(c *StageCapture) { c.Into = file },
		`--only: "some" is not known: use batch-me`: func(c *StageCapture) { c.Only = []string{"some"} },
		"--rounds: -1 is not between 1 and 100":     func(c *StageCapture) { c.Rounds = -1 },
		"--window: 1.5s is not a number of whole":   func(c *StageCapture) { c.Window = 1500 * time.Millisecond },
		"--warmup: -1s is below 0":                  func(c *StageCapture) { c.Warmup = -time.Second },
		"--profiles: /nonexistent is not a folder":  func(c *StageCapture) { c.Profiles = "/nonexistent" },
		"--temp: /nonexistent is not a folder":      func(c *StageCapture) { c.Temp = "/nonexistent" },
	} {
		c := StageCapture{Setup: Setup{Program: file}, Into: filepath.Join(t.TempDir(), "speed.json")}
		change(&c)
		if err := CaptureStages(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTakeProfile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/pprof/profile" || r.FormValue("seconds") != "7" {
			http.Error(w, "not this", http.StatusBadRequest)
			return
		}
		w.Write([]byte("a profile")) //nolint:errcheck // the client would notice
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	if text, err := takeProfile(t.Context(), address, 7*time.Second); err != nil || string(text) != "a profile" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := takeProfile(t.Context(), address, time.Second); err == nil || err.Error() != "profile the node: it answers 400 Bad Request: not this" {
		t.Errorf("a refusal: %v", err)
	}
	server.Close()
	if _, err := takeProfile(t.Context(), address, time.Second); err == nil || !strings.HasPrefix(err.Error(), "profile the node: ") {
		t.Errorf("nobody there: %v", err)
	}
}
