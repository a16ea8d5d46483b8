package bench

import (
	"strings"
	"testing"
	"time"
)

func TestLoadDefaults(t *testing.T) {
	l := Load{}
	if err := l.check(); err != nil {
		t.Fatal(err)
	}
	want := Load{
		Callers: 64, Connections: 2, Arrivals: Even, Keys: Uniform, KeyCount: 100_000, Exponent: 1.1, Batch: 1,
		Duration: 10 * time.Second,
	}
	if l != want {
		t.Errorf("%+v", l)
	}
}

func TestLoadRefuses(t *testing.T) {
	for flag, l := range map[string]Load{
		"--callers":     {Callers: 5000},
		"--connections": {Connections: -1},
		"--rate":        {Rate: -1},
		"--arrivals":    {Arrivals: "odd"},
		"--keys":        {Keys: "odd"},
		"--key-count":   {KeyCount: maxKeys + 1},
		"--zipf":        {Exponent: -1},
		"--batch":       {Batch: 1001},
		"--duration":    {Duration: -1},
		"--warmup":      {Warmup: -1},
	} {
		if err := l.check(); err == nil || !strings.HasPrefix(err.Error(), flag+": ") || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestComparingRefuses(t *testing.T) {
	for flag, c := range map[string]Comparing{
		"--compare":    {Against: "postgres"},
		"--nodes":      {Against: OneNode, Nodes: 4},
		"--durability": {Against: Noop, Durability: "disk"},
		"--pairs":      {Against: Noop, Pairs: -1},
		"--temp":       {Against: Noop, Setup: Setup{Temp: "/nonexistent"}},
		"--keys":       {Against: Noop, Deny: true, Load: Load{Keys: New}},
	} {
		if _, err := Compare(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), flag+": ") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   Spread[float64]
	}{
		{nil, Spread[float64]{}},
		{[]float64{3}, Spread[float64]{3, 3, 3}},
		{[]float64{3, 1}, Spread[float64]{2, 1, 3}},
		{[]float64{9, 1, 4}, Spread[float64]{4, 1, 9}},
	} {
		if got := spreadOf(tt.values); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.values, got, tt.want)
		}
	}
}
