package doctor

import "github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"

// join are the addresses at which the node looks for others.
func join(j *judge, m *facts.Machine) {
	for _, other := range m.Join {
		if other.Wrong != "" {
			j.warning(joinUnresolved, finding{
				what: "the host of " + other.Address + " (--join) has no address: " + other.Wrong,
				do:   "Correct the name, or what resolves it: an empty node finds the others at these addresses only.",
			})
			continue
		}
		j.sees("join", "the host of %s has an address", other.Address)
	}
}
