package doctor

import (
	"fmt"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
)

// ports are where the node listens, or will.
func ports(j *judge, m *facts.Machine) {
	node, known := m.Folder.Holder, m.Folder.LockUnknown == ""
	for i := range m.Ports {
		p := &m.Ports[i]
		at := fmt.Sprintf("%s (--%s, %s)", p.Address, p.Option, p.Network)
		switch {
		case p.Wrong != "":
			j.critical(portWrong, finding{
				what: "nothing can listen at " + at + ": " + p.Wrong,
				do:   "Give an address of this machine, or only a port, such as :7700. Ports below 1024 take a right of their own.",
			})
		case !p.Taken && node > 0:
			j.warning(otherOptions, finding{
				what: "a node runs on the data folder, and nothing listens at " + at,
				do:   "Run jeton doctor with the options that the node was started with, or start the node again if they have changed since.",
			})
		case !p.Taken:
			j.sees("port", "%s is free", at)
		case node > 0 && (p.Holder == node || p.Holder == 0), node == 0 && !known:
			j.sees("port", "%s is taken, as it should be while the node runs", at)
		case p.Program == "jeton":
			j.critical(otherOptions, finding{
				what: at + " is taken" + by(p) + ", which does not have this data folder open",
				do:   "If that is the node, name its data folder with --data. If not, give one of the two another address.",
			})
		default:
			j.critical(portTaken, finding{
				what: at + " is taken" + by(p),
				do:   "End what listens there, or give the node another address.",
			})
		}
	}
}

// by says who listens at a port.
func by(p *facts.Port) string {
	text := ""
	if p.Holder > 0 {
		text = fmt.Sprintf(" by %s, process %d", p.Program, p.Holder)
	}
	switch p.Speaks {
	case "", "none", "other":
		return text
	}
	return text + ", and speaks " + p.Speaks
}
