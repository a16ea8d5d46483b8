package main

import "math"

// A class is of pairs of a key and an edge, by how many checks a second of the key come to the edge.
type class int

const (
	rare   class = iota // below 2
	some                // below 20
	many                // below 100
	most                // 100 and more
	nClass = int(most) + 1
)

func (c class) String() string { return [...]string{"< 2", "2–20", "20–100", "≥ 100"}[c] }

func classOf(rate float64) class {
	switch {
	case rate < 2:
		return rare
	case rate < 20:
		return some
	case rate < 100:
		return many
	}
	return most
}

// A tally counts what became of checks. Those of a key that stands for others count as often.
type tally struct {
	checks   float64 // that were decided, or failed
	here     float64 // of them, decided at the edge
	admitted float64
	due      float64 // what a central bucket at no distance would have admitted
	denied   float64
	wrongly  float64 // denied, though a central bucket would have admitted
	failed   float64 // without a decision
	messages float64 // from edges to owners, each with its answer
	bytes    float64 // of both
	asks     float64 // messages that ask for leases
	backs    float64 // messages that give back
	latency  [nLatency]float64
}

// nLatency is how many intervals of latency are told apart: none, and from a microsecond on, each 5 % longer.
const (
	nLatency  = 300
	intervals = 1.05
)

// took counts a decision that was made so long after its check.
func (t *tally) took(ns int64, n float64) {
	i := 0
	if ns > 0 {
		i = min(1+max(0, int(math.Log(float64(ns)/1e3)/math.Log(intervals))), nLatency-1)
	}
	t.latency[i] += n
}

// percentile is how long decisions took, of that part of them, in milliseconds.
func (t *tally) percentile(part float64) float64 {
	all := 0.0
	for _, n := range &t.latency {
		all += n
	}
	sum := 0.0
	for i, n := range &t.latency {
		if sum += n; n > 0 && sum >= part*all {
			if i == 0 {
				return 0
			}
			return math.Pow(intervals, float64(i)-0.5) / 1e3
		}
	}
	return 0
}

// add adds what another one has counted, n times.
func (t *tally) add(o *tally, n float64) {
	t.checks += n * o.checks
	t.here += n * o.here
	t.admitted += n * o.admitted
	t.due += n * o.due
	t.denied += n * o.denied
	t.wrongly += n * o.wrongly
	t.failed += n * o.failed
	t.messages += n * o.messages
	t.bytes += n * o.bytes
	t.asks += n * o.asks
	t.backs += n * o.backs
	for i := range o.latency {
		t.latency[i] += n * o.latency[i]
	}
}

// per is a part of the checks.
func (t *tally) per(n float64) float64 {
	if t.checks == 0 {
		return 0
	}
	return n / t.checks
}
