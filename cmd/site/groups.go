package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// pagesHeading is the section of README.md whose list puts pages in groups: "- Running it: [a cluster](docs/run-a-cluster.md), …".
const pagesHeading = "Pages"

// A group is pages that belong together.
type group struct {
	name  string
	pages []*entry
}

// An entry is a page, and the pages below it.
type entry struct {
	*page

	below []*entry
}

// arrange puts every page in one place: those of the list in README.md in its groups, others that README.md links to after them, and
// what README.md does not link to below the page that does, and leads to most such pages.
func arrange(b *book) ([]group, error) {
	placed := map[string]bool{}
	of := func(names []string) (entries []*entry) {
		for _, name := range names {
			if !placed[name] {
				placed[name] = true
				entries = append(entries, &entry{page: b.pages[name]})
			}
		}
		return entries
	}
	first := b.pages[start]
	groups := []group{{"Start", of([]string{start})}}
	project := slices.DeleteFunc(slices.Clone(b.order), func(name string) bool { return strings.Contains(name, "/") })
	last := group{"The project", of(project)}
	for _, item := range first.items(pagesHeading) {
		name, _, ok := strings.Cut(plainText(item, first.text), ":")
		if !ok {
			return nil, fmt.Errorf("%s: an item under %s is a name, a colon, and links to pages: %.40q", start, pagesHeading, name)
		}
		groups = append(groups, group{name, of(first.leadsIn(item))})
	}
	if len(groups) == 1 {
		return nil, fmt.Errorf("%s: there is no list of pages under a heading %q", start, pagesHeading)
	}
	groups = append(groups, group{"In depth", of(first.leadsIn(first.doc))}, last)
	var all []*entry
	for _, g := range groups {
		all = append(all, g.pages...)
	}
	for len(all) > 0 {
		rest := func(e *entry) int { // how many pages it leads to that have no place
			return len(slices.DeleteFunc(e.leadsIn(e.doc), func(name string) bool { return placed[name] }))
		}
		slices.SortStableFunc(all, func(a, b *entry) int { return rest(b) - rest(a) })
		var next []*entry
		for _, e := range all {
			e.below = of(e.leadsIn(e.doc))
			next = append(next, e.below...)
		}
		all = next
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.pages) == 0 }), nil
}

// items are those of the lists under a heading.
func (p *page) items(under string) (items []ast.Node) {
	inside := false
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			inside = plainText(n, p.text) == under
		}
		if !inside || n.Kind() != ast.KindList {
			continue
		}
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			items = append(items, item)
		}
	}
	return items
}

// leadsIn are the pages to which links in a part of the page lead, in order.
func (p *page) leadsIn(part ast.Node) (names []string) {
	for _, l := range p.leads {
		for n := ast.Node(l.from); n != nil; n = n.Parent() {
			if n == part {
				names = append(names, l.to)
				break
			}
		}
	}
	return names
}

// flat is every page in the order of the groups.
func flat(groups []group) (all []*entry) {
	var add func(entries []*entry)
	add = func(entries []*entry) {
		for _, e := range entries {
			all = append(all, e)
			add(e.below)
		}
	}
	for _, g := range groups {
		add(g.pages)
	}
	return all
}
