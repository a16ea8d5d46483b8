package config

import (
	"reflect"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// Validate checks a document, parsed or made by a program, without the network. Every problem is a *[limit.FieldError], with its line
// if the document was parsed; they are joined.
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
	f.cluster("cluster", d.Cluster)
	f.clusters(d.Clusters)
	if d.Proxy != nil {
		f.proxy(d.Proxy)
	}
	if d.ForwardAuth != nil {
		f.networks("forward_auth.trusted", d.ForwardAuth.Trusted)
	}
	if d.Doors != nil {
		f.doors(d.Doors)
	}
	f.listeners()
	f.admin(d.Admin)
	f.identity(d.Identity)
	f.exempt(d.Exempt)
	f.networks("deny.networks", d.Deny.Networks)
	f.denyKeys(d.Deny.Keys)
	f.routes(d.Routes)
	f.answer("answer", d.Answer, nil)
	f.cors("cors", d.CORS)
	if d.Log.Denied != nil {
		f.share("log.denied", *d.Log.Denied)
	}
	f.share("log.allowed", d.Log.Allowed)
	f.accessLog(d.AccessLog)
	f.tracing(d.Tracing)
	f.files(reflect.ValueOf(d).Elem(), "")
	return f.list
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

func (f *findings) accessLog(a AccessLog) {
	f.oneOf("access_log.what", a.What, LogsDenied, LogsUndecided, LogsAll)
	if a.Sample != nil {
		f.share("access_log.sample", *a.Sample)
	}
	if a.Path == "" && a != (AccessLog{}) {
		f.add("access_log.path", "is missing: write a file, such as /var/log/jeton/access.log, or - for standard output")
	}
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
