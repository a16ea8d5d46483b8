package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/storage"
)

// A Tabling says what of the table is measured.
type Tabling struct {
	Setup

	// Quick measures everything for a shorter time, and less often.
	Quick bool
	// Full measures the cases too that take minutes.
	Full bool
	// Cluster measures the cases of a cluster, and only them.
	Cluster bool
	// Only are the names of the only cases that are measured; empty means all.
	Only []string
}

// Cases are the names of the cases of a node, or of those of a cluster, in their order.
func Cases(cluster bool) []string {
	var names []string
	for _, k := range cases() {
		if k.cluster == cluster {
			names = append(names, k.name)
		}
	}
	return names
}

// chosen are the cases that are to be measured.
func (t *Tabling) chosen() ([]kase, error) {
	known := Cases(true)
	if !t.Cluster {
		known = append(Cases(false), known...)
	} else if t.Full {
		return nil, flagError("full", "no case of a cluster takes minutes: leave it out, or --cluster")
	}
	for _, name := range t.Only {
		if !slices.Contains(known, name) {
			return nil, flagError("only", "%q is no case: they are %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(cases(), func(k kase) bool {
		if len(t.Only) > 0 {
			return !slices.Contains(t.Only, k.name)
		}
		return k.cluster != t.Cluster || k.long && !t.Full
	}), nil
}

// A Row is a line of the table.
type Row struct {
	Case       string             `json:"case"`
	Title      string             `json:"title"`
	What       string             `json:"what,omitempty"` // where a case has several values, which one
	Durability storage.Durability `json:"durability,omitempty"`
	Target     string             `json:"target"`
	Unit       string             `json:"unit"`
	Value      Spread[float64]    `json:"value"`
	Met        *bool              `json:"met"`             // null where there is no target, or no value
	Error      string             `json:"error,omitempty"` // why there is no value
}

// Rows are the table.
type Rows []Row

// Table measures the cases and returns their rows. A case that fails has its error in its row, and the rest is measured.
// When ctx ends, the rows until then are returned, with an error.
func Table(ctx context.Context, t Tabling) (Rows, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	chosen, err := t.chosen()
	if err != nil {
		return nil, err
	}
	var rows Rows
	failed := 0
	for _, k := range chosen {
		for _, m := range k.modes {
			t.say("%s %s", k.title, m.durability)
			values, err := k.measure(ctx, &t, m.durability)
			if ctx.Err() != nil {
				return rows, errInterrupted
			}
			if err != nil {
				failed++
			}
			rows = append(rows, k.rows(m, values, err)...)
		}
	}
	if failed > 0 {
		return rows, fmt.Errorf("%d of the measurements failed: see their rows", failed)
	}
	return rows, nil
}

// rows are the rows of one mode of a case.
func (k *kase) rows(m mode, values []Spread[float64], err error) Rows {
	var rows Rows
	for i, g := range m.goals {
		r := Row{Case: k.name, Title: k.title, What: g.what, Durability: m.durability, Target: g.target(), Unit: g.unit}
		if err != nil {
			r.Error = err.Error()
		} else {
			r.Value = values[i]
			if g.bound != open {
				r.Met = new(g.met(values[i].Median))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func (g goal) target() string {
	if g.bound == open {
		return "report"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", g.bound, withUnit(number(g.value), g.unit)))
}

// withUnit sets a unit behind a number; a ratio has none.
func withUnit(number, unit string) string {
	switch unit {
	case "×":
		return number
	case "%", "/s", "/check":
		return number + unit
	}
	return number + " " + unit
}

// number is a value to three digits.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100 || v <= -100:
		return count(v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// cells are the columns of a row.
func (r *Row) cells() []string {
	title, met := r.Title, "–"
	if r.What != "" {
		title += ": " + r.What
	}
	if r.Met != nil {
		met = map[bool]string{true: "yes", false: "no"}[*r.Met]
	}
	measured := withUnit(number(r.Value.Median), r.Unit)
	if r.Value.Min != r.Value.Max {
		measured += fmt.Sprintf(" (%s–%s)", number(r.Value.Min), number(r.Value.Max))
	}
	if r.Error != "" {
		measured, met = "failed", "no"
	}
	return []string{title, string(r.Durability), r.Target, measured, met}
}

// Write prints the table in Markdown, aligned, and below it why there are values missing.
func (rows Rows) Write(w io.Writer) error {
	lines := [][]string{{"case", "durability", "target", "measured: median (min–max)", "met"}}
	for i := range rows {
		lines = append(lines, rows[i].cells())
	}
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	p := &printer{w: w}
	for n, cells := range lines {
		for i, cell := range cells {
			p.say("| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		p.say("|\n")
		if n > 0 {
			continue
		}
		for _, width := range widths {
			p.say("|%s", strings.Repeat("-", width+2))
		}
		p.say("|\n")
	}
	for _, r := range rows {
		if r.Error != "" {
			p.say("\n%s %s: %s\n", r.Title, r.Durability, r.Error)
		}
	}
	return p.err
}

// errInterrupted ends what is of no use when it is not brought to its end.
var errInterrupted = errors.New("interrupted")
