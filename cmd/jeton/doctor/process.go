package doctor

import (
	"fmt"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
)

// descriptors are the files that the node may have open.
func descriptors(j *judge, m *facts.Machine) {
	f := &m.Files
	if f.Unknown != "" || f.Limit == 0 {
		j.unknown("open files", "how many there may be: %s", f.Unknown)
		return
	}
	whose := "a process that is started from here"
	if f.Of > 0 {
		whose = "the node"
	} else {
		j.unknown("open files", "how many a node that something else starts may have: systemd has LimitNOFILE")
	}
	j.sees("open files", "%s may have %d", whose, f.Limit)
	if f.Limit < descriptorsWarn {
		j.warning(fewDescriptors, finding{
			what: fmt.Sprintf("%s may have only %d files open: each connection is one, and a node keeps up to 2048 for itself", whose, f.Limit),
			do:   "Raise it: LimitNOFILE=65536 in a unit of systemd, ulimit -Hn in a shell, --ulimit nofile of a container.",
		})
	}
	if float64(f.Open) > descriptorsUsed*float64(f.Limit) {
		j.warning(fewDescriptors, finding{
			what: fmt.Sprintf("the node has %d files open, and may have %d", f.Open, f.Limit),
			do:   "Raise the limit, such as by LimitNOFILE, and see which callers have many connections.",
		})
	}
}

// memory is what the node may take, and what there is.
func memory(j *judge, m *facts.Machine) {
	of := &m.Memory
	switch {
	case of.There == 0:
		j.unknown("memory", "how much there is")
	case of.Bound == 0:
		j.sees("memory", "the node has no bound (%s), and %s has %s", of.Source, of.Of, size(of.There))
		j.warning(muchMemory, finding{
			what: "the node's memory has no bound",
			do:   "Leave GOMEMLIMIT=off out: with a bound the node gives up what keys can do without, and without it the kernel kills the node.",
		})
	default:
		bound := uint64(of.Bound) //nolint:gosec // it is more than 0
		j.sees("memory", "the node stays below %s (%s), and %s has %s", size(bound), of.Source, of.Of, size(of.There))
		if float64(bound) > (1-memoryRoom)*float64(of.There) {
			j.warning(muchMemory, finding{
				what: fmt.Sprintf("the node may take %s, by %s, and %s has only %s", size(bound), of.Source, of.Of, size(of.There)),
				do:   "Give less, or leave --memory and GOMEMLIMIT out: the node then takes three quarters of what there is.",
			})
		}
	}
	if of.Killed > 0 {
		j.warning(memoryKilled, finding{
			what: fmt.Sprintf("the kernel has killed %d processes of the node's control group for want of memory", of.Killed),
			do:   "Give the node less memory (--memory), or its control group more.",
		})
	}
}

// processors are what the node computes with.
func processors(j *judge, m *facts.Machine) {
	p := &m.Processors
	if p.Quota == 0 {
		j.sees("processors", "%d", p.Count)
		return
	}
	j.sees("processors", "%d, of which the control group may use %.2g", p.Count, p.Quota)
	if p.Quota < processorsWarn {
		j.warning(littleProcessor, finding{
			what: fmt.Sprintf("the control group may use %.2g of a processor: when that is used up, the node stands still for the rest of each tenth of a second", p.Quota),
			do:   "Allow one processor at least, or better none but a share of them (a request, and no limit).",
		})
	}
	if p.Periods >= enoughPeriods && float64(p.Throttled) > throttledWarns*float64(p.Periods) {
		j.warning(littleProcessor, finding{
			what: fmt.Sprintf("the control group had used up its processors in %d %% of the periods in which it did something", 100*p.Throttled/p.Periods),
			do:   "Raise or remove its quota: while it is used up, every check waits.",
		})
	}
}
