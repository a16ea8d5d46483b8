package simulation

import (
	"io"
	"time"
)

// A Config says what is simulated.
type Config struct {
	// Seed is what everything is drawn from: the same seed gives the same run, to the last event.
	Seed uint64
	// Duration is how long the run lasts before all faults end; 0 means that it is drawn, between 10 minutes and 4 hours.
	Duration time.Duration
	// Story gets a line for each event; nil means no story. Runs are much slower with it.
	Story io.Writer

	variant *variant
}

// A Report is what came of a run.
type Report struct {
	Seed      uint64
	Simulated time.Duration
	Counts    Counts
	// Hash is of all that happened.
	Hash uint64
	// Violation is the first promise that was broken; nil if none was.
	Violation *Violation
}

// Run simulates one seed.
func Run(c Config) Report {
	var tell *story
	if c.Story != nil {
		tell = &story{to: c.Story, key: noKey}
	}
	if c.variant == nil {
		c.variant = sound()
	}
	return play(draw(c.Seed, int64(c.Duration)), c.variant, tell)
}

// play lets a scenario happen.
func play(s *scenario, v *variant, tell *story) Report {
	w := newWorld(s, v, tell)
	w.run(origin + s.duration)
	w.ledger.tally.judge(w)
	if w.violation == nil && !s.short {
		w.heal()
	}
	w.conclude()
	return Report{
		Seed: s.seed, Simulated: time.Duration(w.now - origin), Counts: w.counts, Hash: w.hash, Violation: w.violation,
	}
}
