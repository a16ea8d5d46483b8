package standin

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// unused are variables of envoyproxy/ratelimit that have no meaning here, by what takes their place. A name that ends in * stands for all that begin so.
var unused = map[string][]string{ //nolint:gochecknoglobals // it is a constant
	"the buckets are jeton's, and there is no Redis or memcached: JETON_CLUSTER, or JETON_DATA, says where they are": {
		"REDIS_*", "MEMCACHE_*", "BACKEND_TYPE", "LOCAL_CACHE_SIZE_IN_BYTES", "EXPIRATION_JITTER_MAX_SECONDS", "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT",
	},
	"metrics are Prometheus', at /metrics of DEBUG_PORT, and of PROMETHEUS_ADDR with USE_PROMETHEUS": {
		"USE_STATSD", "STATSD_*", "USE_DOG_STATSD", "USE_DOG_STATSD_MOGRIFIERS*", "DOG_STATSD_MOGRIFIER_*", "EXTRA_TAGS", "STATS_FLUSH_INTERVAL", "DISABLE_STATS", "PROMETHEUS_MAPPER_YAML",
		"PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS", "NEAR_LIMIT_RATIO",
	},
	"there are no traces": {"TRACING_*"},
	"clients show a certificate where GRPC_CLIENT_TLS_CACERT names its authority, as in envoyproxy/ratelimit": {"GRPC_SERVER_TLS_CA_CERT"},
	"connections stay open":                                {"GRPC_MAX_CONNECTION_AGE*"},
	"files are read each second, but for those with a dot": {"RUNTIME_WATCH_ROOT", "RUNTIME_IGNOREDOTFILES"},
	"pauses between connections are always drawn":          {"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", "XDS_CLIENT_BACKOFF_RANDOM_FACTOR", "XDS_CLIENT_BACKOFF_JITTER"},
}

// harmless are values that ask for nothing, or for what is so anyway.
var harmless = map[string][]string{ //nolint:gochecknoglobals // it is a constant
	"RUNTIME_IGNOREDOTFILES": {"true"}, "RUNTIME_WATCH_ROOT": {"true", "false"}, "BACKEND_TYPE": {""}, "XDS_CLIENT_BACKOFF_JITTER": {"true"},
}

// An Unused is what takes the place of variables that are set and have no meaning here.
type Unused struct {
	Instead   string
	Variables []string
}

// unusedOf are those of an environment. Their values are not shown: some are passwords.
func unusedOf(env map[string]string) []Unused {
	var all []Unused
	for instead, names := range unused {
		one := Unused{Instead: instead}
		for name, value := range env {
			if asks(name, value) && slices.ContainsFunc(names, func(pattern string) bool { return matches(pattern, name) }) {
				one.Variables = append(one.Variables, name)
			}
		}
		if len(one.Variables) > 0 {
			slices.Sort(one.Variables)
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Unused) int { return cmp.Compare(a.Variables[0], b.Variables[0]) })
	return all
}

// asks says whether a variable asks for something.
func asks(name, value string) bool {
	is, err := strconv.ParseBool(value)
	return value != "" && (err != nil || is) && !slices.Contains(harmless[name], strings.ToLower(value))
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// A refusal is a variable that would change decisions, and that jeton cannot follow.
type refusal struct {
	name string
	asks func(value string) bool
	says string
}

func isSet(value string) bool { return value != "" }

func isTrue(value string) bool {
	is, err := strconv.ParseBool(value)
	return err != nil || is
}

var refused = []refusal{ //nolint:gochecknoglobals // it is a constant
	{"QUOTA_MODE", isTrue, "a quota mode of all rules is not there: write quota_mode into the rules, or leave it out"},
	{"CACHE_KEY_PREFIX", isSet, "keys have no prefix: services that share a cluster share the buckets of a domain. Give them domains of their own, or a cluster each, and leave it out"},
	{"GRPC_UDS", isSet, "a Unix socket is not there: use GRPC_HOST and GRPC_PORT"},
	{"JETON_TOKEN_FILE", isSet, "checks need no token: leave it out, and name a certificate in JETON_TLS_CERT where the nodes ask for one"},
}

// own are the variables of jeton that are read.
var own = map[string]string{ //nolint:gochecknoglobals // it is a constant
	"JETON_CLUSTER": "gRPC addresses of nodes", "JETON_DATA": "the directory of a node of its own",
	"JETON_TLS_CERT": "certificate for the nodes", "JETON_TLS_KEY": "its key", "JETON_TLS_CA": "authority of the nodes' certificates",
	"JETON_TOKEN_FILE": "refused", "JETON_INLINE_REGISTERS": "how many registers a node of its own keeps",
}

func ownNames() []string { return slices.Sorted(maps.Keys(own)) }
