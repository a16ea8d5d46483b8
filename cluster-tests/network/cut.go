package network

import "slices"

// change makes cuts and mends others. What is so already stays so.
func (l *Lab) changeLocked(made, mended []cut) {
	l.t.Helper()
	var lines []string
	for _, c := range made {
		if !l.cuts[c] {
			l.cuts[c] = true
			lines = append(lines, "rule add "+c.rule())
		}
	}
	for _, c := range mended {
		if l.cuts[c] {
			delete(l.cuts, c)
			lines = append(lines, "rule del "+c.rule())
		}
	}
	if len(lines) == 0 {
		return
	}
	if err := l.batch(lines...); err != nil {
		l.t.Fatal(err)
	}
}

// between are the cuts of all that each of some hosts and each of others send each other.
func (l *Lab) betweenLocked(some, others []string, tcp bool) []cut {
	l.t.Helper()
	var cuts []cut
	for _, a := range some {
		for _, b := range others {
			if a != b {
				from, to := l.hostLocked(a).address, l.hostLocked(b).address
				cuts = append(cuts, cut{from, to, tcp}, cut{to, from, tcp})
			}
		}
	}
	return cuts
}

// Cut drops all that two hosts send each other, from now on.
func (l *Lab) Cut(a, b string) { l.Split([]string{a}, []string{b}) }

// Split drops all that each of some hosts and each of others send each other. Hosts in neither list still reach every host.
func (l *Lab) Split(some, others []string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changeLocked(l.betweenLocked(some, others, false), nil)
}

// CutOneWay drops all that one host sends another one, and nothing that comes back.
func (l *Lab) CutOneWay(from, to string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changeLocked([]cut{{l.hostLocked(from).address, l.hostLocked(to).address, false}}, nil)
}

// CutTCP drops what two hosts send each other over TCP. Datagrams still arrive.
func (l *Lab) CutTCP(a, b string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changeLocked(l.betweenLocked([]string{a}, []string{b}, true), nil)
}

// Isolate cuts a host from all hosts that there are, except some.
func (l *Lab) Isolate(name string, except ...string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(l.names), func(other string) bool { return slices.Contains(except, other) })
	l.changeLocked(l.betweenLocked([]string{name}, others, false), nil)
}

// Mend ends all cuts between two hosts, of every kind and in both directions.
func (l *Lab) Mend(a, b string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changeLocked(nil, append(
		l.betweenLocked([]string{a}, []string{b}, false),
		l.betweenLocked([]string{a}, []string{b}, true)...))
}

// Heal ends all cuts.
func (l *Lab) Heal() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []cut
	for c := range l.cuts {
		all = append(all, c)
	}
	l.changeLocked(nil, all)
}
