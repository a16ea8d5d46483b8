package top

import (
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// tableOf is the table that the options ask for.
func tableOf(v *activity.View, o *Options) table {
	var t table
	switch o.By {
	case Keys:
		t = tableOfKeys(busyKeys(v), "")
	case Nodes:
		t = tableOfNodes(v.Nodes)
	case Gateways:
		t = tableOfGateways(v.Gateways)
	default:
		t = tableOfLimits(v.Limits)
	}
	t.rows = o.apply(t.rows)
	return t
}

func tableOfLimits(limits []activity.LimitRates) table {
	t := table{columns: []column{
		{title: "allowed/s", right: true},
		{title: "denied/s", right: true},
		{title: "failed-open/s", right: true, drop: 2},
		{title: "failed-closed/s", right: true, drop: 3},
		{title: "errors/s", right: true, drop: 1},
		{title: "denied", right: true, least: 6},
		{title: "used", right: true, least: 6},
		{title: "limit", least: leastName},
	}}
	for i := range limits {
		l := &limits[i]
		t.rows = append(t.rows, row{
			says: func() []string {
				return []string{
					rate(l.Allowed), rate(l.Denied), rate(l.FailedOpen), rate(l.FailedClosed), rate(l.Errors), share(l.DeniedShare), share(l.Used), shown(l.Name),
				}
			},
			name:    l.Name,
			traffic: l.Allowed + l.Denied + l.FailedOpen + l.FailedClosed, denials: l.Denied, used: l.Used,
			look: alarm(l.FailedOpen+l.FailedClosed+l.Errors > 0, false),
		})
	}
	return t
}

func tableOfNodes(nodes []activity.NodeRates) table {
	t := table{columns: []column{
		{title: "node", most: 24},
		{title: "allowed/s", right: true},
		{title: "denied/s", right: true},
		{title: "errors/s", right: true},
		{title: "p50ms", right: true, least: 5, drop: 5},
		{title: "p99ms", right: true, least: 5},
		{title: "fsync", right: true, least: 5, drop: 4},
		{title: "awake", right: true, drop: 6},
		{title: "waiting", right: true, drop: 3},
		{title: "memory", right: true, drop: 2},
		{title: "disk-free", right: true, drop: 7},
		{title: "version", most: 16, drop: 8},
		{title: "state", keep: 36},
	}}
	for i := range nodes {
		n := &nodes[i]
		r := row{
			says: func() []string { return cellsOfNode(n) },
			name: n.Name, traffic: n.Allowed + n.Denied, denials: n.Denied, look: alarm(n.Ready != "" || n.Errors > 0, n.Error != ""),
		}
		if n.MemoryBudget > 0 {
			r.used = float64(n.MemoryHeld) / float64(n.MemoryBudget)
		}
		t.rows = append(t.rows, r)
	}
	return t
}

func cellsOfNode(n *activity.NodeRates) []string {
	cells := []string{
		shown(n.Name), rate(n.Allowed), rate(n.Denied), rate(n.Errors), milliseconds(n.P50), milliseconds(n.P99), milliseconds(n.FsyncP99),
		strconv.Itoa(n.Awake), strconv.Itoa(n.Waiting), memory(n), size(n.DiskFree), shown(orNone(n.Version)), state(n),
	}
	for at := 1; at < len(cells)-1 && n.Error != ""; at++ {
		cells[at] = none
	}
	return cells
}

// memory is what a node's keys take, of what they may take if that has a bound.
func memory(n *activity.NodeRates) string {
	if n.MemoryBudget <= 0 {
		return size(n.MemoryHeld)
	}
	return partOf(n.MemoryHeld, n.MemoryBudget)
}

// state says in words how a node is.
func state(n *activity.NodeRates) string {
	switch {
	case n.Error != "":
		return "silent: " + shown(n.Error)
	case n.Ready != "":
		return shown(n.Ready)
	}
	return "up"
}

func tableOfGateways(gateways []activity.GatewayRates) table {
	t := table{columns: []column{
		{title: "gateway", most: 24},
		{title: "allowed/s", right: true},
		{title: "denied/s", right: true},
		{title: "failed-open/s", right: true},
		{title: "failed-closed/s", right: true},
		{title: "p50ms", right: true, least: 5, drop: 3},
		{title: "p99ms", right: true, least: 5, drop: 1},
		{title: "version", most: 16, drop: 4},
		{title: "admin"},
	}}
	for i := range gateways {
		g := &gateways[i]
		t.rows = append(t.rows, row{
			says: func() []string {
				last := shown(orNone(g.Admin))
				if g.Silent > 0 {
					last = "silent for " + plain.Duration(time.Duration(g.Silent)*time.Second) + ", " + last
				}
				return []string{
					shown(g.Name), rate(g.Allowed), rate(g.Denied), rate(g.FailedOpen), rate(g.FailedClosed), milliseconds(g.P50), milliseconds(g.P99),
					shown(orNone(g.Version)), last,
				}
			},
			name: g.Name, traffic: g.Allowed + g.Denied + g.FailedOpen + g.FailedClosed, denials: g.Denied, look: alarm(g.FailedOpen+g.FailedClosed+g.Silent > 0, false),
		})
	}
	return t
}
