package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A column of a table: its head, and what it shows of a result.
type column struct {
	head string
	show func(*result) string
}

// decisions are the columns of the table of what was decided.
func decisions() []column {
	return []column{
		{"at the edge", func(r *result) string { return percent(r.all.per(r.all.here)) }},
		{"≥ 20/s", func(r *result) string { b := r.busy(); return percent(b.per(b.here)) }},
		{"added p50, ms", func(r *result) string { return ms(r.all.percentile(0.5)) }},
		{"p99", func(r *result) string { return ms(r.all.percentile(0.99)) }},
		{"p99, ≥ 20/s at 100 ms", func(r *result) string { return ms(r.distant.percentile(0.99)) }},
		{"denied", func(r *result) string { return percent(r.all.per(r.all.denied)) }},
		{"wrongly", func(r *result) string { return percent(r.all.per(r.all.wrongly)) }},
		{"admitted of due", func(r *result) string { return percent(r.all.admitted / max(r.all.due, 1)) }},
		{"no decision", func(r *result) string { return percent(r.all.per(r.all.failed)) }},
		{"overshoot, tokens", func(r *result) string { return count(r.overshoot) }},
		{"bound", (*result).promised},
	}
}

// costs are the columns of the table of what it cost.
func costs() []column {
	return []column{
		{"messages per check", func(r *result) string { return few(r.all.per(r.all.messages)) }},
		{"≥ 100/s", func(r *result) string { t := &r.classes[most]; return few(t.per(t.messages)) }},
		{"most per second of a key", func(r *result) string { return count(r.busiest) }},
		{"bytes per check", func(r *result) string { return fmt.Sprintf("%.1f", r.all.per(r.all.bytes)) }},
		{"reservations per check", func(r *result) string { return few(r.all.per(r.reserved)) }},
		{"cores per million checks/s", func(r *result) string { return fmt.Sprintf("%.1f", r.cores()) }},
		{"$ per billion: cores", func(r *result) string { return fmt.Sprintf("%.2f", r.compute()) }},
		{"network", func(r *result) string { return fmt.Sprintf("%.2f", r.network()) }},
	}
}

// promised is by how much a limit may be exceeded. Of one that is local, each edge's bucket is not.
func (r *result) promised() string {
	if r.policy.consistency == limit.OfEdge {
		return "each edge's bucket"
	}
	return count(r.bound)
}

func percent(part float64) string {
	switch {
	case part == 0:
		return "0"
	case part == 1:
		return "100 %"
	case part > 0.9995:
		return fmt.Sprintf("%.3f %%", 100*part)
	case part < 0.0001:
		return "< 0.01 %"
	}
	return fmt.Sprintf("%.2f %%", 100*part)
}

func ms(v float64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3g", v)
}

func few(v float64) string { return fmt.Sprintf("%.3g", v) }

// count is a number with commas.
func count(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// table writes results as a table of Markdown.
func table(w io.Writer, rs []*result, columns []column) {
	heads := []string{"scenario", "consistency"}
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, r := range rs {
		cells := []string{r.scenario.name, "`" + r.policy.name + "`"}
		for _, c := range columns {
			cells = append(cells, c.show(r))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// classes writes what each class of edges has seen, as a table of Markdown.
func classes(w io.Writer, r *result) {
	fmt.Fprintf(w, "| checks/s of a key at an edge | of all checks | at the edge | messages per check | asks and reports | given back | wrongly denied | p99, ms |\n|---|---|---|---|---|---|---|---|\n")
	for c := range r.classes {
		t := &r.classes[c]
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", class(c), percent(t.checks/max(r.all.checks, 1)), percent(t.per(t.here)), few(t.per(t.messages)),
			few(t.per(t.asks)), few(t.per(t.backs)), percent(t.per(t.wrongly)), ms(t.percentile(0.99)))
	}
}

// A target is what a policy is to reach in a scenario.
type target struct {
	what      string
	scenarios []string // all if there are none
	value     func(*result) float64
	most      float64 // or least, if it is negative
}

// targets are of leased limits, and the last one of all.
func targets() []target {
	return []target{
		{"decisions at the edge, of keys above 20 checks/s at an edge", []string{"day", "leader"}, func(r *result) float64 { b := r.busy(); return b.per(b.here) }, -0.99},
		{"messages per check, of keys above 100 checks/s at an edge", []string{"day", "leader"}, func(r *result) float64 { t := &r.classes[most]; return t.per(t.messages) }, 0.01},
		{"messages per check, all", []string{"day"}, func(r *result) float64 { return r.all.per(r.all.messages) }, 0.1},
		{"wrongly denied", []string{"day", "leader"}, func(r *result) float64 { return r.all.per(r.all.wrongly) }, 0.01},
		{"added p99 in ms, of keys above 20 checks/s at edges about 100 ms away", []string{"leader"}, func(r *result) float64 { return r.distant.percentile(0.99) }, 1},
		{"tokens beyond what is promised, in any window", nil, func(r *result) float64 { return r.beyond }, 0},
	}
}

// met says whether a value reaches the target.
func (t *target) met(v float64) bool {
	if t.most < 0 {
		return v >= -t.most
	}
	return v <= t.most
}

// applies says whether there is a target for a result.
func (t *target) applies(r *result) bool {
	return t.scenarios == nil || r.policy.consistency == limit.Leased && slices.Contains(t.scenarios, r.scenario.name)
}

// judged writes which targets were met.
func judged(w io.Writer, rs []*result) {
	for _, t := range targets() {
		for _, r := range rs {
			if !t.applies(r) {
				continue
			}
			bound, verdict := fmt.Sprintf("≤ %g", t.most), "met"
			if t.most < 0 {
				bound = fmt.Sprintf("≥ %g", -t.most)
			}
			v := t.value(r)
			if !t.met(v) {
				verdict = "MISSED"
			}
			fmt.Fprintf(w, "%-7s %s, %s: %s: %.4g, target %s\n", verdict, r.scenario.name, r.policy.name, t.what, v, bound)
		}
	}
}

// head says what was simulated.
func head(w io.Writer, s *settings) {
	fmt.Fprintf(w, `%d edges in %d cities, %d regions, %.0f million checks/s offered, %s keys (zipf %.1f), each at %.0f %% of its limit, with a bucket of %g s. Seed %d.

Of the keys, the %.0f hottest are simulated each by itself, and of each further stratum of ranks (each twice as long as the one before) %.0f, which stand for the others of it;
long scenarios have fewer. Where a key comes to an edge more than %d times a second, its checks of each %d ms are drawn as one batch.

`, edges, len(cities), len(regions), offered/1e6, count(keys), zipf, 100*s.used, s.fill, s.seed, hottest*s.scale, ofEach*s.scale, second/step, step/1e6)
}
