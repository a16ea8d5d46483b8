package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/spelling"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// Warnings are what is allowed in the document and probably not meant: places where a client decides by itself whom it is
// counted as, what it pays, or which limits it has, because they come from a header, a cookie or a key that anybody writes; and
// attributes of API keys, and values of them, that no key has; and a document without routes. They are in the order of their
// lines. A document that has some is good all the same.
func (d *Document) Warnings() []*limit.FieldError {
	f := &findings{document: d}
	for i, network := range d.Identity.TrustedProxies {
		if network.Bits() == 0 {
			f.add(strictyaml.Item("identity.trusted_proxies", i), "%v is every address: any client can then claim any address, and gets a new bucket for each", network)
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
			if c.Shadow { // which denies nobody, and so lets nobody escape
				continue
			}
			f.madeUpKey(path, &d.Routes[i], c)
			f.madeUpCost(path+".cost.header", c.Cost.Header)
			if c.Choose != nil {
				f.madeUpChoice(path+".choose.by", c.Choose.By)
			}
		}
	}
	slices.SortStableFunc(f.list, func(a, b *limit.FieldError) int { return a.Line - b.Line })
	return slices.CompactFunc(f.list, func(a, b *limit.FieldError) bool { return *a == *b }) // identity.key, of several checks
}

// Unrouted says what becomes of requests because the document has no routes; empty if it has some, or nowhere takes requests.
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
	if len(so) == 0 {
		return ""
	}
	return "there is none, so " + strings.Join(so, ", and ")
}

// madeUp is the first variable that anybody writes in the templates of a check, and which template has it; ok is false when
// there is none.
func (d *Document) madeUp(templates []string) (template int, v Variable, ok bool) {
	for i, text := range templates {
		parts, err := ParseTemplate(text)
		if err != nil {
			continue // which is said elsewhere
		}
		for _, v := range variables(parts) {
			if d.anybodyWrites(v) {
				return i, v, true
			}
		}
	}
	return 0, Variable{}, false
}

// anybodyWrites says whether the value of a variable is what the client likes.
func (d *Document) anybodyWrites(v Variable) bool {
	switch v.Kind {
	case KindHeader, KindCookie:
		return true
	case KindAPIKey:
		return v.Name == "" && d.Identity.APIKey != nil && d.Identity.APIKey.Any
	default:
		return false
	}
}

// madeUpKey warns of a check whose clients are as many as they like, unless another check of the route counts them by something
// that they do not choose.
func (f *findings) madeUpKey(path string, r *Route, c *Check) {
	d := f.document
	template, v, ok := d.madeUp(c.Templates(d.Identity))
	if !ok {
		return
	}
	for i := range r.Checks {
		other := &r.Checks[i]
		if _, _, madeUp := d.madeUp(other.Templates(d.Identity)); !madeUp && !other.Shadow && len(other.Limits) > 0 {
			return
		}
	}
	f.add(strictyaml.Item(keyField(path, c), template), "{%s} is set by the client: one that changes it with each request is never denied: %s, or add a check by ip:{ip}",
		v, f.instead(v))
}

// behindProxies says whether requests come from a proxy that is trusted: one that may have set a header.
func (d *Document) behindProxies() bool {
	return len(d.Identity.TrustedProxies) > 0 || d.ForwardAuth != nil && d.Proxy == nil
}

// instead is what to write for a variable that anybody writes.
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

// madeUpCost warns of a cost in a header that no proxy can have set.
func (f *findings) madeUpCost(path, header string) {
	if header != "" && !f.document.behindProxies() {
		f.add(path, "%s is set by the client: one that sends 0 pays the minimum: let a proxy in front set it and add the proxy to "+
			"identity.trusted_proxies, or use a fixed cost or bytes_per_token", header)
	}
}

// madeUpChoice warns of limits that the client chooses.
func (f *findings) madeUpChoice(path, by string) {
	v, err := ParseVariable(strings.TrimSpace(by))
	if err == nil && f.document.anybodyWrites(v) {
		f.add(path, "%s is set by the client, which can so choose its limits: %s", v, f.instead(v))
	}
}

// keyField is the field that says whom a check counts.
func keyField(path string, c *Check) string {
	if len(c.Key) > 0 {
		return path + ".key"
	}
	return "identity.key"
}

// unknownAttributes warns of attributes of API keys, and of their values, that no key has: a template with one is never filled, and a
// choice by one never takes its case. It is no error, as one may be given to the next key, and was perhaps that of the last one.
func (f *findings) unknownAttributes(path string, c *Check) {
	for i, text := range c.Templates(f.document.Identity) {
		parts, err := ParseTemplate(text)
		if err != nil {
			continue // which is said elsewhere
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

// unknownAttribute warns of a variable that is an attribute which no key has. It returns whether it is one that a key has.
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

// enumerated is a list of names, of which there may be many.
func enumerated(names []string) string {
	const maxListed = 10
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}
