package bench

import (
	"fmt"
	"io"
	"time"
)

// A Report is what a load has shown. Times are in nanoseconds.
type Report struct {
	Checks          int64         `json:"checks"` // that were answered, by a decision or an error
	ChecksPerSecond float64       `json:"checks_per_second"`
	Calls           int64         `json:"calls"`
	Allowed         int64         `json:"allowed"`
	Denied          int64         `json:"denied"`
	Errors          []Fault       `json:"errors"`
	Elapsed         time.Duration `json:"elapsed_ns"` // from the end of the warm-up to the last answer
	Latency         Percentiles   `json:"latency_ns"` // of calls

	// With a rate: how many calls were late because no caller was free, the most by which one was, and how many of them
	// could not begin before the end.
	Late   int64         `json:"late_calls,omitempty"`
	Latest time.Duration `json:"latest_ns,omitempty"`
	Unmade int64         `json:"unmade_calls,omitempty"`

	Interrupted bool `json:"interrupted,omitempty"`

	// Processor time, of the generator and, where it is a process of this machine, of the service.
	GeneratorCPU time.Duration `json:"generator_cpu_ns"`
	ServiceCPU   time.Duration `json:"service_cpu_ns,omitempty"`
}

// report is what a tally says.
func (r *run) report(t *tally) Report {
	report := Report{
		Calls: t.calls, Allowed: t.allowed, Denied: t.denied, Errors: t.sortedFaults(), Latency: percentiles(t.latencies),
		Late: t.late, Latest: t.latest, Unmade: t.unmade,
	}
	report.Checks = t.allowed + t.denied + report.errors()
	if !t.answered.IsZero() {
		report.Elapsed = t.answered.Sub(r.warm)
		report.ChecksPerSecond = float64(report.Checks) / report.Elapsed.Seconds()
	}
	return report
}

func (r *Report) errors() int64 {
	n := int64(0)
	for _, f := range r.Errors {
		n += f.Checks
	}
	return n
}

// perCheck shares a time out among the checks.
func (r *Report) perCheck(d time.Duration) time.Duration {
	if r.Checks == 0 {
		return 0
	}
	return time.Duration(float64(d) / float64(r.Checks))
}

// Write prints the report for a person.
func (r *Report) Write(w io.Writer) error {
	p := &printer{w: w}
	if r.Interrupted {
		p.say("interrupted: this is what was measured until then\n")
	}
	p.say("%s checks/s   (%s checks in %s calls, %v)\n",
		count(r.ChecksPerSecond), count(float64(r.Checks)), count(float64(r.Calls)), r.Elapsed.Round(time.Millisecond))
	p.say("allowed %s   denied %s   errors %s\n", count(float64(r.Allowed)), count(float64(r.Denied)), count(float64(r.errors())))
	for _, f := range r.Errors {
		p.say("  %s %s, the first: %s\n", count(float64(f.Checks)), f.Code, f.First)
	}
	l := r.Latency
	p.say("latency of calls: p50 %s   p90 %s   p99 %s   p99.9 %s   max %s\n",
		short(l.P50), short(l.P90), short(l.P99), short(l.P999), short(l.Max))
	if r.Late > 0 {
		p.say("The callers could not keep up: %s calls were late, by up to %s, and %s of them could not begin before the end.\n"+
			"Latencies count from when each was to begin. More --callers or a lower --rate would keep up.\n",
			count(float64(r.Late)), short(r.Latest), count(float64(r.Unmade)))
	}
	p.say("processor time per check: generator %s", short(r.perCheck(r.GeneratorCPU)))
	if r.ServiceCPU > 0 {
		p.say(", service %s", short(r.perCheck(r.ServiceCPU)))
	}
	p.say("\n")
	return p.err
}

// A printer keeps the first error of many writes.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// count is a number with its thousands set apart.
func count(n float64) string {
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short is a duration to three digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 || d/unit <= -1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
