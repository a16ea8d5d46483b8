package doctor

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// A judge writes a report.
type judge struct {
	at     time.Time
	report *Report
}

// A finding is what is wrong, without how bad it is and the page that says more.
type finding struct {
	node     string // that it is about; empty for none
	what, do string
}

func (j *judge) critical(h heading, f finding) { j.say(activity.Critical, h, f) }
func (j *judge) warning(h heading, f finding)  { j.say(activity.Warning, h, f) }
func (j *judge) notice(h heading, f finding)   { j.say(activity.Notice, h, f) }

func (j *judge) say(severity string, h heading, f finding) {
	j.report.Findings = append(j.report.Findings, activity.Problem{Severity: severity, What: plain.Text(f.what), Do: plain.Text(f.do), Node: f.node, More: h.anchor()})
}

// sees notes what was looked at, whether something is wrong with it or not.
func (j *judge) sees(subject, format string, args ...any) {
	j.report.Seen = append(j.report.Seen, Seen{subject, plain.Text(fmt.Sprintf(format, args...))})
}

// unknown notes what cannot be told, and why.
func (j *judge) unknown(subject, format string, args ...any) {
	j.report.Unknown = append(j.report.Unknown, Seen{subject, plain.Text(fmt.Sprintf(format, args...))})
}
