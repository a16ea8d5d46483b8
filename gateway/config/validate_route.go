package config

import (
	"fmt"
	"math"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

func (f *findings) routes(routes []Route) {
	names := map[string]int{}
	for i := range routes {
		r, path := &routes[i], strictyaml.Item("routes", i)
		before, twice := names[r.Name]
		switch {
		case !isName(r.Name):
			f.add(path+".name", "%.64q is not a valid name: write 1 to %d letters, digits, dots, dashes and underscores", r.Name, maxName)
		case twice:
			f.add(path+".name", "%.64q is also the name of %s", r.Name, strictyaml.Item("routes", before))
		default:
			names[r.Name] = i
		}
		f.hosts(path+".hosts", r.Hosts)
		f.methods(path+".methods", r.Methods)
		f.check(path+".path", CheckPattern(r.Path))
		f.upstream(path+".upstream", r.Upstream)
		f.charging(path, r)
		for n := range r.Checks {
			f.routeCheck(strictyaml.Item(path+".checks", n), &r.Checks[n], r)
		}
		if r.Answer != nil {
			f.answer(path+".answer", *r.Answer, r)
		}
		f.llm(path+".llm", r)
		f.cors(path+".cors", r.CORS)
	}
	f.rivals(routes)
}

func (f *findings) hosts(path string, hosts []string) {
	for i, host := range hosts {
		addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
		if isHostname(strings.TrimPrefix(host, "*.")) || err == nil && addr.Zone() == "" {
			continue
		}
		f.add(strictyaml.Item(path, i), "%.64q is not a host: write a name in lower case without a port, such as api.example.com or *.example.com", host)
	}
	f.different(path, hosts)
}

// upstream checks that exactly one answers what a route lets through.
func (f *findings) upstream(path, name string) {
	p := f.document.Proxy
	switch {
	case p == nil && name != "":
		f.add(path, "%.64q is not an upstream: the document has no proxy", name)
	case p == nil:
	case name != "":
		if _, ok := p.Upstreams[name]; !ok {
			f.add(path, "%.64q is not an upstream: use one of %s", name, strings.Join(sorted(p.Upstreams), ", "))
		}
	case len(p.Upstreams) > 1:
		f.add(path, "is missing: name one of the upstreams, %s", strings.Join(sorted(p.Upstreams), ", "))
	}
}

// rivals finds routes that fit the same requests equally well, since their order says nothing.
func (f *findings) rivals(routes []Route) {
	byPath := map[string][]int{}
	for i, r := range routes {
		if CheckPattern(r.Path) != nil {
			continue
		}
		path := r.Path
		for _, name := range patternNames(path) {
			path = strings.Replace(path, "{"+name+"}", "{}", 1)
		}
		for _, before := range byPath[path] {
			host, sameHost := shared(routes[before].Hosts, r.Hosts)
			method, sameMethod := shared(routes[before].Methods, r.Methods)
			if sameHost && sameMethod {
				f.add(strictyaml.Item("routes", i)+".path", "%.64q matches the same requests as %s, with %s and %s: change the path, host or method of one",
					r.Path, strictyaml.Item("routes", before), orEvery(host, "host"), orEvery(method, "method"))
			}
		}
		byPath[path] = append(byPath[path], i)
	}
}

// shared is what two lists, of which an empty one is everything, say equally: both of them everything, or one word.
func shared(a, b []string) (word string, ok bool) {
	if len(a) == 0 || len(b) == 0 {
		return "", len(a) == len(b)
	}
	for _, word := range a {
		if slices.Contains(b, word) {
			return word, true
		}
	}
	return "", false
}

func orEvery(word, what string) string {
	if word == "" {
		return "every " + what
	}
	return fmt.Sprintf("the %s %.64s", what, word)
}

func (f *findings) routeCheck(path string, c *Check, r *Route) {
	f.askedCluster(path+".cluster", c.Cluster)
	f.templates(path+".key", c.Key, r)
	f.limits(path+".limits", c.Limits)
	switch {
	case c.Choose != nil:
		f.choose(path+".choose", c.Choose, r)
	case len(c.Limits) == 0:
		f.add(path+".limits", "is empty: name 1 to %d limits", limit.MaxLimits)
	}
	f.cost(path+".cost", c.Cost)
	f.counts(path, c, r)
	if c.Plan != "" {
		f.plan(path+".plan", c.Plan, r)
	}
	switch wait := time.Duration(c.Wait); {
	case wait < 0 || wait > limit.LongestWait:
		f.add(path+".wait", "%v is not from 0 to %v, the longest deadline of a check", wait, limit.LongestWait)
	case wait > 0 && c.Shadow:
		f.add(path+".wait", "stands beside shadow: a shadow check holds no request: leave one of them out")
	}
	f.oneOf(path+".unidentified", c.Unidentified, "deny", Skip)
	f.oneOf(path+".on_unavailable", string(c.OnUnavailable), string(limit.Allow), string(limit.Deny), string(limit.Local))
}

// plan checks the template of a plan.
func (f *findings) plan(path, text string, r *Route) {
	parts, err := ParseTemplate(text)
	if err != nil {
		f.check(path, err)
		return
	}
	for _, v := range variables(parts) {
		f.check(path, f.variable(v, r))
	}
}

// limits checks the names of limits that are asked for at once.
func (f *findings) limits(path string, names []string) {
	if len(names) > limit.MaxLimits {
		f.add(path, "%d limits are too many: at most %d", len(names), limit.MaxLimits)
	}
	for i, name := range names {
		asked := limit.Request{Key: "key", Limits: []limit.Ref{limit.Named(name)}}
		if err := asked.Validate(); err != nil {
			f.add(strictyaml.Item(path, i), "%s", strings.TrimPrefix(err.Error(), "limits[0].name: "))
		}
	}
	f.different(path, names)
}

func (f *findings) choose(path string, c *Choose, r *Route) {
	v, err := ParseVariable(c.By)
	switch {
	case strings.ContainsAny(c.By, "{}"):
		f.add(path+".by", "%.64q stands in braces: write the variable without them", c.By)
	case err != nil:
		f.check(path+".by", err)
	default:
		f.check(path+".by", f.variable(v, r))
	}
	if len(c.When) == 0 {
		f.add(path+".when", "is empty: write at least one case, as in {is: pro, limits: [pro]}")
	}
	first := map[string]int{}
	for i, k := range c.When {
		at := strictyaml.Item(path+".when", i)
		given := 0
		for _, ok := range []bool{k.Is != "", k.Below != nil, k.From != nil} {
			if ok {
				given++
			}
		}
		if given != 1 {
			f.add(at, "has %d conditions: give exactly one of is, below and from", given)
		}
		f.finite(at+".below", k.Below)
		f.finite(at+".from", k.From)
		if before, twice := first[k.Is]; twice {
			f.add(at+".is", "%.64q is a duplicate of %s", k.Is, strictyaml.Item(path+".when", before)+".is")
		} else if k.Is != "" {
			first[k.Is] = i
		}
		if k.Limits == nil {
			f.add(at+".limits", "is missing: name the limits that count then, or write [] for none")
		}
		f.limits(at+".limits", k.Limits)
	}
}

// finite checks a number, which may be missing.
func (f *findings) finite(path string, n *float64) {
	if n != nil && (math.IsNaN(*n) || math.IsInf(*n, 0)) {
		f.add(path, "%v is not a finite number", *n)
	}
}

func (f *findings) cost(path string, c Cost) {
	for _, n := range []struct {
		field string
		value int64
	}{{"tokens", c.Tokens}, {"bytes_per_token", c.BytesPerToken}, {"min", c.Min}, {"max", c.Max}} {
		if n.value < 0 {
			f.add(path+"."+n.field, "%d is out of range: write a number of at least 1", n.value)
		}
	}
	f.header(path+".header", c.Header)
	lowest, highest := c.Bounds()
	switch {
	case c.Header != "" && c.BytesPerToken != 0:
		f.add(path, "has header and bytes_per_token: give one of them")
	case c.Header == "" && c.BytesPerToken == 0 && (c.Min != 0 || c.Max != 0):
		f.add(path, "has min or max, which bound the cost by header or bytes_per_token: add one of these, or use tokens alone")
	case c.BytesPerToken != 0 && c.Tokens != 0:
		f.add(path+".tokens", "has no effect with bytes_per_token: leave it out")
	case lowest > highest:
		f.add(path, "allows no cost: min is %d, and max is %d", lowest, highest)
	}
	if name := textproto.CanonicalMIMEHeaderKey(c.Header); name == "Content-Length" {
		f.add(path+".header", "is the length of the body: use bytes_per_token")
	}
}
