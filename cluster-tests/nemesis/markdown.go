package nemesis

import (
	"fmt"
	"strings"
	"time"
)

// ms is a length in milliseconds, for people to read.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// seconds is a length in seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Markdown is the report as a document. It is made to be read as text too.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Seed %d: %s\n\n", r.Seed, r.outcome())
	fmt.Fprintf(&b, "%d nodes, %d replicas, %d checks a second over %d keys (and those of the slow limit), for %v%s.\n",
		r.Nodes, r.Replicas, r.PerSecond, r.Keys, r.Time, r.circumstances())
	fmt.Fprintf(&b, "To repeat it: `%s`. The same faults come at the same times; how the processes react differs each time.\n\n", r.Again)
	r.writeVerdicts(&b)
	r.writeCalls(&b)
	r.writeFaults(&b)
	r.writeProblems(&b)
	return b.String()
}

// circumstances are what is not as usual.
func (r *Report) circumstances() string {
	var b strings.Builder
	if len(r.Args) > 0 {
		fmt.Fprintf(&b, ", with %s", strings.Join(r.Args, " "))
	}
	if r.Gateways > 0 {
		fmt.Fprintf(&b, ", some of them through %d gateways", r.Gateways)
	}
	return b.String()
}

func (r *Report) writeVerdicts(b *strings.Builder) {
	fmt.Fprintf(b, "| checker | verdict |\n|---|---|\n")
	for i := range r.Verdicts {
		fmt.Fprintf(b, "| %s | %s |\n", r.Verdicts[i].Checker, verdict(&r.Verdicts[i]))
	}
	fmt.Fprintf(b, "| stuck | %d keys probed after healing, %d stuck |\n", r.Asked, len(r.Stuck))
	fmt.Fprintf(b, "| held | %d times a node was asked what is held in the end, %d times something was |\n", r.Looked, len(r.Held))
	fmt.Fprintf(b, "| nodes and logs | %d problems |\n\n", len(r.Problems))
	fmt.Fprintf(b, "The clocks of nodes were taken to be within %s of the callers'; the history has %.0f MB, and judging it took %s.\n\n",
		ms(time.Duration(r.epsilon)), float64(r.size)/1e6, seconds(r.judged))
}

func (r *Report) writeCalls(b *strings.Builder) {
	t := r.total
	fmt.Fprintf(b, "%d checks: %d admitted, %d denied, %d failed (%.3f %%).", t.all(), t.Admitted, t.Denied, t.Failed,
		100*float64(t.Failed)/float64(max(1, t.all())))
	for i, why := range sorted(r.reasons) {
		sep := ", "
		if i == 0 {
			sep = " Of these: "
		}
		fmt.Fprintf(b, "%s%d %s", sep, r.reasons[why], why)
	}
	if len(r.reasons) > 0 {
		b.WriteString(".")
	}
	b.WriteString("\n")
	l := r.ledger
	fmt.Fprintf(b, "Returns: %s. Resets: %s. Extensions of permits: %s.\n\nHolds: %s.\n\n", outcomes(l.returns), outcomes(l.resets), outcomes(l.extends), l.holds)
	fmt.Fprintf(b, "Eventual limits: %s.\n\n", l.excess)
	if r.Gateways > 0 {
		fmt.Fprintf(b, "Gateways: %s.\n\n", r.edgeWork)
	}
	fmt.Fprintf(b, "| asked | checks | admitted | denied | failed |\n|---|---|---|---|---|\n")
	for _, through := range sorted(r.byThrough) {
		c := r.byThrough[through]
		fmt.Fprintf(b, "| through %s | %d | %d | %d | %d |\n", through, c.all(), c.Admitted, c.Denied, c.Failed)
	}
	for _, limit := range sorted(r.byLimit) {
		c := r.byLimit[limit]
		fmt.Fprintf(b, "| of limit %s | %d | %d | %d | %d |\n", limit, c.all(), c.Admitted, c.Denied, c.Failed)
	}
	fmt.Fprintf(b, "\n| latency | checks | p50 | p99 | p99.9 | longest |\n|---|---|---|---|---|---|\n")
	for _, row := range []struct {
		what string
		l    *latencies
	}{{"all, failed ones too", &l.latency}, {"in the second after a node was killed", &l.afterKill}} {
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s |\n", row.what, row.l.n, ms(row.l.at(0.5)), ms(row.l.at(0.99)), ms(row.l.at(0.999)), ms(row.l.longest))
	}
	if r.stalls > 0 {
		fmt.Fprintf(b, "\nThe machine was busy: %d times the load generator itself was delayed by more than %s, by %s at most. So were the nodes.\n",
			r.stalls, ms(stalled), seconds(r.longestStall))
	}
	b.WriteString("\n")
}

func (r *Report) writeFaults(b *strings.Builder) {
	fmt.Fprintf(b, "| fault | times | in all | failed checks | last failure after | all back after |\n|---|---|---|---|---|---|\n")
	for _, k := range r.rows() {
		fmt.Fprintf(b, "| %s | %d | %s | %d | %s | %s |\n", k.kind, k.times, seconds(k.lasted), k.failed, seconds(k.slowest), seconds(k.back))
	}
	fmt.Fprintf(b, "\n%d of %d faults of the schedule were played; %d checks failed that no fault explains.\n", len(r.Played), len(r.Planned), r.unexplained())
	b.WriteString("A failed check counts for the fault that began last before it. The last failure is counted from the beginning of the\n" +
		"worst one, or, where it left no quorum, from its undoing; all back, from its undoing until each affected node serves\n" +
		"and has its registers again.\n")
	for _, kind := range sorted(r.Absent) {
		fmt.Fprintf(b, "Not played: %s: %s.\n", kind, r.Absent[kind])
	}
	b.WriteString("\n")
}

func (r *Report) writeProblems(b *strings.Builder) {
	err := r.Err()
	if err == nil {
		return
	}
	fmt.Fprintf(b, "What is wrong:\n\n```\n%v\n```\n\n", err)
	fmt.Fprintf(b, "The history and what the nodes said are in %s. The schedule as it was played:\n\n```\n", r.Folder)
	for _, o := range r.outages {
		fmt.Fprintf(b, "%7.1f s to %7.1f s, undone at %7.1f s: %s (%d checks failed)\n",
			o.Began.Seconds(), o.Ended.Seconds(), o.Healing.Seconds(), o.Fault, o.failed)
	}
	b.WriteString("```\n")
}

// outcomes are counts by outcome.
func outcomes[O interface {
	comparable
	fmt.Stringer
}](counts map[O]int64,
) string {
	byName := map[string]int64{}
	for o, n := range counts {
		byName[o.String()] = n
	}
	var all []string
	for _, name := range sorted(byName) {
		all = append(all, fmt.Sprintf("%d %s", byName[name], name))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
