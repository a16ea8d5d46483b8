// Package doctor judges what was found out about a machine and a cluster ([facts]): what is wrong, and what to do. It looks at nothing by itself, so
// that every judgement is a function of facts.
//
// A subject is a function of a file that bears its name; [Judge] has the list. What it finds has a heading of docs/doctor.md, of which heading.go
// has the list. What is wrong right now at nodes, of which jeton top and the console tell too, is found by package activity, and stands here in the
// same words.
package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// Facts are what was found out.
type Facts struct {
	At      time.Time
	Machine *facts.Machine // nil: it was not looked at
	Cluster *facts.Cluster // likewise
}

// Judge says what is wrong, the worst first.
func Judge(f *Facts) *Report {
	j := &judge{at: f.At, report: &Report{At: f.At, Findings: []activity.Problem{}, Seen: []Seen{}, Unknown: []Seen{}}}
	if m := f.Machine; m != nil {
		j.report.Machine = m.User
		for _, subject := range []func(*judge, *facts.Machine){options, folder, fsync, fileSystem, room, descriptors, memory, processors, clock, ports, join, named} {
			subject(j, m)
		}
	}
	if c := f.Cluster; c != nil {
		j.report.Server = c.Server
		for _, subject := range []func(*judge, *facts.Cluster){problems, reached, paths, certificates, limits, zones, members, durability, overrides, gateways} {
			subject(j, c)
		}
	}
	order := []string{activity.Critical, activity.Warning, activity.Notice}
	slices.SortStableFunc(j.report.Findings, func(a, b activity.Problem) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return j.report
}
