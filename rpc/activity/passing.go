package activity

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// mostStrange is how many limits that no node knows a View has because gateways tell of them.
const mostStrange = 100

// compareGateways adds what gateways did. A gateway tells every two seconds: its rates are those between the last two times.
func (v *View) compareGateways(after *Look, limits map[string]*LimitRates) {
	newest, silent, most := map[string]*Gateway{}, map[string]time.Duration{}, len(limits)+mostStrange
	left := after.left()
	for i := range after.Nodes {
		for j := range after.Nodes[i].Gateways {
			g := &after.Nodes[i].Gateways[j]
			if g.Leaves || !g.Now.After(left[g.Name]) {
				continue
			}
			if other := newest[g.Name]; other == nil || g.newer(other) {
				newest[g.Name], silent[g.Name] = g, after.Nodes[i].Now.Sub(g.Now)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		g := newest[name]
		r := GatewayRates{Name: g.Name, Version: g.Version, Admin: g.Admin, Started: g.Started, Requests: map[string]float64{}}
		was, seconds := g.Before, 0.0
		switch {
		case silent[name] > silentAfter:
			r.Silent = silent[name].Seconds()
		case was != nil && was.Started.Equal(g.Started):
			seconds = g.Now.Sub(was.Now).Seconds()
		}
		if seconds <= 0 {
			was = &Gateway{}
		}
		for outcome, n := range g.Requests {
			r.Requests[outcome] = perSecond(max(0, n-was.Requests[outcome]), seconds)
		}
		r.Allowed, r.Denied = r.Requests["admitted"], r.Requests["denied"]
		r.FailedOpen, r.FailedClosed = r.Requests["fail_open"], r.Requests["unavailable"]
		g.addTo(limits, most, was, seconds)
		if seconds > 0 {
			r.P50, r.P99 = quantiles(g.Latency.Since(was.Latency))
		}
		v.Gateways = append(v.Gateways, r)
	}
}

// left is when gateways have told a node that they stop, by name.
func (l *Look) left() map[string]time.Time {
	left := map[string]time.Time{}
	for i := range l.Nodes {
		for j := range l.Nodes[i].Gateways {
			if g := &l.Nodes[i].Gateways[j]; g.Leaves && g.Now.After(left[g.Name]) {
				left[g.Name] = g.Now
			}
		}
	}
	return left
}

// addTo adds what a gateway has decided itself, and let pass or refused without a decision, since it told something else; a limit that no node knows only
// as long as there are not most of them, and none that it may have left out before: its count is since the gateway started. What is left out is in the
// gateway's own rates.
func (g *Gateway) addTo(limits map[string]*LimitRates, most int, was *Gateway, seconds float64) {
	before := was.LimitNames()
	for _, name := range g.LimitNames() {
		_, told := slices.BinarySearch(before, name)
		if limits[name] == nil && len(limits) >= most || was.Partial && !told {
			continue
		}
		l := limitOf(limits, name)
		l.FailedOpen += perSecond(max(0, g.FailedOpen[name]-was.FailedOpen[name]), seconds)
		l.FailedClosed += perSecond(max(0, g.FailedClosed[name]-was.FailedClosed[name]), seconds)
		l.Allowed += perSecond(max(0, g.Limits[name].Allowed-was.Limits[name].Allowed), seconds)
		l.Denied += perSecond(max(0, g.Limits[name].Denied-was.Limits[name].Denied), seconds)
	}
}

// LimitNames are the names of the limits of which a gateway tells something, sorted.
func (g *Gateway) LimitNames() []string {
	names := slices.Collect(maps.Keys(g.FailedOpen))
	names = slices.AppendSeq(slices.AppendSeq(names, maps.Keys(g.FailedClosed)), maps.Keys(g.Limits))
	slices.Sort(names)
	return slices.Compact(names)
}

// newer says whether g was told after what another node was told under the same name.
func (g *Gateway) newer(other *Gateway) bool {
	return cmp.Or(g.Started.Compare(other.Started), cmp.Compare(sum(g.Requests), sum(other.Requests)), g.Now.Compare(other.Now)) > 0
}

func sum(of map[string]float64) (n float64) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		n += of[name]
	}
	return n
}
