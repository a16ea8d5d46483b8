package activity

import (
	"cmp"
	"slices"
)

// problems are what is wrong, the worst first.
func problems(v *View, before, after *Look) []Problem {
	f := &finder{view: v, before: before, after: after, found: []Problem{}}
	for _, find := range []func(*finder){
		(*finder).deciding, (*finder).undecided, (*finder).gateways, (*finder).nodes, (*finder).inDanger, (*finder).clocks, (*finder).memory,
		(*finder).disks, (*finder).leader, (*finder).keptOut, (*finder).moves, (*finder).denials, (*finder).hot, (*finder).nearlyUsed, (*finder).versions,
	} {
		find(f)
	}
	order := []string{Critical, Warning, Notice}
	slices.SortStableFunc(f.found, func(a, b Problem) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return f.found
}
