package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// Validate checks all that can be known of a document without asking anybody, of one made by a program too. Every problem
// is a *[limit.FieldError], with its line in a document that was parsed; they are joined.
func (d *Document) Validate() error {
	if found := d.problems(); len(found) > 0 {
		return joined(found)
	}
	return nil
}

// problems are all that Validate finds.
func (d *Document) problems() []*limit.FieldError {
	f := &findings{document: d}
	if d.Name != "" && !isGatewayName(d.Name) {
		f.add("name", "%.64q is not a gateway name: write 1 to %d letters, digits and dashes, no dash at its ends", d.Name, maxGatewayName)
	}
	f.cluster(d.Cluster)
	if d.Proxy != nil {
		f.proxy(d.Proxy)
	}
	if d.ForwardAuth != nil {
		f.networks("forward_auth.trusted", d.ForwardAuth.Trusted)
	}
	f.listeners()
	f.admin(d.Admin)
	f.identity(d.Identity)
	f.exempt(d.Exempt)
	f.networks("deny.networks", d.Deny.Networks)
	f.denyKeys(d.Deny.Keys)
	f.routes(d.Routes)
	f.answer("answer", d.Answer)
	f.cors("cors", d.CORS)
	if d.Log.Denied != nil {
		f.share("log.denied", *d.Log.Denied)
	}
	f.share("log.allowed", d.Log.Allowed)
	f.tracing(d.Tracing)
	f.files(reflect.ValueOf(d).Elem(), "")
	return f.list
}

// findings are the problems of a document.
type findings struct {
	document *Document
	list     []*limit.FieldError
}

// add is a problem at the path of a field.
func (f *findings) add(path, format string, args ...any) {
	f.list = append(f.list, &limit.FieldError{Field: path, Problem: fmt.Sprintf(format, args...), Line: f.line(path)})
}

// check adds err, if there is one, as the problem at a path.
func (f *findings) check(path string, err error) {
	if err != nil {
		f.add(path, "%s", err)
	}
}

// line is where a field stands, or, when it is missing, that which it belongs to; 0 when nothing is known of lines.
func (f *findings) line(path string) int {
	for {
		if line, ok := f.document.lines[path]; ok {
			return line
		}
		if path == "" {
			return 0
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// within checks a number that may be 0, for its default.
func within[N ~int | ~int64](f *findings, path string, n, least, most N) {
	if n != 0 && (n < least || n > most) {
		f.add(path, "%v is out of range: at least %v and at most %v", n, least, most)
	}
}

// duration checks one that may be 0, for its default.
func (f *findings) duration(path string, d Duration, least, most time.Duration) {
	within(f, path, d, Duration(least), Duration(most))
}

// share checks a part of a whole.
func (f *findings) share(path string, s float64) {
	if !(s >= 0 && s <= 1) { // which holds for NaN too
		f.add(path, "%v is out of range: a share is from 0 to 1", s)
	}
}

// oneOf checks a word that may be empty.
func (f *findings) oneOf(path, word string, words ...string) {
	if word != "" && !slices.Contains(words, word) {
		f.add(path, "%.64q is not known: use %s", word, strings.Join(words, ", "))
	}
}

// header checks the name of one, which may be empty.
func (f *findings) header(path, name string) {
	if name != "" && !isToken(name) {
		f.add(path, "%.64q is not a header name, such as X-Api-Key", name)
	}
}

// different checks that nothing is in a list twice.
func (f *findings) different(path string, list []string) {
	first := make(map[string]int, len(list))
	for i, s := range list {
		before, twice := first[s]
		if !twice {
			first[s] = i
			continue
		}
		f.add(strictyaml.Item(path, i), "%.64q is a duplicate of %s", s, strictyaml.Item(path, before))
	}
}

func (f *findings) networks(path string, networks []Network) {
	for i, n := range networks {
		if problem := n.problem(); problem != "" {
			f.add(strictyaml.Item(path, i), "%.64q %s", n.String(), problem)
		}
	}
}

// patterns checks those of paths.
func (f *findings) patterns(path string, patterns []string) {
	for i, p := range patterns {
		f.check(strictyaml.Item(path, i), CheckPattern(p))
	}
	f.different(path, patterns)
}

func (f *findings) exempt(e Exempt) {
	f.tokens("exempt.token_file", e.TokenFile)
	f.header("exempt.token_header", e.TokenHeader)
	f.patterns("exempt.paths", e.Paths)
	f.networks("exempt.networks", e.Networks)
}

// denyKeys checks keys, which are not templates.
func (f *findings) denyKeys(keys []string) {
	const path = "deny.keys"
	for i, key := range keys {
		switch err := limit.ValidateKey(key); {
		case err != nil:
			f.add(strictyaml.Item(path, i), "%s", strings.TrimPrefix(err.Error(), "key: "))
		case strings.ContainsAny(key, "{}"):
			f.add(strictyaml.Item(path, i), "%.64q holds a brace: write the key of one client, not a template, such as user:mallory", key)
		}
	}
	f.different(path, keys)
}

func (f *findings) tracing(t Tracing) {
	if t.Endpoint != "" {
		f.check("tracing.endpoint", checkServer(t.Endpoint))
	}
	f.share("tracing.share", t.Share)
}

// files finds files that are named and have not been read, in a document made by a program.
func (f *findings) files(v reflect.Value, path string) {
	eachValue(v, path, func(path string, v reflect.Value) {
		if file, ok := reflect.TypeAssert[File](v); ok && file.Given() && file.content == nil {
			f.add(path, "%.64q has not been read: parse a document, or give the content with FileOf", file.Path)
		}
		if file, ok := reflect.TypeAssert[KeysFile](v); ok && file.Given() && file.set == nil {
			f.add(path, "%.64q has not been read: parse a document, or give the keys with KeysFileOf", file.Path)
		}
	})
}

// isGatewayName says whether s is 1 to 32 letters, digits and dashes, with no dash at its ends.
func isGatewayName(s string) bool {
	return isName(s) && len(s) <= maxGatewayName && !strings.ContainsAny(s, "._") && s[0] != '-' && s[len(s)-1] != '-'
}

// sorted are the names of a mapping, in their order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
