package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/spelling"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// findings are the problems of a document.
type findings struct {
	document *Document
	list     []*limit.FieldError
}

// add is a problem at the path of a field.
func (f *findings) add(path, format string, args ...any) {
	f.list = append(f.list, &limit.FieldError{Field: path, Problem: fmt.Sprintf(format, args...), Line: f.line(path)})
}

// check adds err, if there is one, as the problem at a path.
func (f *findings) check(path string, err error) {
	if err != nil {
		f.add(path, "%s", err)
	}
}

// line is the line of a field, or, if the document lacks it, that of the field around it; 0 in a document made by a program.
func (f *findings) line(path string) int {
	for {
		if line, ok := f.document.lines[path]; ok {
			return line
		}
		if path == "" {
			return 0
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// within checks a number that may be 0, for its default.
func within[N ~int | ~int64](f *findings, path string, n, minimum, maximum N) {
	if n != 0 && (n < minimum || n > maximum) {
		f.add(path, "%v is out of range: at least %v and at most %v", n, minimum, maximum)
	}
}

// duration checks a duration; 0 is valid and means the default.
func (f *findings) duration(path string, d Duration, minimum, maximum time.Duration) {
	within(f, path, d, Duration(minimum), Duration(maximum))
}

// share checks a part of a whole.
func (f *findings) share(path string, s float64) {
	if !(s >= 0 && s <= 1) { // which holds for NaN too
		f.add(path, "%v is out of range: a share is from 0 to 1", s)
	}
}

// oneOf checks a word that may be empty.
func (f *findings) oneOf(path, word string, words ...string) {
	if word == "" || slices.Contains(words, word) {
		return
	}
	meant := spelling.Near(word, words)
	if meant != "" {
		meant = fmt.Sprintf(": did you mean %q?", meant)
	}
	f.add(path, "%.64q is not known: use %s%s", word, strings.Join(words, ", "), meant)
}

// header checks the name of one, which may be empty.
func (f *findings) header(path, name string) {
	if name != "" && !isToken(name) {
		f.add(path, "%.64q is not a header name, such as X-Api-Key", name)
	}
}

// different checks that nothing is in a list twice.
func (f *findings) different(path string, list []string) {
	first := make(map[string]int, len(list))
	for i, s := range list {
		before, twice := first[s]
		if !twice {
			first[s] = i
			continue
		}
		f.add(strictyaml.Item(path, i), "%.64q is a duplicate of %s", s, strictyaml.Item(path, before))
	}
}

func (f *findings) networks(path string, networks []Network) {
	for i, n := range networks {
		if problem := n.problem(); problem != "" {
			f.add(strictyaml.Item(path, i), "%.64q %s", n.String(), problem)
		}
	}
}

// patterns checks those of paths.
func (f *findings) patterns(path string, patterns []string) {
	for i, p := range patterns {
		f.check(strictyaml.Item(path, i), CheckPattern(p))
	}
	f.different(path, patterns)
}

func (f *findings) methods(path string, methods []string) {
	for i, m := range methods {
		if !isName(m) || strings.Contains(m, ".") || m != strings.ToUpper(m) {
			f.add(strictyaml.Item(path, i), "%.64q is not a method: write one in upper case, such as GET", m)
		}
	}
	f.different(path, methods)
}

// sorted are the names of a mapping, in their order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// joined is all problems as one error, in the order of their lines.
func joined(problems []*limit.FieldError) error {
	slices.SortStableFunc(problems, func(a, b *limit.FieldError) int { return a.Line - b.Line })
	all := make([]error, len(problems))
	for i, p := range problems {
		all[i] = p
	}
	return errors.Join(all...)
}
