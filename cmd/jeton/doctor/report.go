package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/build"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// A Report is what was found.
type Report struct {
	At       time.Time          `json:"at"`
	Machine  string             `json:"machine,omitempty"` // the user as which it was looked at; empty: it was not
	Server   string             `json:"server,omitempty"`  // the node that was asked about the cluster; empty: none was
	Findings []activity.Problem `json:"findings"`          // the worst first
	Seen     []Seen             `json:"seen"`              // what was looked at
	Unknown  []Seen             `json:"unknown"`           // what cannot be told, and why
}

// Seen is something that was looked at.
type Seen struct {
	Subject string `json:"subject"`
	Says    string `json:"says"`
}

// Least leaves out findings that are less bad than a severity.
func (r *Report) Least(severity string) {
	order := []string{activity.Critical, activity.Warning, activity.Notice}
	r.Findings = slices.DeleteFunc(r.Findings, func(f activity.Problem) bool { return slices.Index(order, f.Severity) > slices.Index(order, severity) })
}

// Write writes the report for people.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	list(&b, "looked at", r.Seen)
	list(&b, "cannot be told from here", r.Unknown)
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(&b, "%s: %s\n    %s\n    %s\n\n", f.Severity, f.What, f.Do, build.Page(f.More))
	}
	b.WriteString(r.count() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// list writes a title, and a line for each thing.
func list(b *strings.Builder, title string, all []Seen) {
	if len(all) == 0 {
		return
	}
	b.WriteString(title + ":\n")
	for _, s := range all {
		fmt.Fprintf(b, "  %-12s %s\n", s.Subject, s.Says)
	}
	b.WriteString("\n")
}

// count says how many findings there are.
func (r *Report) count() string {
	if len(r.Findings) == 0 {
		return "nothing found"
	}
	var said []string
	for _, severity := range []string{activity.Critical, activity.Warning, activity.Notice} {
		n := 0
		for i := range r.Findings {
			if r.Findings[i].Severity == severity {
				n++
			}
		}
		if n > 0 {
			several := map[string]string{activity.Warning: "warnings", activity.Notice: "notices"}[severity]
			said = append(said, fmt.Sprintf("%d %s", n, plain.Plural(n, severity, cmp.Or(several, severity))))
		}
	}
	return fmt.Sprintf("found: %s", strings.Join(said, ", "))
}
