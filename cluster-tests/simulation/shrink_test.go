package simulation

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// What is wrong must be told in a story that a person can read.
func TestShrinkTellsAShortStory(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:1] {
		seed, _ := search(v, 200)
		if seed == 0 {
			t.Fatalf("%s: no seed fails", v.name)
		}
		var text bytes.Buffer
		if Explain(Config{Seed: seed, variant: v}, &text) == nil {
			t.Fatalf("%s: seed %d fails no more when it is run again", v.name, seed)
		}
		story := text.String()
		t.Logf("%s:\n%s", v.name, story)
		if lines := strings.Count(story, "\n"); lines > 40 || !strings.Contains(story, "WRONG") {
			t.Errorf("%s: the story has %d lines", v.name, lines)
		}
	}
}

// The same seed is the same run, to the last event, told or not.
func TestSeedsAreRunsAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		one := Run(Config{Seed: seed, Duration: 20 * time.Minute})
		var text bytes.Buffer
		two := Run(Config{Seed: seed, Duration: 20 * time.Minute, Story: &text})
		if one.Hash != two.Hash || one.Simulated != two.Simulated {
			t.Errorf("seed %d: %x after %v, and %x after %v when it is run again", seed, one.Hash, one.Simulated, two.Hash, two.Simulated)
		}
		var again bytes.Buffer
		Run(Config{Seed: seed, Duration: 20 * time.Minute, Story: &again})
		if !bytes.Equal(text.Bytes(), again.Bytes()) {
			t.Errorf("seed %d tells two stories", seed)
		}
	}
	if Run(Config{Seed: 1}).Hash == Run(Config{Seed: 2}).Hash {
		t.Error("two seeds are one run")
	}
}
