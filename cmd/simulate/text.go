package simulate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/plain"
)

// Print writes the report for people.
func (r *Report) Print(w io.Writer, style Style) error {
	var out strings.Builder
	r.head(&out)
	r.table(&out)
	b := style.brush()
	for i := range r.Candidates {
		c := &r.Candidates[i]
		fmt.Fprintf(&out, "\n%s: %s\n%s", c.Name, c.rule(), r.chart(c, b))
		if c.Penalties > 0 {
			fmt.Fprintf(&out, "\npenalties closed buckets %d times, and denied %d checks\n", c.Penalties, c.Closed)
		}
		c.most(&out)
	}
	fmt.Fprintf(&out, "\n%s admitted  %s denied  a column is %s, the time is UTC\n", b.admitted, b.denied, plain.Duration(time.Duration(r.Step)))
	_, err := io.WriteString(w, out.String())
	return err
}

// head says what was read, and what was left out.
func (r *Report) head(out *strings.Builder) {
	of := fmt.Sprintf("%d keys", r.Keys)
	if r.Keys == 1 {
		of = "one key, " + plain.Text(r.Key)
	}
	cost := ""
	if r.Tokens != r.Checks {
		cost = fmt.Sprintf(" that cost %d tokens", r.Tokens)
	}
	const layout = "2006-01-02 15:04:05"
	fmt.Fprintf(out, "%d checks of %s%s, from %s to %s UTC\n", r.Checks, of, cost, r.From.Format(layout), r.To.Format(layout))
	t := &r.Log
	var left []string
	for _, count := range []struct {
		n   int64
		why string
	}{{t.Unreadable, "cannot be read"}, {t.WithoutKey, "have no key"}, {t.Late, "come too late"}} {
		if count.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", count.n, count.why))
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(out, "left out of %d lines: %s%s\n", t.Lines, strings.Join(left, ", "), t.shown())
	}
}

// table compares the candidates, a line each.
func (r *Report) table(out *strings.Builder) {
	rows := [][]string{{"limit", "admitted", "denied", "share denied", "keys denied", "longest wait"}}
	never := false
	for i := range r.Candidates {
		c := &r.Candidates[i]
		wait := "-"
		if c.LongestWait > 0 {
			wait = plain.Duration(time.Duration(c.LongestWait))
		}
		if c.Never > 0 {
			wait += " *"
			never = true
		}
		rows = append(rows, []string{
			c.Name, fmt.Sprint(c.Admitted), fmt.Sprint(c.Denied), fmt.Sprintf("%.2f %%", 100*c.Share()), fmt.Sprint(c.KeysDenied), wait,
		})
	}
	r.addDelays(rows)
	out.WriteByte('\n')
	columns(out, rows)
	if never {
		fmt.Fprintln(out, "* some checks cost more than the capacity and can never pass")
	}
}

// addDelays adds to the rows of candidates what waited, where any of them has a wait.
func (r *Report) addDelays(rows [][]string) {
	if !slices.ContainsFunc(r.Candidates, func(c Result) bool { return c.Delay != nil }) {
		return
	}
	rows[0] = append(rows[0], "delayed", "median", "99 %", "longest")
	for i := range r.Candidates {
		cells := []string{"-", "-", "-", "-"}
		if d := r.Candidates[i].Delay; d != nil && d.Checks > 0 {
			cells = []string{fmt.Sprint(d.Checks)}
			for _, s := range []Step{d.Median, d.P99, d.Longest} {
				cells = append(cells, plain.Duration(time.Duration(s)))
			}
		} else if d != nil {
			cells[0] = "0"
		}
		rows[i+1] = append(rows[i+1], cells...)
	}
}

// columns writes rows, the first column to the left and the others to the right.
func columns(out *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(out, "%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(out, "  %*s", width[i+1], cell)
		}
		out.WriteByte('\n')
	}
}

// rule is the limit as a document writes it.
func (c *Result) rule() string {
	var fields []string
	for _, f := range c.fields {
		if f.Field != "on_unavailable" && f.After != "" && f.After != "token-bucket" {
			fields = append(fields, f.Field+" "+f.After)
		}
	}
	return strings.Join(fields, ", ")
}

// most are the keys that it denied most, and those that it delayed most.
func (c *Result) most(out *strings.Builder) {
	keysOf(out, "denied", c.Top, func(k Key) int64 { return k.Denied })
	keysOf(out, "delayed", c.TopDelayed, func(k Key) int64 { return k.Delayed })
}

// keysOf lists the keys with how many of their checks it did that to.
func keysOf(out *strings.Builder, what string, keys []Key, did func(Key) int64) {
	if len(keys) == 0 {
		return
	}
	out.WriteByte('\n')
	rows := [][]string{{"most " + what, what, "of"}}
	for _, k := range keys {
		rows = append(rows, []string{plain.Text(k.Key), fmt.Sprint(did(k)), fmt.Sprint(k.Denied + k.Admitted)})
	}
	columns(out, rows)
}
