package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStreams reads streams of the model through a bare proxy: each event says when it was sent, and what is measured of it is later.
func TestStreams(t *testing.T) {
	model := serveHTTP(t, Model, "")
	side := streamSide{name: "bare proxy", address: serveHTTP(t, BareProxy, "http://"+model)}
	result, err := side.measure(t.Context(), 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if e, f := result.event, result.first; e.P50 <= 0 || e.P99 < e.P50 || f.P50 <= 0 || f.P99 < f.P50 {
		t.Errorf("measured %+v", result)
	}
	if alone, err := side.measureAlone(t.Context()); err != nil || alone < aloneEvery {
		t.Errorf("one stream after another: the first byte of half of them took at most %v, %v; the model waits %v", alone, err, aloneEvery)
	}
	side.metered = true
	if _, err := side.measure(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "its tokens count: false") {
		t.Errorf("streams whose tokens do not count are measured: %v", err)
	}
}

// TestSpreadsOfStreams has a value for each goal: what the gateway adds.
func TestSpreadsOfStreams(t *testing.T) {
	of := func(event, first, alone time.Duration) streamResult {
		return streamResult{Percentiles{P50: event, P99: 2 * event}, Percentiles{P50: first, P99: 2 * first}, event, alone}
	}
	got := spreadsOfStreams([]streamRound{{of(3*time.Millisecond, 9*time.Millisecond, 8*time.Millisecond), of(2*time.Millisecond, 4*time.Millisecond, 7*time.Millisecond)}})
	var medians []float64
	for _, s := range got {
		medians = append(medians, s.Median)
	}
	if want := []float64{1, 2, 1, 5, 10, 3, 6, 2, 4, 9, 4, 7, 1.5}; !slices.Equal(medians, want) || len(want)+1 != len(streamGoals()) { // one is not of the streams
		t.Errorf("got %v, want %v", medians, want)
	}
}
