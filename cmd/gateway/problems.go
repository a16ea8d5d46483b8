package gateway

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// A Problem is something of a route that does not fit the limits in force.
type Problem struct {
	Route, Limit string
	// Text says what does not fit, and what to do.
	Text string
	// Warning says that it is about some of the requests, or about a check that denies none.
	Warning bool
}

// String is the route and the problem.
func (p Problem) String() string { return fmt.Sprintf("route %s: %s", p.Route, p.Text) }

// Problems are what of the checks that ask a cluster does not fit the limits that it has, in the order of the routes, each once: limits that
// it does not have, of which on_unavailable says what happens to the requests, and costs that no bucket of a limit holds. The name of
// the cluster is empty for the one that checks ask which name none.
func Problems(doc *config.Document, cluster string, known *limit.Document) []Problem {
	var found []Problem
	for _, r := range doc.Routes {
		for i := range r.Checks {
			c := &r.Checks[i]
			if c.Cluster != cluster {
				continue
			}
			for _, name := range Limits(config.Route{Checks: r.Checks[i : i+1]}) {
				p := Problem{Route: r.Name, Limit: name}
				if rule, ok := known.Rule(name); !ok {
					p.Text = fmt.Sprintf("unknown limit %q: the cluster%s does not have it; jeton limits get shows those that it has", name, called(cluster))
				} else if why := uncountable(&r, c, rule); why != "" {
					p.Text = fmt.Sprintf("checks[%d].counts: %s: %s", i, c.Unit(), why)
				} else if r.LLM != nil && c.Unit() == config.CountsRequests && rule.Permits() {
					p.Text = fmt.Sprintf("checks[%d]: limit %q gives permits, which a check that counts requests keeps for their whole lease: write counts: streams", i, name)
					p.Warning = true
				} else if over, ok := tooDear(doc, c, rule.Capacity); ok {
					p.Text = fmt.Sprintf("checks[%d].%s: %s %d, and limit %q has a capacity of %d: %s: raise the capacity, or write %s",
						i, over.field, over.who, over.tokens, name, rule.Capacity, over.so, fmt.Sprintf(over.fix, rule.Capacity))
					p.Warning = c.Shadow || over.some
				} else if wait := time.Duration(c.Wait); wait > rule.MaxWait {
					p.Text, p.Warning = fmt.Sprintf("checks[%d].wait: %s: %s", i, tooLong(rule, wait), "requests wait for no longer than the limit allows"), true
				}
				if p.Text != "" && !slices.Contains(found, p) {
					found = append(found, p)
				}
			}
		}
	}
	return found
}

// called is the name of a cluster behind the word; empty for the one without a name.
func called(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " " + cluster
}

// uncountable says why a limit cannot count what a check of a route counts, and what to do; empty if it can.
func uncountable(r *config.Route, c *config.Check, rule *limit.Rule) string {
	switch {
	case r.LLM == nil:
	case c.Holds() && rule.Permits():
		return fmt.Sprintf("limit %q gives permits, and takes no holds: ask a limit of another algorithm, or write counts: streams", rule.Name)
	case c.Holds():
		if fe, no := errors.AsType[*limit.FieldError](rule.AllowsHold(r.LLM.HoldFor())); no {
			return fe.Problem + ", and llm.hold of the route is " + r.LLM.HoldFor().String()
		}
	case c.Unit() == config.CountsStreams && !rule.Permits():
		return fmt.Sprintf("limit %q has no permits: give it algorithm: concurrency and a lease", rule.Name)
	}
	return ""
}

// tooLong says that a limit allows less than that wait, and what to do.
func tooLong(rule *limit.Rule, wait time.Duration) string {
	fe, _ := errors.AsType[*limit.FieldError](rule.AllowsWait(wait))
	return fe.Problem
}

// Limits are the names of all limits that may apply to requests of a route, each once, in their order.
func Limits(r config.Route) []string {
	var names []string
	add := func(more []string) {
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, c := range r.Checks {
		add(c.Limits)
		if c.Choose != nil {
			for _, when := range c.Choose.When {
				add(when.Limits)
			}
		}
	}
	return names
}

// A price is what requests of a check may cost.
type price struct {
	field  string // of the check
	tokens int64
	who    string // pays it
	so     string // what follows where that is more than a bucket holds
	fix    string // what to write instead, for a capacity
	some   bool   // there are requests that pay less
}

// tooDear is the first price of a check that is more than a bucket of that capacity holds.
func tooDear(doc *config.Document, c *config.Check, capacity int64) (price, bool) {
	for _, p := range prices(doc, c.Cost) {
		if p.tokens > capacity {
			return p, true
		}
	}
	return price{}, false
}

// prices are what requests may cost, those that concern most of them first.
func prices(doc *config.Document, c config.Cost) []price {
	const all, some = "all are denied", "those that cost more than that are always denied"
	lowest, highest := c.Bounds()
	floor := price{"cost.min", lowest, "every request costs at least", all, "min: %d", false}
	switch {
	case c.Header != "":
		missing := price{"cost.tokens", c.Fixed(), "a request without a number in " + c.Header + " costs", "such requests are always denied", "tokens: %d", false}
		if c.Max == 0 { // that is a bound of what makes sense, and says nothing about this limit
			return []price{floor, missing}
		}
		return []price{floor, missing, {"cost.max", highest, "a request may cost", some, "max: %d", true}}
	case c.BytesPerToken > 0 && doc.Proxy == nil:
		return []price{floor, {"cost.bytes_per_token", c.OfBody(-1), "without the proxy the length of a body is unknown, so every request costs", all, "max: %d", false}}
	case c.BytesPerToken > 0:
		longest := doc.Proxy.MaxBodyBytes()
		return []price{floor, {"cost.bytes_per_token", c.OfBody(longest), "a long body, and one of unknown length, may cost", some, "max: %d", true}}
	}
	return []price{{"cost", c.Fixed(), "every request costs", all, "a cost of at most %d", false}}
}
