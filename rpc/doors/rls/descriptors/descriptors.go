// Package descriptors reads the YAML files of Envoy's rate limit service (envoyproxy/ratelimit) and finds the rule of a request's
// descriptor. A file that the service takes means the same here, but for what Notes lists; a mistake is a [Problem] with its
// file, line and field. Nothing here has a clock or does I/O: who calls reads the files.
//
// Start with [Parse], which makes [Domains], and [Domain.Match].
package descriptors

import (
	"cmp"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A File is the text of one file, which describes one domain.
type File struct {
	Name string // as problems name it
	Text []byte
}

// Domains are what a set of files says. They do not change.
type Domains struct {
	Rules []*Rule // of all domains; each Rule's Index is its place
	// Notes are what means something else than the files may make believe, or has no effect.
	Notes []Problem

	byName map[string]*Domain
}

// A Domain is the rules of one file.
type Domain struct {
	Name string

	file string
	line int
	top  *level
}

// Parse reads files. Without problems, the Domains are complete; with problems they are nil.
func Parse(files []File) (*Domains, []Problem) {
	ds := &Domains{byName: map[string]*Domain{}}
	var problems []Problem
	for _, f := range files {
		r := &report{file: f.Name}
		if t := read(f.Text, r); t != nil {
			ds.add(t, r)
		}
		inOrder(r.problems)
		inOrder(r.notes)
		problems = append(problems, r.problems...)
		ds.Notes = append(ds.Notes, r.notes...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for i, r := range ds.Rules {
		r.Index = i
	}
	return ds, nil
}

func inOrder(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// add takes in the domain of one file.
func (ds *Domains) add(t *tree, r *report) {
	if before := ds.byName[t.domain]; before != nil {
		r.add(t.line, "domain", "%s is the domain of %s:%d already: write all descriptors of a domain into one file", limit.Quote(t.domain), before.file, before.line)
		return
	}
	b := builder{report: r}
	d := &Domain{Name: t.domain, file: r.file, line: t.line}
	d.top = b.level(t.branches, t.domain, false)
	ds.byName[t.domain] = d
	ds.Rules = append(ds.Rules, b.rules...)
	unknownReplaces(t, r)
}

// Domain is the one with that name, or nil.
func (ds *Domains) Domain(name string) *Domain { return ds.byName[name] }

// Len is how many domains there are.
func (ds *Domains) Len() int { return len(ds.byName) }
