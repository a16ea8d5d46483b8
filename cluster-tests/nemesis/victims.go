package nemesis

// victims are the nodes that something is done to: some, by their numbers from 0, or all that there are at the time.
type victims struct {
	nodes []int
	all   bool
}

func (v victims) who() string {
	if v.all {
		return "all nodes"
	}
	return names(v.nodes...)
}

func (v victims) be() string {
	if v.all || len(v.nodes) > 1 {
		return "are"
	}
	return "is"
}

func (v victims) hosts(s *Stage) (hosts []*host) {
	if v.all {
		return s.members()
	}
	for _, n := range v.nodes {
		hosts = append(hosts, s.host(n))
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
