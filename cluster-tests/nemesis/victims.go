package nemesis

// victims are the nodes, or the gateways, that something is done to: some, by their numbers from 0, or all that there are at the time.
type victims struct {
	numbers  []int
	gateways bool
	all      bool
}

func (v victims) who() string {
	switch {
	case v.all && v.gateways:
		return "all gateways"
	case v.all:
		return "all nodes"
	case v.gateways:
		return gatewayNames(v.numbers...)
	}
	return names(v.numbers...)
}

func (v victims) be() string {
	if v.all || len(v.numbers) > 1 {
		return "are"
	}
	return "is"
}

func (v victims) hosts(s *Stage) (hosts []*host) {
	switch {
	case v.all && v.gateways:
		return s.edges
	case v.all:
		return s.members()
	}
	for _, n := range v.numbers {
		if v.gateways {
			hosts = append(hosts, s.edges[n])
		} else {
			hosts = append(hosts, s.host(n))
		}
	}
	return hosts
}

// each does something to one after the other, until it fails.
func (v victims) each(s *Stage, do func(*host) error) error {
	for _, h := range v.hosts(s) {
		if err := do(h); err != nil {
			return err
		}
	}
	return nil
}
