package descriptors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A Rule is a rate_limit and what stands beside it. It does not change.
type Rule struct {
	Index int    // in Domains.Rules
	Path  string // the name in metrics: the domain, then the keys and values of the file, as in messaging.to_number

	Numbers
	Length    time.Duration // in which Requests are admitted
	Unlimited bool
	// Refs is the inline limit, for checks; nil if the rule is unlimited or admits nothing.
	Refs []limit.Ref

	Name     string   // empty if it has none
	Replaces []string // names of rules that do not count beside this one

	Shadow bool // counted, and never denies
	Quota  bool // likewise, and named in the answer's metadata
	// Always charges the hits, whatever other descriptors say, and takes what is left where they do not fit: of hits that are reported
	// after the work was done.
	Always  bool
	Refunds bool // negative hits give back
	// Detailed names values in metrics, and Varies says that the name in metrics depends on the request, be it by that or by
	// value_to_metric of a descriptor on the way: see MetricPath.
	Detailed, Varies bool
}

// makeRule makes the rule of a branch that has a rate_limit.
func makeRule(br *branch, path string, varies bool, to *report) *Rule {
	l := br.rate
	has := func(flags map[string]int, name string) bool { return flags[name] != 0 }
	r := &Rule{
		Path: path, Unlimited: has(l.flags, "unlimited"), Name: l.name,
		Shadow: has(br.flags, "shadow_mode"), Quota: has(br.flags, "quota_mode"), Detailed: has(br.flags, "detailed_metric"),
		Always: has(l.flags, "charge_always"), Refunds: has(l.flags, "refunds"),
	}
	r.Varies = varies || r.Detailed
	for _, other := range l.replaces {
		switch other.name {
		case "":
			to.add(other.line, other.field, "names no limit: write the name of the rate_limit that this one replaces")
		case l.name:
			to.add(other.line, other.field, "%q is the name of this rate_limit itself: name another one", other.name)
		}
		r.Replaces = append(r.Replaces, other.name)
	}
	if r.Unlimited {
		for _, name := range []string{"unit", "unit_multiplier", "algorithm", "charge_always", "refunds"} {
			if line := l.lines[name]; line != 0 {
				to.add(line, strictyaml.Under(l.field, name), "stands beside unlimited: leave one of them out")
			}
		}
		return r
	}
	r.numbers(l, to)
	return r
}

// numbers puts how much r admits into it.
func (r *Rule) numbers(l *rate, to *report) {
	unit, known := parseUnit(l.unit)
	switch {
	case l.unit == "":
		to.add(l.line, strictyaml.Under(l.field, "unit"), "is missing: use %s, or write unlimited: true", unitNames())
		return
	case !known:
		to.add(l.lines["unit"], strictyaml.Under(l.field, "unit"), "%s is not a unit: use %s", limit.Quote(l.unit), unitNames())
		return
	case l.lines["requests_per_unit"] == 0:
		to.add(l.line, strictyaml.Under(l.field, "requests_per_unit"), "is missing: write how many requests a %s has; 0 denies all", unit)
		return
	case !slices.Contains([]string{"", limit.FixedWindow, limit.TokenBucket}, l.algorithm):
		to.add(l.lines["algorithm"], strictyaml.Under(l.field, "algorithm"), "%s is not known here: use %s or %s", limit.Quote(l.algorithm),
			limit.FixedWindow, limit.TokenBucket)
		return
	}
	r.Numbers = Numbers{Requests: l.requests, Unit: unit, Multiplier: l.multiplier, Bucket: l.algorithm == limit.TokenBucket}
	var err error
	if r.Length, err = r.Period(); err != nil {
		l.wrong(err, to)
		return
	}
	if r.Requests == 0 {
		return
	}
	made, err := r.Limit()
	if err != nil {
		l.wrong(err, to)
		return
	}
	r.Refs = []limit.Ref{limit.Inline(made)}
}

// wrong notes what is wrong with a field of a rate_limit.
func (l *rate) wrong(err error, to *report) {
	field, problem := "rate_limit", err.Error()
	if wrong, ok := errors.AsType[*limit.FieldError](err); ok {
		field, problem = wrong.Field, wrong.Problem
	}
	line := l.lines[field]
	if line == 0 {
		line = l.line
	}
	to.add(line, strictyaml.Under(l.field, field), "%s", problem)
}

func unitNames() string {
	var names []string
	for _, u := range units[:len(units)-1] {
		names = append(names, u.name)
	}
	return fmt.Sprintf("%s or %s", strings.Join(names, ", "), units[len(units)-1].name)
}
