package simulate

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Style is how a report is drawn.
type Style struct {
	// Plain draws with ASCII alone.
	Plain bool
}

// chartRows is how high a chart is.
const chartRows = 8

// A brush are the signs of a chart.
type brush struct{ admitted, denied, axis, foot string }

var (
	blocks = brush{admitted: "█", denied: "░", axis: "┤", foot: "┼"}
	ascii  = brush{admitted: "#", denied: ":", axis: "|", foot: "+"}
)

func (s Style) brush() brush {
	if s.Plain {
		return ascii
	}
	return blocks
}

// Margin is how much wider than its columns a chart is.
const Margin = 12

// chart draws what one candidate did over time, a column for each piece of time. All charts of a report have the same scale. Where
// anything was denied, a column shows at least one row of it.
func (r *Report) chart(of *Result, b brush) string {
	peak := int64(1)
	for _, p := range r.Times {
		peak = max(peak, p.Checks)
	}
	var out strings.Builder
	for row := chartRows; row >= 1; row-- {
		label := ""
		if row == chartRows {
			label = fmt.Sprint(peak)
		}
		var line strings.Builder
		for i, p := range r.Times {
			admitted, all := heights(p.Checks, of.DeniedAt[i], peak)
			switch {
			case row <= admitted:
				line.WriteString(b.admitted)
			case row <= all:
				line.WriteString(b.denied)
			default:
				line.WriteByte(' ')
			}
		}
		fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%*s %s%s", Margin-2, label, b.axis, line.String()), " "))
	}
	fmt.Fprintln(&out, r.foot(b))
	return out.String()
}

// heights are how many rows the admitted checks of a column take, and those with the denied ones above.
func heights(checks, denied, peak int64) (admitted, all int) {
	rows := func(n int64) int { return int((n*chartRows + peak/2) / peak) }
	if checks == 0 {
		return 0, 0
	}
	all = max(rows(checks), 1)
	admitted = rows(checks - denied)
	switch {
	case denied > 0 && admitted >= all:
		admitted = all - 1
		if checks > denied && admitted == 0 && all < chartRows {
			admitted, all = 1, 2
		}
	case denied == 0:
		admitted = all
	}
	return admitted, all
}

// foot is the time below a chart.
func (r *Report) foot(b brush) string {
	layout := "2006-01-02 15:04:05"
	if time.Duration(r.Step)%time.Second != 0 {
		layout += ".00"
	}
	first, last := r.Times[0].At.Format(layout), r.Times[len(r.Times)-1].At.Format(layout)
	line := fmt.Sprintf("%*s %s%s", Margin-2, "0", b.foot, first)
	if gap := Margin + len(r.Times) - utf8.RuneCountInString(line) - len(last); gap > 0 {
		line += strings.Repeat(" ", gap) + last
	}
	return line
}
