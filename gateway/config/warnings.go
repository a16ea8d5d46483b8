package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/spelling"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// Warnings are probable mistakes in a document that is valid all the same, in the order of their lines:
//   - a client can choose its key, its cost or its limits, because they come from a header, a cookie or an API key that it may make up;
//   - a template or a choice uses an attribute of API keys, or a value of one, that no key has;
//   - no check asks a cluster;
//   - the document has no routes, or trusts every address as a proxy.
func (d *Document) Warnings() []*limit.FieldError {
	f := &findings{document: d}
	for i, network := range d.Identity.TrustedProxies {
		if network.Bits() == 0 {
			f.add(strictyaml.Item("identity.trusted_proxies", i), "%v is every address: any client can then claim any address, and gets a new bucket for each", network)
		}
	}
	for _, name := range d.Asked() {
		if len(d.Clusters) > 0 && !d.Checks(name) {
			f.add(ClusterField(name)+".servers", "no check asks this cluster: name it in a check, or leave it out")
		}
	}
	if why := d.Unrouted(); why != "" {
		f.add("routes", "%s: add one, such as {name: all, path: /}, and its checks", why)
	}
	for i := range d.Routes {
		for n := range d.Routes[i].Checks {
			c := &d.Routes[i].Checks[n]
			path := strictyaml.Item(strictyaml.Item("routes", i)+".checks", n)
			f.unknownAttributes(path, c)
			if c.Shadow { // it denies nothing, so there is nothing to evade
				continue
			}
			f.warnOfKey(path, &d.Routes[i], c)
			f.warnOfCost(path+".cost.header", c.Cost.Header)
			f.warnOfPlan(path+".plan", c.Plan)
			if c.Choose != nil {
				f.warnOfChoice(path+".choose.by", c.Choose.By)
			}
		}
	}
	slices.SortStableFunc(f.list, func(a, b *limit.FieldError) int { return a.Line - b.Line })
	return slices.CompactFunc(f.list, func(a, b *limit.FieldError) bool { return *a == *b }) // identity.key, of several checks
}

// Unrouted says what happens to requests because the document has no routes; empty if it has routes, or neither proxy nor
// forward_auth.
func (d *Document) Unrouted() string {
	if len(d.Routes) > 0 {
		return ""
	}
	var so []string
	if d.Proxy != nil {
		so = append(so, "the proxy answers 404 to every request")
	}
	if d.ForwardAuth != nil {
		so = append(so, "no request that forward_auth is asked about is limited")
	}
	if d.Doors != nil && slices.Contains(d.Doors.GRPC, DoorExtAuthz) {
		so = append(so, "no request that the door extauthz is asked about is limited")
	}
	if len(so) == 0 {
		return ""
	}
	return "there is none, so " + strings.Join(so, ", and ")
}

// clientChosen finds the first variable in templates whose value the client chooses, and the template that has it; ok is false when
// there is none.
func (d *Document) clientChosen(templates []string) (template int, v Variable, ok bool) {
	for i, text := range templates {
		parts, err := ParseTemplate(text)
		if err != nil {
			continue // Validate reports it
		}
		for _, v := range variables(parts) {
			if d.clientSets(v) {
				return i, v, true
			}
		}
	}
	return 0, Variable{}, false
}

// clientSets says whether the client may set a variable to any value.
func (d *Document) clientSets(v Variable) bool {
	switch v.Kind {
	case KindHeader, KindCookie:
		return true
	case KindAPIKey:
		return v.Name == "" && d.Identity.APIKey != nil && d.Identity.APIKey.Any
	default:
		return false
	}
}

// warnOfKey warns of a check by whose templates a client can choose its key, unless another check of the route counts it by a key
// that it cannot choose.
func (f *findings) warnOfKey(path string, r *Route, c *Check) {
	d := f.document
	template, v, ok := d.clientChosen(c.Templates(d.Identity))
	if !ok {
		return
	}
	for i := range r.Checks {
		other := &r.Checks[i]
		if _, _, chosen := d.clientChosen(other.Templates(d.Identity)); !chosen && !other.Shadow && len(other.Limits) > 0 {
			return
		}
	}
	f.add(strictyaml.Item(keyField(path, c), template), "{%s} is set by the client: one that changes it with each request is never denied: %s, or add a check by ip:{ip}",
		v, f.instead(v))
}

// behindProxies says whether requests come from a trusted proxy, which may have set a header.
func (d *Document) behindProxies() bool {
	return len(d.Identity.TrustedProxies) > 0 || d.ForwardAuth != nil && d.Proxy == nil
}

// instead is the advice what to use in place of a variable that the client sets.
func (f *findings) instead(v Variable) string {
	d := f.document
	switch {
	case v.Kind == KindAPIKey:
		return "leave out identity.api_key.any, so that only known keys are valid"
	case v.Kind == KindCookie:
		return "use a token, as in {jwt.sub}"
	case d.behindProxies():
		return fmt.Sprintf("write {proxy_header.%s}, which counts only from a trusted proxy", v.Name)
	}
	return fmt.Sprintf("let a proxy in front set it, add the proxy to identity.trusted_proxies and write {proxy_header.%s}", v.Name)
}

// warnOfCost warns of a cost in a header if no trusted proxy can have set it.
func (f *findings) warnOfCost(path, header string) {
	if header != "" && !f.document.behindProxies() {
		f.add(path, "%s is set by the client: one that sends 0 pays the minimum: let a proxy in front set it and add the proxy to "+
			"identity.trusted_proxies, or use a fixed cost or bytes_per_token", header)
	}
}

// warnOfChoice warns of limits that the client chooses.
func (f *findings) warnOfChoice(path, by string) {
	v, err := ParseVariable(strings.TrimSpace(by))
	if err == nil && f.document.clientSets(v) {
		f.add(path, "%s is set by the client, which can so choose its limits: %s", v, f.instead(v))
	}
}

// warnOfPlan warns of a plan that the client chooses.
func (f *findings) warnOfPlan(path, template string) {
	parts, err := ParseTemplate(template)
	if err != nil {
		return
	}
	for _, v := range variables(parts) {
		if f.document.clientSets(v) {
			f.add(path, "%s is set by the client, which can so choose its plan: %s", v, f.instead(v))
		}
	}
}

// keyField is the field with the key templates of a check.
func keyField(path string, c *Check) string {
	if len(c.Key) > 0 {
		return path + ".key"
	}
	return "identity.key"
}

// unknownAttributes warns of attributes of API keys, and of their values, that no key has: a template with such an attribute never
// makes a key, and a case for such a value never applies. It is a warning, not an error, because a key with it may be added later, or
// the last key with it may just have been revoked.
func (f *findings) unknownAttributes(path string, c *Check) {
	for i, text := range c.Templates(f.document.Identity) {
		parts, err := ParseTemplate(text)
		if err != nil {
			continue // Validate reports it
		}
		for _, v := range variables(parts) {
			f.unknownAttribute(strictyaml.Item(keyField(path, c), i), v, "so this template is never filled")
		}
	}
	if c.Choose == nil {
		return
	}
	if v, err := ParseVariable(strings.TrimSpace(c.Choose.By)); err == nil && f.unknownAttribute(path+".choose.by", v, "so no case ever fits") {
		f.unknownValues(path+".choose.when", c.Choose.When, v)
	}
}

// unknownAttribute warns if a variable is an attribute that no key has. It returns whether the variable is an attribute of some key.
func (f *findings) unknownAttribute(path string, v Variable, so string) bool {
	a := f.document.Identity.APIKey
	if v.Kind != KindAPIKey || v.Name == "" || a == nil {
		return false
	}
	there := a.KeysFile.Keys().Names()
	if there == nil { // no key yet, or none any more
		return false
	}
	for _, known := range a.Known {
		there = append(there, sorted(known.Attributes)...)
	}
	slices.Sort(there)
	there = slices.Compact(there)
	if slices.Contains(there, v.Name) {
		return true
	}
	f.add(path, "no key has the attribute %.64q, %s: there are %s; did you mean %s?", v.Name, so, enumerated(there), spelling.Nearest(v.Name, there))
	return false
}

// unknownValues warns of cases for values of an attribute that no key has.
func (f *findings) unknownValues(path string, cases []Case, attribute Variable) {
	a := f.document.Identity.APIKey
	values := map[string]bool{}
	for _, k := range a.KeysFile.Keys().All() {
		values[k.Attribute(attribute.Name)] = true
	}
	for _, known := range a.Known {
		values[known.Attributes[attribute.Name]] = true
	}
	delete(values, "") // of keys without it
	there := sorted(values)
	for i, when := range cases {
		if when.Is != "" && !values[when.Is] {
			f.add(strictyaml.Item(path, i)+".is", "no key has the %s %.64q, so this case never fits: there are %s; did you mean %s?",
				attribute.Name, when.Is, enumerated(there), spelling.Nearest(when.Is, there))
		}
	}
}

// enumerated lists names in one text, the first ten of many.
func enumerated(names []string) string {
	const maxListed = 10
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}
