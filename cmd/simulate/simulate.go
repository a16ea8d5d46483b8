// Package simulate says what limits would have done to the traffic of a log: which checks they would have admitted and denied,
// of which keys, and when. Several limits are candidates side by side, each with buckets of its own, so that people choose by
// looking. It needs no server.
//
//	logs ─▶ lines (reader.go, object.go, access.go) ─▶ checks in the order of time (source.go, merge.go)
//	                                                        │
//	     chart.go, text.go ◀─ [Report] ◀─ candidate.go, series.go ◀┘
//
// Every decision is that of a [limit.Memory] at the time of the log. Memory grows with the number of keys, not with the length
// of a log.
//
// Start with [Run].
package simulate

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Config says what is simulated.
type Config struct {
	// Logs are one or more logs. They are merged by time.
	Logs []Log
	// Limits has the candidates.
	Limits *limit.Document
	// Names are the limits of the document that are candidates. Empty means all of them.
	Names []string
	// Fields says where in a line its time, key and cost are.
	Fields Fields
	// Top is how many of the keys that a candidate denied most are reported. 0 means none.
	Top int
	// Columns is into how many pieces of time the report is divided at most, at least 1.
	Columns int
}

// Run reads the logs and lets every candidate decide every check. Its errors say what to do.
func Run(cfg Config) (*Report, error) {
	template, err := parseTemplate(cfg.Fields.Key)
	if err != nil {
		return nil, err
	}
	candidates, err := candidatesOf(cfg.Limits, cfg.Names)
	if err != nil {
		return nil, err
	}
	keys := &intern{ids: map[string]int32{}}
	tally := &Tally{Problems: []Problem{}}
	all, err := open(cfg.Logs, &reader{fields: cfg.Fields, key: template, keys: keys, tally: tally, plans: plansOf(candidates)})
	if err != nil {
		return nil, err
	}
	times := newSeries(len(candidates))
	for {
		c, ok, err := all.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		at := times.at(c.at)
		times.asked[at]++
		for i, one := range candidates {
			if !one.decide(c, keys.names[c.key]) {
				times.denied[i][at]++
			}
		}
	}
	if err := tally.worth(); err != nil {
		return nil, err
	}
	return report(cfg, candidates, times, keys, *tally), nil
}

// report puts the results together.
func report(cfg Config, candidates []*candidate, times *series, keys *intern, tally Tally) *Report {
	step, first := times.divide(cfg.Columns)
	r := &Report{Log: tally, Step: Step(step), From: time.Unix(0, times.first).UTC(), To: time.Unix(0, times.last).UTC()}
	for i, n := range times.fold(times.asked, step) {
		r.Times = append(r.Times, Piece{At: time.Unix(0, first+int64(i)*step).UTC(), Checks: n})
		r.Checks += n
	}
	for id := range keys.names {
		if one := candidates[0].key(int32(id)); one.admitted+one.denied > 0 {
			r.Keys++
			r.Key = keys.names[id]
		}
	}
	if r.Keys > 1 {
		r.Key = ""
	}
	for i, c := range candidates {
		result := c.result(keys, cfg.Top)

		result.DeniedAt = times.fold(times.denied[i], step)
		r.Candidates = append(r.Candidates, result)
	}
	r.Tokens = r.Candidates[0].AdmittedTokens + r.Candidates[0].DeniedTokens
	return r
}
