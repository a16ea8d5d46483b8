package top

import (
	"cmp"
	"slices"
	"strings"
)

// What a table is of.
const (
	Limits   = "limits"
	Keys     = "keys"
	Nodes    = "nodes"
	Gateways = "gateways"
)

// Tables are what tables there are, in their order.
func Tables() []string { return []string{Limits, Keys, Nodes, Gateways} }

// What the rows of a table are ordered by, the highest first.
const (
	Traffic     = "traffic"
	Denials     = "denials"
	Utilization = "utilization"
)

// Orders are what rows can be ordered by.
func Orders() []string { return []string{Traffic, Denials, Utilization} }

// Options say which rows a table has, and in which order.
type Options struct {
	By      string // one of Tables
	Sort    string // one of Orders
	Reverse bool   // the lowest first
	Filter  string // only rows whose name has this in it; upper and lower case are the same
	Top     int    // how many rows at most; 0 is all
}

// apply leaves the rows that the options ask for, in their order.
func (o *Options) apply(rows []row) []row {
	filter := strings.ToLower(o.Filter)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !strings.Contains(strings.ToLower(r.name), filter) })
	slices.SortStableFunc(rows, func(a, b row) int {
		order := cmp.Or(cmp.Compare(o.value(b), o.value(a)), cmp.Compare(b.traffic, a.traffic))
		if o.Reverse {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.name, b.name), cmp.Compare(a.node, b.node))
	})
	if o.Top > 0 && len(rows) > o.Top {
		rows = rows[:o.Top]
	}
	return rows
}

// value is what a row is ordered by.
func (o *Options) value(r row) float64 {
	switch o.Sort {
	case Denials:
		return r.denials
	case Utilization:
		return r.used
	}
	return r.traffic
}
