package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Warnings are what is allowed in the document and probably not meant: places where a client decides by itself whom it is
// counted as, what it pays, or which limits it has, because they come from a header, a cookie or a key that anybody writes. They
// are in the order of their lines. A document that has some is good all the same.
func (d *Document) Warnings() []*limit.FieldError {
	f := &findings{document: d}
	for i, network := range d.Identity.TrustedProxies {
		if network.Bits() == 0 {
			f.add(item("identity.trusted_proxies", i), "%v is everybody: any client then says itself what its address is, and has as many buckets as it writes addresses", network)
		}
	}
	for i := range d.Routes {
		for n := range d.Routes[i].Checks {
			c := &d.Routes[i].Checks[n]
			if c.Shadow { // which denies nobody, and so lets nobody escape
				continue
			}
			path := item(item("routes", i)+".checks", n)
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
	at := "identity.key"
	if len(c.Key) > 0 {
		at = path + ".key"
	}
	f.add(item(at, template), "{%s} is what the client writes: one that writes another with each request is never denied: %s, or add a check by ip:{ip} beside",
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
		return "leave out identity.api_key.any, so that only known keys count"
	case v.Kind == KindCookie:
		return "use a token, as in {jwt.sub}"
	case d.behindProxies():
		return fmt.Sprintf("write {proxy_header.%s}, which counts only from a trusted proxy", v.Name)
	}
	return fmt.Sprintf("let a proxy in front set it, name that in identity.trusted_proxies and write {proxy_header.%s}", v.Name)
}

// madeUpCost warns of a cost in a header that no proxy can have set.
func (f *findings) madeUpCost(path, header string) {
	if header != "" && !f.document.behindProxies() {
		f.add(path, "%s is what the client writes: one that writes 0 pays the least: let a proxy in front set it and name that in "+
			"identity.trusted_proxies, or let the cost be fixed or that of the body", header)
	}
}

// madeUpChoice warns of limits that the client chooses.
func (f *findings) madeUpChoice(path, by string) {
	v, err := ParseVariable(strings.TrimSpace(by))
	if err == nil && f.document.anybodyWrites(v) {
		f.add(path, "%s is what the client writes, and so it chooses its limits: %s", v, f.instead(v))
	}
}
