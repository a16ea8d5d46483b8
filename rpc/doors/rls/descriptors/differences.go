package descriptors

import (
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// differences notes what a list of descriptors does not do, or does otherwise than in Envoy's service.
func differences(branches []*branch, to *report) {
	keys := map[string]bool{}
	patterns := map[string][]*branch{}
	for _, b := range branches {
		keys[b.key] = true
	}
	for _, b := range branches {
		stars(b, to)
		withoutEffect(b, to)
		if b.value == "" {
			joined(b, keys, to)
		}
		if prefix, wild := strings.CutSuffix(b.value, "*"); wild {
			before := patterns[b.key]
			if i := slices.IndexFunc(before, func(a *branch) bool { return strings.HasPrefix(prefix, strings.TrimSuffix(a.value, "*")) }); i >= 0 {
				to.note(b.line, strictyaml.Under(b.field, "value"), "%q is never reached: %s has %q, which matches all of it, and the first in the file counts, as in Envoy's service: put the longer one first",
					b.value, before[i].place(), before[i].value)
			}
			patterns[b.key] = append(before, b)
		}
	}
}

// stars notes what a star does not match.
func stars(b *branch, to *report) {
	if strings.Contains(strings.TrimSuffix(b.value, "*"), "*") {
		to.note(b.line, strictyaml.Under(b.field, "value"), "%q: a star that is not the last character matches only a star, as in Envoy's service", b.value)
	}
	if b.value == "" && strings.HasSuffix(b.key, "*") {
		to.note(b.line, strictyaml.Under(b.field, "key"), "%q matches keys that begin so, with any value; Envoy's service compares it with the key and the value, joined by _", b.key)
	}
}

// withoutEffect notes what stands beside no rate_limit.
func withoutEffect(b *branch, to *report) {
	for _, name := range []string{"shadow_mode", "quota_mode", "detailed_metric"} {
		if b.rate == nil && b.flags[name] != 0 {
			to.note(b.flags[name], strictyaml.Under(b.field, name), "has no effect here, as in Envoy's service: it belongs beside a rate_limit, and this descriptor has none")
		}
	}
}

// joined notes a key that Envoy's service cannot tell from another key with a value, because it joins both by _.
func joined(b *branch, keys map[string]bool, to *report) {
	for i := range len(b.key) {
		if b.key[i] == '_' && keys[b.key[:i]] {
			to.note(b.line, strictyaml.Under(b.field, "key"), "%q matches this key alone; in Envoy's service also the key %q with the value %q", b.key, b.key[:i], b.key[i+1:])
		}
	}
}

// unknownReplaces notes names in branches that no rate_limit of the domain has.
func unknownReplaces(branches []*branch, names map[string]bool, to *report) {
	each(branches, func(b *branch) {
		if b.rate == nil {
			return
		}
		for _, other := range b.rate.replaces {
			if !names[other.name] {
				to.note(other.line, other.field, "%q is the name of no rate_limit of this domain, so nothing is replaced", other.name)
			}
		}
	})
}

func each(branches []*branch, f func(*branch)) {
	for _, b := range branches {
		f(b)
		each(b.branches, f)
	}
}
