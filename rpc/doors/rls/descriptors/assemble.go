package descriptors

import (
	"cmp"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An assembler makes Domains of trees.
type assembler struct {
	made  *Domains
	merge bool // a domain may stand in several files
	parts map[string]*part
}

// A part is what is known of one domain while it is made.
type part struct {
	domain *Domain
	place  string           // of the first file that has it
	orders int              // of the nodes of all its files
	places map[Entry]string // where each descriptor at the top stands
	names  map[string]bool  // of the limits in all its files
}

// assemble makes Domains of n trees. A tree is nil if its report has problems.
func assemble(n int, merge bool, treeOf func(i int, r *report) *tree) (*Domains, []Problem) {
	a := assembler{made: &Domains{byName: map[string]*Domain{}}, merge: merge, parts: map[string]*part{}}
	reports, trees := make([]report, n), make([]*tree, n)
	for i := range n {
		if trees[i] = treeOf(i, &reports[i]); trees[i] != nil {
			a.add(trees[i], &reports[i])
		}
	}
	var problems []Problem
	for i, t := range trees {
		r := &reports[i]
		if t != nil {
			unknownReplaces(t.branches, a.parts[t.domain].names, r)
		}
		inOrder(r.problems)
		inOrder(r.notes)
		problems = append(problems, r.problems...)
		a.made.Notes = append(a.made.Notes, r.notes...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for i, r := range a.made.Rules {
		r.Index = i
	}
	return a.made, nil
}

func inOrder(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// add takes in the domain of one file.
func (a *assembler) add(t *tree, r *report) {
	p := a.parts[t.domain]
	switch {
	case p == nil:
		p = &part{domain: &Domain{Name: t.domain}, place: place(r.file, t.line), places: map[Entry]string{}, names: map[string]bool{}}
		a.parts[t.domain], a.made.byName[t.domain] = p, p.domain
	case !a.merge:
		r.add(t.line, "domain", "%s is the domain of %s already: write all descriptors of a domain into one file", limit.Quote(t.domain), p.place)
		return
	}
	b := builder{report: r, orders: p.orders}
	top := b.level(t.branches, t.domain, false)
	p.orders = b.orders
	p.join(top, t.branches, r)
	a.made.Rules = append(a.made.Rules, b.rules...)
}

// join takes in the level at the top of one more file, made of branches. The builder has compared these with one another.
func (p *part) join(top *level, branches []*branch, r *report) {
	for _, br := range branches {
		if before := p.places[Entry{br.key, br.value}]; before != "" {
			r.add(br.line, br.field, "has the key and the value of %s: write the descriptor once", before)
		}
	}
	for _, br := range branches {
		p.places[Entry{br.key, br.value}] = place(r.file, br.line)
	}
	each(branches, func(b *branch) {
		if b.rate != nil {
			p.names[b.rate.name] = true
		}
	})
	switch {
	case p.domain.top == nil:
		p.domain.top = top
	case top != nil:
		p.domain.top.join(top)
	}
}
