package limitfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// LongestHold is how long a reservation may last.
const LongestHold = 10 * time.Minute

// longest is how long a window may last: nodes keep the register of a limit that a request defines for so long.
const longest = 366 * 24 * time.Hour

// maxLengths is how many limits may have the same conditions and variables: they are decided by one check.
const maxLengths = limit.MaxLimits

// A Limit is one limit of a file. It does not change.
type Limit struct {
	Namespace string
	Label     string // its name, or else its id, or else its file and line
	MaxValue  int64  // at most what Ref can count; 0 admits nothing
	Window    time.Duration
	Ref       limit.Ref // the inline limit, for checks; without a name if MaxValue is 0

	activation map[string]any // what its expressions see of it
}

// A group is limits with the same namespace, conditions and variables. Their buckets have one key.
type group struct {
	tests, values []*expression
	key           string // how the key of its buckets begins
	limits        []*Limit
}

// compile reads the expressions of w, and says what is wrong with its numbers.
func (w *written) compile(env *cel.Env) {
	for _, t := range w.conditions {
		w.tests = w.add(w.tests, t, compile(env, t.value, conditions()))
	}
	for _, t := range w.variables {
		v := compile(env, t.value, variables())
		if v.made != nil && v.made.usesLimit {
			v = verdict{unknown: limitName}
		}
		w.values = w.add(w.values, t, v)
	}
	w.numbers()
	if w.namespace == "" && w.lines["namespace"] != 0 {
		w.report.note(w.line, strictyaml.Under(w.field, "namespace"), "is empty, and no request with an empty domain is decided: the limit never applies, as in Limitador")
	}
}

// add adds a compiled expression, or says why not.
func (w *written) add(to []*expression, t text, v verdict) []*expression {
	switch {
	case v.problem != "":
		w.report.add(t.line, t.field, "%q %s", shorten(t.value), v.problem)
	case v.unknown != "":
		w.never = true
		w.report.note(t.line, t.field, "refers to %q, which no request has: the limit never applies, as in Limitador. Requests have descriptors, as in descriptors[0].%s", v.unknown, v.unknown)
	default:
		to = append(to, v.made)
	}
	return to
}

// numbers checks max_value and seconds.
func (w *written) numbers() {
	at := func(name string) (int, string) { return w.lines[name], strictyaml.Under(w.field, name) }
	line, field := at("seconds")
	switch {
	case line == 0:
		return // it is missing
	case w.seconds == 0:
		w.report.add(line, field, "is 0: write how many seconds a window lasts, at least 1")
		return
	case w.seconds > uint64(longest/time.Second):
		w.report.add(line, field, "%d is too large: at most %d, 366 days", w.seconds, longest/time.Second)
		return
	}
	line, field = at("max_value")
	switch most := w.most(); {
	case w.maxValue == 0 && line == 0:
		w.report.note(w.line, field, "is missing: the limit denies everything, as in Limitador")
	case w.maxValue > uint64(most):
		w.report.note(line, field, "%d counts as %d, the most that a window of %d seconds counts", w.maxValue, most, w.seconds)
		w.maxValue = uint64(most)
	}
}

// most is what a window counts at most: a token a nanosecond, or where entries are counted, a number.
func (w *written) most() int64 {
	if window := w.window(); window <= 10*time.Minute {
		return int64(window)
	}
	return limit.MaxCount
}

func (w *written) window() time.Duration { return time.Duration(w.seconds) * time.Second }

// limit makes the limit of w.
func (w *written) limit() (*Limit, error) {
	l := &Limit{Namespace: w.namespace, MaxValue: int64(w.maxValue), Window: w.window(), activation: map[string]any{"name": nil, "id": nil}}
	l.Label = fmt.Sprintf("%s:%d", w.report.file, w.line)
	if w.hasID {
		l.activation["id"], l.Label = w.id, w.id
	}
	if w.hasName {
		l.activation["name"], l.Label = w.name, w.name
	}
	if l.MaxValue == 0 {
		return l, nil
	}
	inline := limit.Limit{
		Name: fmt.Sprintf("kuadrant-%ds", w.seconds), Algorithm: limit.FixedWindow, Capacity: l.MaxValue, Window: l.Window,
		Holds: limit.Holds{Longest: LongestHold, OnExpiry: limit.Free, MaxDebt: limit.NoDebt},
	}
	if _, err := inline.Rule(); err != nil {
		return nil, err
	}
	l.Ref = limit.Inline(inline)
	return l, nil
}

// identity tells groups apart: as Limitador, by conditions and variables, in any order and once each. Those that look at the limit differ by its name and id too.
func (w *written) identity() (bucket, evaluated string) {
	var b strings.Builder
	for _, all := range [][]text{w.conditions, w.variables} {
		var sources []string
		for _, t := range all {
			sources = append(sources, t.value)
		}
		slices.Sort(sources)
		for _, s := range slices.Compact(sources) {
			fmt.Fprintf(&b, "%d:%s", len(s), s)
		}
		b.WriteByte(';')
	}
	bucket = b.String()
	for _, t := range w.tests {
		if t.usesLimit {
			return bucket, fmt.Sprintf("%s%t%q%t%q", bucket, w.hasName, w.name, w.hasID, w.id)
		}
	}
	return bucket, bucket
}

// gather puts limits into the groups of their namespaces.
func (s *Set) gather(all []*written) (problems []Problem) {
	groups := map[string]map[string]*group{}
	seen := map[string]*written{}
	for _, w := range all {
		bucket, evaluated := w.identity()
		same := fmt.Sprintf("%q %d %s", w.namespace, w.seconds, bucket)
		if before := seen[same]; before != nil {
			s.Notes = append(s.Notes, Problem{w.report.file, w.line, w.field, fmt.Sprintf("is the limit of %s:%d once more: namespace, seconds, conditions and variables are the same, and the first one counts, as in Limitador",
				before.report.file, before.line)})
			continue
		}
		seen[same] = w
		l, err := w.limit()
		if err != nil {
			problems = append(problems, Problem{w.report.file, w.line, w.field, err.Error()})
			continue
		}
		s.Limits = append(s.Limits, l)
		if groups[w.namespace] == nil {
			groups[w.namespace] = map[string]*group{}
		}
		g := groups[w.namespace][evaluated]
		if g == nil {
			g = &group{tests: w.tests, values: sorted(w.values), key: keyOf(w.namespace, bucket)}
			groups[w.namespace][evaluated] = g
			if !w.never {
				s.namespaces[w.namespace] = append(s.namespaces[w.namespace], g)
			}
		}
		if len(g.limits) == maxLengths {
			problems = append(problems, Problem{w.report.file, w.line, w.field, fmt.Sprintf("is one of more than %d limits with the same namespace, conditions and variables: leave some out", maxLengths)})
			continue
		}
		g.limits = append(g.limits, l)
	}
	return problems
}

// sorted are variables in an order that does not depend on the file, each once.
func sorted(values []*expression) []*expression {
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b *expression) int { return strings.Compare(a.source, b.source) })
	return slices.CompactFunc(values, func(a, b *expression) bool { return a.source == b.source })
}

// keyOf is how the keys of a group begin: its namespace, and 128 bits of the SHA-256 of its conditions and variables.
func keyOf(namespace, identity string) string {
	digest := sha256.Sum256([]byte(identity))
	return string(appendEscaped(nil, namespace)) + "|" + hex.EncodeToString(digest[:16])
}
