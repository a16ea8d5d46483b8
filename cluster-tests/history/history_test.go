package history_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

const (
	millisecond = int64(1e6)
	second      = int64(1e9)
)

// anyScene draws what a limiter goes through.
func anyScene(t *rapid.T) scene {
	share := func(name string, most float64) float64 {
		return rapid.SampledFrom([]float64{0, 0, most / 10, most}).Draw(t, name)
	}
	s := scene{
		seed:     rapid.Uint64().Draw(t, "seed"),
		keys:     rapid.IntRange(1, 4).Draw(t, "keys"),
		checks:   rapid.IntRange(1, 400).Draw(t, "checks"),
		every:    rapid.SampledFrom([]int64{5, 1000, millisecond, 50 * millisecond}).Draw(t, "every"),
		takes:    rapid.SampledFrom([]int64{0, 3, 2000, 10 * millisecond, 19 * millisecond}).Draw(t, "takes"),
		most:     rapid.Int64Range(1, 4).Draw(t, "most"),
		epsilon:  rapid.SampledFrom([]int64{0, 0, 7, millisecond}).Draw(t, "epsilon"),
		returns:  share("returns", 0.5),
		resets:   share("resets", 0.05),
		failures: share("failures", 0.3),
		mute:     share("mute", 1),
	}
	tokens := rapid.SampledFrom([]int64{1, 1, 3, 7, 1000}).Draw(t, "tokens")
	one := rapid.SampledFrom([]int64{7, 1000, 999_999, 70 * millisecond, second}).Draw(t, "per")
	s.limits = []history.Limit{token(rapid.Int64Range(1, 50).Draw(t, "capacity"), tokens, one)}
	if rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
		s.limits[0].Tokens = 1
		at := epoch + int64(s.checks)*s.every/2
		next := token(rapid.Int64Range(1, 50).Draw(t, "next capacity"), 1, one*2)
		next.At, next.By = at, at+rapid.SampledFrom([]int64{0, 3 * s.takes}).Draw(t, "by")
		s.limits = append(s.limits, next)
	}
	return s
}

// found are the checkers that find something.
func found(t interface{ Fatal(...any) }, h *history.History, epsilon int64) (names []string, results []history.Result) {
	results, err := history.Run(h, epsilon)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Found > 0 {
			names = append(names, r.Checker)
		}
	}
	return names, results
}

// Whatever an exact limiter goes through, no checker finds anything.
func TestNothingIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScene(t)
		h := s.play()
		if _, results := found(t, h, s.epsilon); history.Check(h, s.epsilon) != nil {
			for _, r := range results {
				if r.Err() != nil {
					t.Error(r.Err())
				}
			}
		}
	})
}

// The order in which calls stand in a history means nothing. (How far linear comes depends on it.)
func TestOrderMeansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScene(t)
		s.epsilon = 0 // so that there is something to find
		h := s.play()
		if len(h.Calls) > 1 {
			h.Calls = append(h.Calls, h.Calls[0])
		}
		before, _ := found(t, h, 0)
		before = slices.DeleteFunc(before, func(name string) bool { return name == "linear" })
		h.Calls = slices.Clone(h.Calls) // what linear has given up for want of time may still be read
		rand.New(rand.NewPCG(s.seed, 2)).Shuffle(len(h.Calls), func(i, j int) { h.Calls[i], h.Calls[j] = h.Calls[j], h.Calls[i] })
		after, _ := found(t, h, 0)
		if after = slices.DeleteFunc(after, func(name string) bool { return name == "linear" }); !slices.Equal(before, after) {
			t.Fatalf("%v was found, and in another order %v", before, after)
		}
	})
}
