package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Write prints the report as tables in Markdown: nanoseconds of processor time for a check.
func (r *StageReport) Write(w io.Writer) error {
	if err := r.whole(); err != nil {
		return err
	}
	p := &printer{w: w}
	for n, c := range r.Cases {
		if n > 0 {
			p.say("\n")
		}
		p.say("%s:\n\n| stage     | before, ns | after, ns |\n|-----------|-----------:|----------:|\n", upperFirst(c.Title))
		for _, s := range Stages() {
			p.say("| %-9s | %10s | %9s |\n", s, nanoseconds(c.Before.PerCheck[s]), nanoseconds(c.After.PerCheck[s]))
		}
		p.say("| %-9s | %10s | %9s |\n", "all", nanoseconds(c.Before.total()), nanoseconds(c.After.total()))
	}
	return p.err
}

// nanoseconds is a time to a whole nanosecond, where it is not so short that tenths matter.
func nanoseconds(ns float64) string {
	if ns > 0 && math.Round(ns*10) < 100 {
		return fmt.Sprintf("%.1f", ns)
	}
	return count(ns)
}

// upperFirst is a title as it begins a line.
func upperFirst(title string) string { return strings.ToUpper(title[:1]) + title[1:] }

// Between these two lines of a page, the tables stand.
const (
	tablesBegin = "<!-- jeton bench stages: begin -->"
	tablesEnd   = "<!-- jeton bench stages: end -->"
)

// Fill returns a page in Markdown with the tables in their place, instead of those that are there.
func (r *StageReport) Fill(page []byte) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(tablesBegin+"\n"))
	_, after, ends := bytes.Cut(rest, []byte(tablesEnd+"\n"))
	if !begins || !ends {
		return nil, errors.New("it has no place for the tables, which is between two lines: " +
			tablesBegin + " and " + tablesEnd)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(tablesBegin + "\n\n")
	if err := r.Write(&b); err != nil {
		return nil, err
	}
	b.WriteString("\n" + tablesEnd + "\n")
	b.Write(after)
	return b.Bytes(), nil
}
