package doctor

import (
	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
)

// options are those of the node, together.
func options(j *judge, m *facts.Machine) {
	if m.Wrong != "" {
		j.critical(optionsWrong, finding{what: "the node does not start with these options: " + m.Wrong, do: "Change the option that is named."})
	}
	if m.InMemory {
		j.warning(memoryOnly, finding{
			what: "--durability memory: a node that was killed has forgotten what it granted, and counts every bucket as emptied when it starts",
			do:   "Leave it out, so that decisions are on disk before they count; memory is for tests, and for limits that may be stricter after a crash.",
		})
	}
}

// folder is the data folder: whose it is, and whether a node can use it.
func folder(j *judge, m *facts.Machine) {
	f := &m.Folder
	switch {
	case f.Wrong != "":
		j.critical(folderWrong, finding{what: "the data folder cannot be used: " + f.Wrong, do: "Give another folder with --data, or do what the error says."})
		return
	case f.Format == 0:
		j.sees("data folder", "%s: nothing is in it yet", f.Path)
		return
	}
	whose, open := "of a node that has never been in a cluster", "no node has it open"
	switch {
	case f.Cluster != "":
		whose = "of node " + f.Node + " in cluster " + f.Cluster
	case f.Node != "":
		whose = "of node " + f.Node
	}
	switch {
	case f.Holder > 0:
		open = "a node has it open"
	case f.LockUnknown != "":
		open = "it is not known whether a node has it open"
		j.unknown("data folder", "whether a node has it open: %s", f.LockUnknown)
	}
	j.sees("data folder", "%s: format %d, %s; %s", f.Path, f.Format, whose, open)
	if f.Renewing {
		j.warning(folderRenewed, finding{
			what: "the data folder is an old copy, and is emptied when the node starts",
			do:   "Nothing: the node joins its cluster again, and gets its registers from the others.",
		})
	}
}
