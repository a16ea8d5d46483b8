package config

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A Difference is what has changed from one document to the next, by names. Every list is in the order of the document that has
// the names.
type Difference struct {
	// Added, Changed and Removed are routes.
	Added, Changed, Removed []string
	// FewerChecks are those of Changed that have fewer checks, or name fewer limits, than before. Shadow checks, which deny nothing,
	// do not count.
	FewerChecks []string
	// Gone are the removed fields that denied, exempted or identified clients: "identity.api_key", or, of a list, how many of its
	// items were removed, such as "deny.keys: 2 of 3". It has no values, which may be personal data.
	Gone []string
	// KeysGone are the labels of keys that the files no longer have, and do not list as revoked. It is empty where the document no
	// longer has API keys: then Gone has identity.api_key.
	KeysGone []string
	// Fields are the fields at the top of the document, except routes, whose value or whose files have changed.
	Fields []string
}

// Less says whether the new document lacks something: an operator has removed it, or the file was cut off.
func (d Difference) Less() bool {
	return len(d.Removed)+len(d.FewerChecks)+len(d.Gone)+len(d.KeysGone) > 0
}

// Since is what has changed from before to d.
func (d *Document) Since(before *Document) Difference {
	var diff Difference
	had := make(map[string]*Route, len(before.Routes))
	for i := range before.Routes {
		had[before.Routes[i].Name] = &before.Routes[i]
	}
	for i := range d.Routes {
		r := &d.Routes[i]
		old := had[r.Name]
		delete(had, r.Name)
		switch {
		case old == nil:
			diff.Added = append(diff.Added, r.Name)
			continue
		case digest(nil, reflect.ValueOf(*r)) == digest(nil, reflect.ValueOf(*old)):
			continue
		}
		diff.Changed = append(diff.Changed, r.Name)
		if r.asks().less(old.asks()) {
			diff.FewerChecks = append(diff.FewerChecks, r.Name)
		}
	}
	for i := range before.Routes {
		if name := before.Routes[i].Name; had[name] != nil {
			diff.Removed = append(diff.Removed, name)
		}
	}
	diff.Gone = gone(before.holdings(), d.holdings())
	diff.KeysGone = keysGone(before.Identity.APIKey, d.Identity.APIKey)
	diff.Fields = changedFields(reflect.ValueOf(before).Elem(), reflect.ValueOf(d).Elem())
	return diff
}

// keysGone are the labels of keys that the files no longer have, and do not list as revoked.
func keysGone(before, now *APIKey) (labels []string) {
	if before == nil || now == nil {
		return nil
	}
	have := now.KeysFile.Keys()
	for _, k := range before.KeysFile.Keys().All() {
		if have.Find(k.Digest) == nil && !have.Revoked(k.Digest) {
			labels = append(labels, k.Label)
		}
	}
	return labels
}

// asks is how many checks of a route may deny, and how many limits they name.
type asks struct{ checks, limits int }

func (a asks) less(than asks) bool { return a.checks < than.checks || a.limits < than.limits }

func (r *Route) asks() (a asks) {
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Shadow {
			continue
		}
		a.checks++
		a.limits += len(c.Limits)
		if c.Choose != nil {
			for _, when := range c.Choose.When {
				a.limits += len(when.Limits)
			}
		}
	}
	return a
}

// A holding is the values of one field that denies, exempts or identifies clients.
type holding struct {
	field  string
	list   bool
	values []string
}

// holdings are those of a document, always the same fields in the same order.
func (d *Document) holdings() []holding {
	one := func(field string, given bool) holding {
		h := holding{field: field}
		if given {
			h.values = []string{field}
		}
		return h
	}
	var issuers []string
	for _, j := range d.Identity.JWT {
		issuers = append(issuers, fmt.Sprintf("%q %q %q %q", j.Issuer, j.JWKSURL, j.JWKSFile.Path, j.SecretFile.Path))
	}
	var known []string
	if a := d.Identity.APIKey; a != nil {
		for _, k := range a.Known {
			known = append(known, k.Digest)
		}
	}
	return []holding{
		{"identity.trusted_proxies", true, texts(d.Identity.TrustedProxies)},
		{"identity.jwt", true, issuers},
		one("identity.api_key", d.Identity.APIKey != nil),
		{"identity.api_key.known", true, known},
		one("exempt.token_file", d.Exempt.TokenFile.Given()),
		{"exempt.paths", true, d.Exempt.Paths},
		{"exempt.networks", true, texts(d.Exempt.Networks)},
		{"deny.networks", true, texts(d.Deny.Networks)},
		{"deny.keys", true, d.Deny.Keys},
	}
}

func texts(networks []Network) []string {
	all := make([]string, len(networks))
	for i, n := range networks {
		all[i] = n.String()
	}
	return all
}

// gone are the fields that lack values they had before.
func gone(before, now []holding) (list []string) {
	for i, had := range before {
		missing := 0
		for _, value := range had.values {
			if !slices.Contains(now[i].values, value) {
				missing++
			}
		}
		switch {
		case missing == 0:
		case had.list:
			list = append(list, fmt.Sprintf("%s: %d of %d", had.field, missing, len(had.values)))
		default:
			list = append(list, had.field)
		}
	}
	return list
}

// changedFields are the fields at the top of a document, except routes, in which two documents differ.
func changedFields(before, now reflect.Value) (names []string) {
	for i, name := range strictyaml.FieldNames(now.Type()) {
		if name != "" && name != "routes" && digest(nil, before.Field(i)) != digest(nil, now.Field(i)) {
			names = append(names, name)
		}
	}
	return names
}
