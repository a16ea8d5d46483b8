package mutants

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Table is what came of the hunts. It is safe for concurrent use.
type Table struct {
	mu   sync.Mutex
	rows []row
}

type row struct {
	mutant Mutant
	hunt   Hunt
	catch  Catch
	err    error // instead of catch
}

// Note adds what came of a hunt: a catch, or the error of [Lab.Hunt].
func (t *Table) Note(m Mutant, h Hunt, c Catch, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, row{m, h, c, err})
}

// Markdown is the table of the mutants in list, in its order: a line for each hunt.
func (t *Table) Markdown(list []Mutant) string {
	var b strings.Builder
	b.WriteString("| mutant | what it breaks | caught by | after |\n|---|---|---|---|\n")
	t.each(list, func(m Mutant, rows []row) {
		name, why := "**"+m.Name+"**", m.Why
		for _, r := range rows {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, why, r.by("`"), r.after())
			name, why = "", ""
		}
	})
	return b.String()
}

// String is the same for a terminal, without the reasons.
func (t *Table) String() string {
	var b strings.Builder
	t.each(list(t), func(m Mutant, rows []row) {
		name := m.Name
		for _, r := range rows {
			fmt.Fprintf(&b, "%-44s %9s  %s\n", name, r.after(), r.by(""))
			name = ""
		}
	})
	return b.String()
}

// list are the mutants that there are rows of.
func list(t *Table) (list []Mutant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rows {
		if !slices.ContainsFunc(list, func(m Mutant) bool { return m.Name == r.mutant.Name }) {
			list = append(list, r.mutant)
		}
	}
	return list
}

func (t *Table) each(list []Mutant, f func(Mutant, []row)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range list {
		rows := slices.Clone(t.rows)
		f(m, slices.DeleteFunc(rows, func(r row) bool { return r.mutant.Name != m.Name }))
	}
}

// by is the test that caught the mutant, with its package.
func (r row) by(quote string) string {
	if r.err != nil {
		return "NOT caught by " + quote + r.hunt.String() + quote
	}
	return quote + strings.TrimPrefix(r.hunt.Package, "./") + quote + " " + quote + r.catch.Test + quote
}

// after is how long the tests ran until they noticed, and in which run if not in the first.
func (r row) after() string {
	if r.err != nil {
		return "never"
	}
	text := fmt.Sprintf("%.1f s", r.catch.After.Seconds())
	if r.catch.After < time.Second {
		text = fmt.Sprintf("%d ms", max(r.catch.After.Milliseconds(), 1))
	}
	if r.catch.Runs > 1 {
		text += fmt.Sprintf(", run %d", r.catch.Runs)
	}
	return text
}
