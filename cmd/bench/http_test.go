package bench

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// What cannot be measured is said by the name of the flag, before anything is started.
func TestHTTPRefuses(t *testing.T) {
	for _, tt := range []struct {
		h    HTTPing
		want string
	}{
		{HTTPing{Nodes: 2}, `--nodes: "2" is not known: use 1, 3, 5`},
		{HTTPing{By: "cookie"}, `--by: "cookie" is not known: use api-key, header`},
		{HTTPing{Keys: New}, `--keys: "new" is not known: use uniform, zipf, one`},
		{HTTPing{KeyCount: 100_001}, "--key-count: 100001 is not between 1 and 100000"},
		{HTTPing{Connections: 5000}, "--connections: 5000 is not between"},
		{HTTPing{Pairs: -1}, "--pairs: -1 is not between"},
		{HTTPing{Duration: -time.Second}, "--duration: -1s is not above 0"},
		{HTTPing{Only: []string{"proxy", "tunnel"}}, `--only: "tunnel" is no case: they are proxy, latency, forward-auth, denials, middleware`},
		{HTTPing{Setup: Setup{Temp: "/nonexistent"}}, "--temp: "},
		{HTTPing{Setup: Setup{Temp: t.TempDir(), Self: "/nonexistent"}, Only: []string{"proxy"}}, "start the upstream: "},
	} {
		if report, err := HTTP(t.Context(), tt.h); report != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.h, err)
		}
	}
}

// A load over many connections is one that can be made.
func TestHTTPLoads(t *testing.T) {
	for _, connections := range []int{1, 64, maxCallers} {
		h := &HTTPing{Connections: connections, Setup: Setup{Temp: t.TempDir()}}
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		l := h.load(connections)
		if err := l.check(); err != nil || l.Callers != connections || l.KeyCount != 1000 || l.Batch != 1 || l.Warmup*4 != l.Duration {
			t.Errorf("%d: %+v, %v", connections, l, err)
		}
	}
}

// The report says what was measured, and by which pairs.
func TestHTTPReport(t *testing.T) {
	r := &HTTPReport{Nodes: 3, By: ByAPIKey, Keys: Uniform, KeyCount: 1000, Connections: 64}
	pair := HTTPPair{Pair: Pair{
		Node:  Report{Checks: 1000, ChecksPerSecond: 9000, Latency: Percentiles{P50: 5 * time.Millisecond}, ServiceCPU: time.Second},
		Other: Report{Checks: 2000, ChecksPerSecond: 15000, Latency: Percentiles{P50: 3 * time.Millisecond}, GeneratorCPU: 20 * time.Millisecond},
		Ratio: 0.6, CPURatio: 0.55, P50More: 2 * time.Millisecond,
	}, NodeCPU: []CPUPart{{"gateway", time.Millisecond}, {"generator", 0}}, OtherCPU: []CPUPart{{"generator", 10 * time.Microsecond}}}
	values := []Spread[float64]{{0.8, 0.7, 0.9}, {0.55, 0.5, 0.6}}
	for _, k := range httpCases(64) {
		switch k.name {
		case "proxy":
			r.add(k, values, []HTTPPair{pair}, nil)
		case "latency":
			r.add(k, []Spread[float64]{{2, 2, 2}}, nil, nil)
		case "forward-auth":
			r.add(k, nil, nil, errors.New("nobody answers"))
		}
	}
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"3 nodes in memory mode, 1,000 clients, uniform, told apart by API keys",
		"9,000/s      15,000/s   0.600", "per request: gateway 1ms + generator 0s; bare: generator 10µs",
		"| reverse proxy ÷ httputil.ReverseProxy, 64 connections: requests a second ", "| ≥ 0.75    | 0.80 (0.70–0.90) ",
		"| ≤ 0.40 ms | 2.00 ms ", "| failed ", "nobody answers",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, text.String())
		}
	}
	var back HTTPReport
	data, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil || len(back.Rows) != 5 || len(back.Comparisons) != 1 || back.Comparisons[0].Pairs[0].Node.Checks != 1000 {
		t.Errorf("%v: %s", err, data)
	}
	met := map[string]bool{}
	for _, row := range back.Rows {
		met[row.Case+row.What] = row.Met != nil && *row.Met
	}
	if !met["proxyrequests a second"] || met["latencyp50"] || met["forward-authrequests a second"] {
		t.Errorf("%v", met)
	}
	r.Keys, text = One, strings.Builder{}
	if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "memory mode, one client, ") {
		t.Errorf("%v, %s", err, text.String())
	}
}

// Every case has a name of its own and something to come out of it.
func TestHTTPCases(t *testing.T) {
	names := map[string]bool{}
	for _, k := range httpCases(64) {
		if names[k.name] || len(k.goals) == 0 || k.measure == nil || k.title == "" {
			t.Errorf("%+v", k)
		}
		names[k.name] = true
	}
	if len(names) != len(HTTPCases()) {
		t.Errorf("%v are not %v", names, HTTPCases())
	}
}
