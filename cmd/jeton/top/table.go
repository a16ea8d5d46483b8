package top

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	gap       = 2  // spaces between columns
	leastName = 12 // of a column of names
)

// A column is one of a table.
type column struct {
	title string
	right bool // numbers are aligned to the right
	least int  // its width at least, so that it stays where it is while numbers change
	most  int  // its width at most; 0 is any
	// keep is how wide the last column stays at least, while others can be left out; 0 is 12.
	keep int
	// drop is how early the column is left out where not all fit: the highest first; 0 is never.
	drop int
}

// A row is a line of a table.
type row struct {
	says  func() []string // what stands in its cells, safe
	cells []string        // the same, of rows that are seen
	look  look
	// name is what the row is of, as the filter and those who open it take it; node is the node that decides for it.
	name, node string
	limits     []string // of a key
	// What rows are ordered by.
	traffic, denials, used float64
}

// A table has columns and rows. What is longest and comes from outside, such as keys, stands in the last column, where nothing can be
// moved by it; that column gets narrower where the width does not suffice.
type table struct {
	columns []column
	rows    []row
}

// part is the table with some of its rows alone, which are seen.
func (t table) part(from, to int) table {
	seen := slices.Clone(t.rows[from:to])
	for i := range seen {
		seen[i].cells = seen[i].says()
	}
	return table{t.columns, seen}
}

// fit is the table, of rows that are seen, as it fits into a width, and how wide its columns are then; a width of 0 has no bound.
func (t table) fit(width int) (table, []int) {
	for {
		widths := t.widths()
		over := sum(widths) + gap*(len(widths)-1) - width
		if width <= 0 || over <= 0 {
			return t, widths
		}
		last := len(widths) - 1
		flexible := max(widths[last]-max(t.columns[last].keep, leastName), 0)
		if over <= flexible {
			widths[last] -= over
			return t, widths
		}
		at := t.dropped()
		if at < 0 {
			widths[last] = max(widths[last]-over, 0)
			return t, widths
		}
		t = t.without(at)
	}
}

// widths are those of the columns with all that stands in them.
func (t table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = max(ansi.StringWidth(c.title), c.least)
		for _, r := range t.rows {
			widths[i] = max(widths[i], ansi.StringWidth(r.cells[i]))
		}
		if c.most > 0 {
			widths[i] = min(widths[i], c.most)
		}
	}
	return widths
}

// dropped is the column that is left out next; below 0 for none.
func (t table) dropped() int {
	at := -1
	for i, c := range t.columns {
		if c.drop > 0 && (at < 0 || c.drop > t.columns[at].drop) {
			at = i
		}
	}
	return at
}

// without is the table without a column.
func (t table) without(at int) table {
	out := table{slices.Delete(slices.Clone(t.columns), at, at+1), slices.Clone(t.rows)}
	for i := range out.rows {
		out.rows[i].cells = slices.Delete(slices.Clone(out.rows[i].cells), at, at+1)
	}
	return out
}

// titles is the first line of a table.
func (t table) titles(widths []int) string {
	cells := make([]string, len(t.columns))
	for i, c := range t.columns {
		cells[i] = c.title
	}
	return t.line(cells, widths)
}

// line is one of a table, without spaces at its end.
func (t table) line(cells []string, widths []int) string {
	var line strings.Builder
	for i, c := range t.columns {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		line.WriteString(pad(cells[i], widths[i], c.right))
	}
	return strings.TrimRight(line.String(), " ")
}

func sum(all []int) (n int) {
	for _, v := range all {
		n += v
	}
	return n
}

// id is the row, whatever stands in it.
func (r row) id() string { return r.node + "\x00" + r.name }
