package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// A line is one of the screen: safe text, and how it is drawn.
type line struct {
	text string
	look look
}

// clock is a time of the day, as the person's own clock shows it.
const clock = "15:04:05"

// maxClusterID is how much of a cluster's id is shown.
const maxClusterID = 8

// head says who was asked, what the cluster does, and what is wrong.
func (s *Screen) head() []line {
	switch {
	case s.help:
		return nil
	case s.alone():
		return append([]line{{s.title("jeton bucket"), strong}}, s.stale()...)
	}
	lines, stale := []line{{s.title("jeton top" + s.origin()), strong}}, s.stale()
	lines = append(lines, stale...)
	if s.view == nil {
		return append(lines, line{"waiting for the first answer", quiet})
	}
	known := append([]line{s.rates(), s.nodes()}, s.silentNodes()...)
	if len(stale) > 0 {
		for i := range known {
			known[i].look = quiet
		}
		return append(append(lines, known...), line{"all of this is of " + s.heard.Format(clock), quiet})
	}
	room := min(max(s.height/6, 1), 6)
	if !s.lists() {
		room = 1
	}
	return append(append(lines, known...), s.problems(room)...)
}

// rates are decisions a second.
func (s *Screen) rates() line {
	if s.view.Seconds <= 0 {
		return line{"measuring: rates come with the next answer", quiet}
	}
	t := &s.view.Total
	return line{fmt.Sprintf("allowed %s/s  denied %s/s  failed open %s/s, closed %s/s  errors %s/s",
		rate(t.Allowed), rate(t.Denied), rate(t.FailedOpen), rate(t.FailedClosed), rate(t.Errors)), strong}
}

// title is the first line: what this is, and how late it is.
func (s *Screen) title(what string) string {
	return fmt.Sprintf("%s  %s  every %s", what, s.now.Format(clock), plain.Duration(s.cfg.Every))
}

// origin is which cluster was asked, and which of its nodes.
func (s *Screen) origin() string {
	if s.view == nil {
		return ""
	}
	cluster := "one node alone"
	if c := s.view.Cluster; c != nil {
		cluster = "cluster " + cut(shown(c.Cluster), maxClusterID)
	}
	return fmt.Sprintf("  %s  asked %s", cluster, shown(s.view.Asked))
}

// stale says since when nothing was heard; no line where it was heard in time.
func (s *Screen) stale() []line {
	silent := s.now.Sub(s.heard)
	late := !s.heard.IsZero() && silent > max(3*s.cfg.Every, 2*time.Second)
	if s.failed == "" && !late {
		return nil
	}
	text := fmt.Sprintf("NO ANSWER since %s, for %s", s.heard.Format(clock), plain.Duration(silent.Truncate(time.Second)))
	if s.failed != "" {
		text += ": " + shown(s.failed)
	}
	lines := wrapped(text, s.width)
	out := make([]line, 0, 2)
	for _, l := range lines[:min(len(lines), 2)] {
		out = append(out, line{l, critical})
	}
	return out
}

// nodes is the line of the nodes, the times, and the last minutes.
func (s *Screen) nodes() line {
	t := &s.view.Total
	l := line{fmt.Sprintf("nodes %s  gateways %d  p50 %s ms  p99 %s ms", nodesUp(s.view), len(s.view.Gateways), milliseconds(t.P50), milliseconds(t.P99)), normal}
	if room := s.width - ansi.StringWidth(l.text) - gap; room >= leastSpark && len(s.totals) > 1 {
		l.text += strings.Repeat(" ", gap) + sparkline(s.totals, min(room, mostSpark))
	}
	return l
}

// How wide a sparkline is.
const (
	leastSpark = 8
	mostSpark  = 60
)

// silentNodes says since when nodes have not answered.
func (s *Screen) silentNodes() []line {
	var said []string
	for i := range s.view.Nodes {
		if n := &s.view.Nodes[i]; n.Error != "" {
			said = append(said, fmt.Sprintf("%s silent since %s", shown(n.Name), s.silent[n.Name].Format(clock)))
		}
	}
	if said == nil {
		return nil
	}
	return []line{{strings.Join(said, ", "), critical}}
}

// problems are what is wrong, in so many lines: with what to do if there is room for it, and otherwise a line for each of the worst.
func (s *Screen) problems(room int) []line {
	problems := s.view.Problems
	if len(problems) == 0 {
		return []line{{"no problems", good}}
	}
	if all := problemLines(problems, s.width); len(all) <= room {
		return all
	}
	shownNow := min(len(problems), max(room-1, 1))
	var lines []line
	for i := range problems[:shownNow] {
		short := activity.Problem{Severity: problems[i].Severity, What: problems[i].What}
		lines = append(lines, line{shouted(&short), looks[short.Severity]})
	}
	hint := "p shows what to do"
	if more := len(problems) - shownNow; more > 0 {
		hint = fmt.Sprintf("%d more: p shows them, and what to do", more)
	}
	if room == 1 {
		lines[0].text = cut(lines[0].text, s.width-len(hint)-gap-2) + "  (" + hint + ")"
		return lines
	}
	return append(lines, line{hint, quiet})
}

// looks are those of problems.
var looks = map[string]look{activity.Critical: critical, activity.Warning: warning}

// problemLines are problems with what to do, the worst first, as wide as the screen.
func problemLines(problems []activity.Problem, width int) (lines []line) {
	for i := range problems {
		p := &problems[i]
		for at, text := range wrapped(shouted(p), width-2) {
			if at > 0 {
				text = "  " + text
			}
			lines = append(lines, line{text, looks[p.Severity]})
		}
	}
	return lines
}

// shouted is a problem in a line, with its severity in capitals where it is critical.
func shouted(p *activity.Problem) string {
	severity, rest, _ := strings.Cut(Problem(p), ":")
	if p.Severity == activity.Critical {
		severity = strings.ToUpper(severity)
	}
	return shown(severity) + ":" + rest
}
