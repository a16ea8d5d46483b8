package activity

import (
	"cmp"
	"maps"
	"slices"
)

// Compare says what was done between two looks. Before may be an empty Look: then there are no rates of nodes. A node that has started
// anew counts from zero, and one that did not tell in both looks has no rates.
func Compare(before, after Look) View {
	v := View{
		At: after.At, Asked: after.Asked, Cluster: after.Cluster,
		Problems: []Problem{}, Limits: []LimitRates{}, Nodes: []NodeRates{}, Keys: []Key{}, Denied: []Key{}, Gateways: []GatewayRates{},
	}
	if !before.At.IsZero() {
		v.Seconds = max(0, after.At.Sub(before.At).Seconds())
	}
	limits, latency := map[string]*LimitRates{}, Histogram{}
	for i := range after.Nodes {
		d := since(&before, &after.Nodes[i], v.Seconds)
		v.Nodes = append(v.Nodes, d.rates())
		d.addTo(limits)
		latency = latency.Plus(d.latency)
	}
	v.compareGateways(&after, limits)
	v.Keys, v.Denied = mergeKeys(after.Nodes)
	v.sortLimits(limits)
	for i := range v.Limits {
		v.Total.Allowed += v.Limits[i].Allowed
		v.Total.Denied += v.Limits[i].Denied
		v.Total.Errors += v.Limits[i].Errors
	}
	for i := range v.Gateways {
		v.Total.FailedOpen += v.Gateways[i].FailedOpen
		v.Total.FailedClosed += v.Gateways[i].FailedClosed
	}
	v.Total.P50, v.Total.P99 = quantiles(latency)
	v.Problems = problems(&v, &before, &after)
	return v
}

// sortLimits puts limits into the View, the busiest first.
func (v *View) sortLimits(limits map[string]*LimitRates) {
	for i := range v.Keys {
		for _, b := range v.Keys[i].Buckets {
			if l := limits[b.Limit]; l != nil {
				l.Used = max(l.Used, b.Used)
			}
		}
	}
	for _, l := range limits {
		if n := l.Allowed + l.Denied; n > 0 {
			l.DeniedShare = l.Denied / n
		}
		v.Limits = append(v.Limits, *l)
	}
	slices.SortFunc(v.Limits, func(a, b LimitRates) int {
		return cmp.Or(cmp.Compare(b.traffic(), a.traffic()), cmp.Compare(a.Name, b.Name))
	})
}

// traffic is by how much a limit is busy.
func (l *LimitRates) traffic() float64 { return l.Allowed + l.Denied + l.FailedOpen + l.FailedClosed }

// A done is what a node did between two looks.
type done struct {
	node    *Node
	seconds float64 // 0: nothing is known of it
	limits  map[string]Counts
	latency Histogram
	fsync   Histogram
}

// since is what a node did since the look before.
func since(before *Look, n *Node, seconds float64) done {
	d := done{node: n, limits: map[string]Counts{}}
	was := before.node(n)
	switch {
	case n.Error != "" || seconds <= 0:
	case was != nil && was.Started.Equal(n.Started):
		d.seconds = between(was.Now, n.Now, seconds)
	case was != nil, n.Now.Sub(n.Started).Seconds() < seconds: // it has started anew
		was, d.seconds = &Node{}, seconds
	}
	if d.seconds == 0 {
		for name := range n.Limits {
			d.limits[name] = Counts{}
		}
		return d
	}
	for name, now := range n.Limits {
		then := was.Limits[name]
		d.limits[name] = Counts{
			Allowed: max(0, now.Allowed-then.Allowed), Denied: max(0, now.Denied-then.Denied), Spared: max(0, now.Spared-then.Spared),
			Errors: max(0, now.Errors-then.Errors),
		}
	}
	d.latency, d.fsync = n.Latency.Since(was.Latency), n.Fsync.Since(was.Fsync)
	return d
}

// addTo adds what limits said on the node.
func (d *done) addTo(limits map[string]*LimitRates) {
	for name, c := range d.limits {
		l := limitOf(limits, name)
		l.Allowed += perSecond(c.Allowed, d.seconds)
		l.Denied += perSecond(c.Denied, d.seconds)
		l.Errors += perSecond(c.Errors, d.seconds)
	}
}

// rates are those of the node.
func (d *done) rates() NodeRates {
	n := d.node
	r := NodeRates{
		Name: n.Name, Error: n.Error, Version: n.Version, Started: n.Started, Awake: n.Awake, Dormant: n.Dormant, Waiting: n.Waiting,
		MemoryHeld: n.MemoryHeld, MemoryBudget: n.MemoryBudget, DiskUsed: n.DiskUsed, DiskFree: n.DiskFree, Ready: n.Ready,
	}
	for _, name := range slices.Sorted(maps.Keys(d.limits)) {
		r.Allowed += perSecond(d.limits[name].Allowed, d.seconds)
		r.Denied += perSecond(d.limits[name].Denied, d.seconds)
		r.Errors += perSecond(d.limits[name].Errors, d.seconds)
	}
	r.P50, r.P99 = quantiles(d.latency)
	_, r.FsyncP99 = quantiles(d.fsync)
	return r
}
