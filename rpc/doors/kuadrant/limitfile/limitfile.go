// Package limitfile reads the YAML files of Limitador, Kuadrant's rate limiter, and finds the limits that a request has. A file that Limitador takes means the same here, but for what
// Notes lists; a mistake is a [Problem] with its file, line and field. Nothing here has a clock or does I/O: who calls reads the files.
//
// Start with [Parse], which makes a [Set], and [Set.Match].
package limitfile

import (
	"cmp"
	"slices"
)

// A File is the text of one file: a list of limits.
type File struct {
	Name string // as problems name it
	Text []byte
}

// A Set is the limits of all files. It does not change.
type Set struct {
	Limits []*Limit
	// Notes are what means something else than the files may make believe, or has no effect.
	Notes []Problem

	namespaces map[string][]*group
}

// Parse reads files. Without problems, the Set is complete; with problems it has the Notes alone.
func Parse(files []File) (*Set, []Problem) {
	s := &Set{namespaces: map[string][]*group{}}
	var problems []Problem
	var all []*written
	env, err := environment()
	if err != nil {
		return s, []Problem{{"CEL", 1, "", err.Error()}}
	}
	for _, f := range files {
		r := &report{file: f.Name}
		read := read(f.Text, r)
		for _, w := range read {
			w.compile(env)
		}
		inOrder(r.problems)
		inOrder(r.notes)
		problems, s.Notes, all = append(problems, r.problems...), append(s.Notes, r.notes...), append(all, read...)
	}
	if len(problems) == 0 {
		problems = s.gather(all)
	}
	if len(problems) > 0 {
		return &Set{Notes: s.Notes}, problems
	}
	return s, nil
}

func inOrder(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// Len is how many namespaces there are.
func (s *Set) Len() int {
	all := map[string]bool{}
	for _, l := range s.Limits {
		all[l.Namespace] = true
	}
	return len(all)
}
