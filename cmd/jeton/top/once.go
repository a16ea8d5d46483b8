package top

import (
	"fmt"
	"io"

	"github.com/jeton-dev/jeton/rpc/activity"
)

// Write writes a table as text, as wide as it is: a line with the titles of the columns, and one for each row. Titles are single words,
// and only the last column of a row may have spaces.
func Write(w io.Writer, v *activity.View, o Options) error {
	t := tableOf(v, &o)
	t, widths := t.part(0, len(t.rows)).fit(0)
	if _, err := fmt.Fprintln(w, t.titles(widths)); err != nil {
		return err
	}
	for _, r := range t.rows {
		if _, err := fmt.Fprintln(w, t.line(r.cells, widths)); err != nil {
			return err
		}
	}
	return nil
}

// Summary says in a line what a cluster does.
func Summary(v *activity.View) string {
	t := &v.Total
	return fmt.Sprintf("allowed %s/s  denied %s/s  failed open %s/s, closed %s/s  errors %s/s  p50 %s ms  p99 %s ms  nodes %s",
		rate(t.Allowed), rate(t.Denied), rate(t.FailedOpen), rate(t.FailedClosed), rate(t.Errors), milliseconds(t.P50), milliseconds(t.P99), nodesUp(v))
}

// Problem says in a line what is wrong, and what to do.
func Problem(p *activity.Problem) string {
	text := p.Severity + ": " + shown(p.What)
	if p.Do != "" {
		text += ": " + shown(p.Do)
	}
	return text
}

// nodesUp is how many of the nodes tell what they do.
func nodesUp(v *activity.View) string {
	up := 0
	for i := range v.Nodes {
		if v.Nodes[i].Error == "" {
			up++
		}
	}
	return fmt.Sprintf("%d of %d up", up, len(v.Nodes))
}
