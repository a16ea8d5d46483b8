package config

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/llm"
)

// A bound narrows what a definition or a property may be.
type bound func(*jsonschema.Schema)

const (
	namePattern      = `^[A-Za-z0-9._-]{1,64}$`
	identityPattern  = `^[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$`
	limitNamePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`
	urlPattern       = `^[hH][tT][tT][pP][sS]?://`
	upstreamPattern  = `^([hH][tT][tT][pP][sS]?|[hH]2[cC])://`
	addressPattern   = `:[0-9]{1,5}$`
)

// bounds are what the types of Go do not say of the fields of a document, by type and field; a zero stands for the default.
var bounds = map[string]bound{
	"Document.name": pattern(`^$|` + identityPattern),

	"Document.clusters": named,
	"Check.cluster":     pattern(`^$|` + namePattern),

	"Cluster.servers":                  all(different, each(pattern(addressPattern))),
	"Cluster.gateways":                 upTo(10_000),
	"Cluster.max_in_flight":            upTo(10_000_000),
	"Cluster.max_in_flight_per_client": upTo(10_000_000),
	"MutualTLS":                        required("cert", "key", "ca"),
	"ServerTLS":                        required("cert", "key"),

	"Proxy":                            required("upstreams"),
	"Proxy.listen":                     pattern(`^$|` + addressPattern),
	"Proxy.upstreams":                  named,
	"Proxy.max_header":                 upTo(16 << 20),
	"Proxy.max_body":                   least(-1),
	"Proxy.max_body_memory":            upTo(1 << 40),
	"Proxy.max_body_memory_per_client": upTo(1 << 40),
	"Proxy.body_rate":                  all(least(-1), most(1<<30)),
	"Proxy.max_connections":            upTo(1_000_000),
	"Proxy.max_connections_per_client": upTo(1_000_000),
	"Upstream.body_rate":               all(least(-1), most(1<<30)),
	"Upstream":                         required("urls"),
	"Upstream.urls":                    all(some(1, 0), each(pattern(upstreamPattern))),
	"ForwardAuth.listen":               pattern(`^$|` + addressPattern),
	"Doors.grpc":                       all(different, each(words(GRPCDoors()...))),
	"Doors.listen":                     pattern(`^$|` + addressPattern),
	"Doors.redis":                      pattern(`^$|` + addressPattern),
	"Admin.listen":                     pattern(`^$|` + addressPattern),
	"Tracing.endpoint":                 pattern(`^$|` + addressPattern),
	"Tracing.share":                    upTo(1),
	"AccessLog.sample":                 upTo(1),
	"AccessLog.what":                   words("", "denied", "undecided", "all"),
	"Log.denied":                       upTo(1),
	"Log.allowed":                      upTo(1),

	"Identity.key":                all(different, each(pattern(`.`))),
	"Identity.ipv6_prefix":        upTo(128),
	"Identity.on_bad_credentials": words("", Anonymous, Refuse),
	"JWT":                         all(required("algorithms"), exactlyOne("jwks_url", "jwks_file", "secret_file")),
	"JWT.jwks_url":                pattern(`^$|` + urlPattern),
	"JWT.algorithms":              all(different, some(1, 0), each(words(append(sorted(keyTypes), secretAlgorithms...)...))),
	"APIKey":                      someOf("secret_file", "keys_file"),
	"KnownKey":                    required("digest"),
	"KnownKey.digest":             pattern(`^[0-9a-f]{64}$`),
	"KnownKey.attributes":         named,

	"Exempt.paths": all(different, each(pattern(`^/`))),
	"Deny.keys":    all(different, each(pattern(`.`))),

	"Route":         required("name", "path"),
	"Route.name":    pattern(namePattern),
	"Route.path":    pattern(`^/`),
	"Route.hosts":   all(different, each(pattern(`^(\*\.)?[a-z0-9_.-]+$|^\[?[0-9a-fA-F.:]*:[0-9a-fA-F.:]*\]?$`))),
	"Route.methods": all(different, each(pattern(`^[^a-z]+$`))),

	"Route.refund":      all(different, some(1, 0)),
	"Route.charge_when": all(different, some(1, 0)),

	"Check":              someOf("limits", "choose"),
	"Check.key":          all(different, each(pattern(`.`))),
	"Check.limits":       all(different, some(0, limit.MaxLimits), each(pattern(limitNamePattern))),
	"Check.unidentified": words("", "deny", Skip),
	"Check.counts":       words(append([]string{""}, Counted()...)...),
	"Choose":             required("by", "when"),
	"Choose.by":          pattern(`^[^{}]+$`),
	"Choose.when":        some(1, 0),
	"Case":               all(required("limits"), exactlyOne("is", "below", "from")),
	"Case.limits":        all(different, some(0, limit.MaxLimits), each(pattern(limitNamePattern))),

	"Cost.tokens":          least(0),
	"Cost.bytes_per_token": least(0),
	"Cost.min":             least(0),
	"Cost.max":             least(0),

	"LLM":                required("api"),
	"LLM.api":            words(llm.APIs()...),
	"LLM.default_output": upTo(maxOutput),
	"LLM.least_output":   upTo(maxOutput),
	"LLM.prices":         models,
	"LLM.quota_status":   statuses(0, http.StatusTooManyRequests, http.StatusForbidden),
	"Paths":              someOf("input", "output", "total"),

	"CORS":         required("origins"),
	"CORS.origins": all(different, some(1, 0), each(pattern(`^(\*|https?://[^A-Z]+)$`))),
	"CORS.methods": all(different, each(pattern(`^[^a-z]+$`))),
	"CORS.headers": different,

	"Answer.headers": all(different, each(words(append(HeaderForms(), FormNone)...))),
	"Answer.status":  upTo(599),
}

func all(bounds ...bound) bound {
	return func(s *jsonschema.Schema) {
		for _, b := range bounds {
			b(s)
		}
	}
}

func pattern(p string) bound { return func(s *jsonschema.Schema) { s.Pattern = p } }

func required(fields ...string) bound { return func(s *jsonschema.Schema) { s.Required = fields } }

func least(n int64) bound {
	return func(s *jsonschema.Schema) { s.Minimum = json.Number(strconv.FormatInt(n, 10)) }
}

// upTo is of numbers from 0 on.
func upTo(n int64) bound { return all(least(0), most(n)) }

func most(n int64) bound {
	return func(s *jsonschema.Schema) { s.Maximum = json.Number(strconv.FormatInt(n, 10)) }
}

// different is of lists in which nothing is twice.
func different(s *jsonschema.Schema) { s.UniqueItems = true }

// some bounds how many items a list has; a maximum of 0 means none.
func some(minimum, maximum uint64) bound {
	return func(s *jsonschema.Schema) {
		if minimum > 0 {
			s.MinItems = &minimum
		}
		if maximum > 0 {
			s.MaxItems = &maximum
		}
	}
}

func each(b bound) bound { return func(s *jsonschema.Schema) { b(s.Items) } }

func words(list ...string) bound {
	return func(s *jsonschema.Schema) {
		for _, w := range list {
			s.Enum = append(s.Enum, w)
		}
	}
}

// named is of mappings whose names are the user's own.
func named(s *jsonschema.Schema) { s.PropertyNames = &jsonschema.Schema{Pattern: namePattern} }

// models is of mappings by models.
func models(s *jsonschema.Schema) {
	s.PropertyNames = &jsonschema.Schema{Pattern: `^[^*]+\*?$|^\*$`}
}

func statuses(list ...int) bound {
	return func(s *jsonschema.Schema) {
		for _, n := range list {
			s.Enum = append(s.Enum, n)
		}
	}
}

func exactlyOne(fields ...string) bound {
	return func(s *jsonschema.Schema) {
		for _, f := range fields {
			one := &jsonschema.Schema{Required: []string{f}, Properties: jsonschema.NewProperties()}
			one.Properties.Set(f, &jsonschema.Schema{MinLength: new(uint64(1))}) // an empty text stands for none
			s.OneOf = append(s.OneOf, one)
		}
	}
}

func someOf(fields ...string) bound {
	return func(s *jsonschema.Schema) {
		for _, f := range fields {
			s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Required: []string{f}})
		}
	}
}

// costs makes a cost a number or a mapping.
func costs(s *jsonschema.Schema) {
	mapping := *s
	mapping.Description = ""
	*s = jsonschema.Schema{
		Description: s.Description,
		OneOf:       []*jsonschema.Schema{{Type: "integer", Minimum: "0"}, &mapping},
	}
}
