package activity

import "time"

// From when on something counts as a problem. Whatever judges a node goes by these: [Compare], and jeton doctor.
const (
	ClockWarns = 100 * time.Millisecond // between the clocks of two nodes
	ClockStops = 250 * time.Millisecond // likewise: a node that differs by more from a majority decides nothing

	MemoryWarns = 0.7  // of the budget of keys: what keys can do without is given up
	MemoryStops = 0.95 // likewise: no further key wakes

	DiskWarns = 1 << 30   // bytes that are free
	DiskStops = 128 << 20 // likewise

	FsyncWarns   = 200 * time.Millisecond // one write of a hundred takes so long
	WaitingWarns = 10_000                 // checks in mailboxes of a node

	NearlyUsed = 0.9  // of a bucket
	SpikeRate  = 10   // denials a second
	SpikeShare = 0.2  // of decisions
	SpikeTimes = 3    // as many as since the start
	EnoughSaid = 1000 // decisions since the start, to know what is usual
)

// inMillis is a duration as nodes tell clocks and times.
func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
