package gateway

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/llm"
)

// A check is a compiled check of a route: its key templates, its limits and its cost.
type check struct {
	keys             *identity.Templates
	plan             *identity.Templates // nil for none
	limits           limits              // if no case matches
	by               identity.Variable
	cases            []choiceCase
	cost             config.Cost
	wait             time.Duration // for which a request is held at most
	unknownBodyCost  int64         // of a body of unknown length
	skipUnidentified bool
	policy           limit.Policy
	counts           unit
}

// A unit is what a check counts.
type unit struct {
	name     string        // one of config.Counted
	ofModels bool          // what requests to language models use, and no others: all but requests
	permits  bool          // each is taken by a permit; any other that is ofModels is held as an estimate
	weights  llm.Rates     // of tokens; zero for what is no token
	prices   llm.PriceList // of money; nil for what is none
	denial   answer.Kind   // how clients are told that nothing is left of it
}

// limits are those of one check, with their names as people see them and the series that count their outcomes.
type limits struct {
	cluster *cluster
	refs    []limit.Ref
	shown   []string
	series  []*limitSeries
}

// named are some of them as people see them.
func (l *limits) named(some []limit.Ref) (names []string) {
	for _, ref := range some {
		names = append(names, config.ShownLimit(l.cluster.name, ref.Name))
	}
	return names
}

// holding are the names of those that hold, as people see them.
func (l *limits) holding(h *limit.Hold) (names []string) {
	for i := range h.Limits {
		names = append(names, config.ShownLimit(l.cluster.name, h.Limits[i].Limit))
	}
	return names
}

// A choiceCase is a compiled case of a choice.
type choiceCase struct {
	is          string
	below, from *float64
	limits      limits
}

// A want is what one check of a request asks for.
type want struct {
	limits *limits // empty: nothing is asked
	key    identity.Key
	found  bool // whether the request has a key
	cost   int64
	plan   string // that the request names; empty for none
}

func (c *check) want(r *identity.Request, facts *identity.Facts) want {
	w := want{limits: c.choose(facts), cost: c.costOf(r)}
	w.key, w.found = c.keys.Key(facts)
	if c.plan != nil {
		plan, _ := c.plan.Key(facts)
		w.plan = plan.Text
	}
	return w
}

func (w *want) request() limit.Request {
	return limit.Request{Key: w.key.Text, Limits: w.limits.refs, Cost: w.cost, Plan: w.plan}
}

// choose returns the limits of the first case that matches.
func (c *check) choose(facts *identity.Facts) *limits {
	if len(c.cases) == 0 {
		return &c.limits
	}
	value, ok := c.by.Value(facts)
	if !ok {
		return &c.limits
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		number = math.NaN()
	}
	for i := range c.cases {
		if c.cases[i].matches(value, number) {
			return &c.cases[i].limits
		}
	}
	return &c.limits
}

// matches compares a value with the case. number is the value as a number, or NaN, which matches no range.
func (c *choiceCase) matches(value string, number float64) bool {
	switch {
	case c.below != nil:
		return number < *c.below
	case c.from != nil:
		return number >= *c.from
	}
	return value == c.is
}

// costOf is how many tokens a request takes.
func (c *check) costOf(r *identity.Request) int64 {
	switch {
	case c.cost.Header != "":
		if n, ok := maxCost(r.Header.Values(c.cost.Header)); ok {
			return c.cost.Bound(n)
		}
	case c.cost.BytesPerToken > 0 && r.Length < 0:
		return c.unknownBodyCost
	case c.cost.BytesPerToken > 0:
		return c.cost.OfBody(r.Length)
	}
	return c.cost.Fixed()
}

// maxCost is the largest number among the values of a header; ok is false when there is none. A number that does not fit into
// 64 bits is the largest or the smallest one that does.
func maxCost(values []string) (highest int64, ok bool) {
	for _, value := range values {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			continue
		}
		if !ok || n > highest {
			highest, ok = n, true
		}
	}
	return highest, ok
}

// count counts the outcome of each limit of a check, and by whom it was decided.
func (l *limits) count(d *fallback.Verdict) {
	for i, o := range d.Limits[:min(len(d.Limits), len(l.series))] {
		s := l.series[i]
		outcome := spared
		switch {
		case !o.Allowed:
			outcome = refused
		case d.Allowed:
			outcome = allowed
		}
		s.all[outcome].Inc()
		if d.Source.Own() {
			s.own[outcome].Inc()
		}
	}
}
