package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/internal/bearer"
)

// TestRanges holds every bounded field against its bounds, and what is just outside of them.
func TestRanges(t *testing.T) {
	const (
		proxy = "proxy: {upstreams: {web: {urls: [http://h]}}, %s: %%s}\n"
		web   = "proxy: {upstreams: {web: {urls: [http://h], %s: %%s}}}\n"
		jwt   = "identity: {jwt: [{jwks_url: 'https://h', algorithms: [RS256], %s: %%s}]}\n"
	)
	for _, c := range []struct {
		document      string // with a place for the value
		field         string
		right, beyond []string
	}{
		{"cluster: {decide_within: %s}\n", "cluster.decide_within", []string{"0s", "1ms", "30s"}, []string{"999us", "30001ms", "-1ms"}},
		{"cluster: {repeat_denials: %s}\n", "cluster.repeat_denials", []string{"0s", "1ms", "1s"}, []string{"-1ms", "1001ms"}},
		{"cluster: {gateways: %s}\n", "cluster.gateways", []string{"0", "1", "10000"}, []string{"-1", "10001"}},
		{"cluster: {max_in_flight: %s}\n", "cluster.max_in_flight", []string{"0", "1", "10000000"}, []string{"-1", "10000001"}},
		{"cluster: {max_in_flight_per_client: %s}\n", "cluster.max_in_flight_per_client", []string{"0", "1", "10000000"}, []string{"-1", "10000001"}},
		{fmt.Sprintf(proxy, "body_rate"), "proxy.body_rate", []string{"-1", "0", "1", "1073741824"}, []string{"-2", "1073741825"}},
		{fmt.Sprintf(web, "body_rate"), "proxy.upstreams.web.body_rate", []string{"-1", "0", "1", "1073741824"}, []string{"-2", "1073741825"}},
		{fmt.Sprintf(proxy, "answer_pause"), "proxy.answer_pause", []string{"0s", "1ms", "24h"}, []string{"1us", "25h", "-1s"}},
		{fmt.Sprintf(proxy, "max_connections"), "proxy.max_connections", []string{"0", "1", "1000000"}, []string{"-1", "1000001"}},
		{fmt.Sprintf(proxy, "max_connections_per_client"), "proxy.max_connections_per_client", []string{"0", "1", "1000000"}, []string{"-1", "1000001"}},
		{fmt.Sprintf(proxy, "max_header"), "proxy.max_header", []string{"0", "1024", "16777216"}, []string{"1023", "16777217", "-1"}},
		{fmt.Sprintf(proxy, "max_body"), "proxy.max_body", []string{"-1", "0", "1", "9223372036854775807"}, []string{"-2"}},
		{fmt.Sprintf(proxy, "max_body_memory"), "proxy.max_body_memory", []string{"0", "10485760", "1099511627776"}, []string{"-1", "10485759", "1099511627777"}},
		{fmt.Sprintf(proxy, "max_body_memory_per_client"), "proxy.max_body_memory_per_client", []string{"0", "10485760", "1099511627776"}, []string{"-1", "10485759", "1099511627777"}},
		{fmt.Sprintf(proxy, "header_within"), "proxy.header_within", []string{"0s", "1ms", "10m"}, []string{"1us", "10m1s", "-1s"}},
		{fmt.Sprintf(proxy, "body_pause"), "proxy.body_pause", []string{"0s", "1ms", "24h"}, []string{"1us", "25h", "-1s"}},
		{fmt.Sprintf(proxy, "idle_within"), "proxy.idle_within", []string{"0s", "1ms", "24h"}, []string{"1us", "25h", "-1s"}},
		{fmt.Sprintf(web, "connect_within"), "proxy.upstreams.web.connect_within", []string{"0s", "1ms", "10m"}, []string{"1us", "11m", "-1s"}},
		{fmt.Sprintf(web, "respond_within"), "proxy.upstreams.web.respond_within", []string{"0s", "1ms", "24h"}, []string{"1us", "25h", "-1s"}},
		{fmt.Sprintf(jwt, "leeway"), "identity.jwt[0].leeway", []string{"0s", "1ms", "1h"}, []string{"1us", "61m", "-1s"}},
		{fmt.Sprintf(jwt, "refresh_every"), "identity.jwt[0].refresh_every", []string{"0s", "1s", "24h"}, []string{"999ms", "25h", "-1s"}},
		{"identity: {ipv6_prefix: %s}\n", "identity.ipv6_prefix", []string{"0", "1", "128"}, []string{"-1", "129"}},
		{"answer: {status: %s}\n", "answer.status", []string{"0", "400", "599"}, []string{"-1", "399", "600"}},
		{"log: {denied: %s}\n", "log.denied", []string{"0", "0.5", "1", "1e-9"}, []string{"-0.1", "1.1"}},
		{"log: {allowed: %s}\n", "log.allowed", []string{"0", "1"}, []string{"-0.1", "1.1"}},
		{"access_log: {path: '-', sample: %s}\n", "access_log.sample", []string{"0", "0.5", "1"}, []string{"-0.1", "1.1"}},
		{"access_log: {path: '-', what: '%s'}\n", "access_log.what", []string{"denied", "undecided", "all"}, []string{"none"}},
		{"access_log: {path: '%s', hash_keys: true}\n", "access_log.path", []string{"-", "/var/log/access.log"}, []string{""}},
		{"tracing: {share: %s}\n", "tracing.share", []string{"0", "1"}, []string{"-0.1", "1.1"}},
		{"tracing: {endpoint: '%s'}\n", "tracing.endpoint", []string{"", "h:1", "[::1]:65535"}, []string{":1", "h:0", "h:65536", "h:01", "h", "a..b:1", "-a:1"}},
		{"forward_auth: {listen: '%s'}\n", "forward_auth.listen", []string{"", ":1", "h:0", "[::1]:1"}, []string{"h", "h:-1", "h:65536", "a b:1", ":http"}},
		{fmt.Sprintf(jwt, "header"), "identity.jwt[0].header", []string{"X-Token"}, []string{"'a b'", "'a:'", "ü"}},
		{"identity: {jwt: [{jwks_url: '%s', algorithms: [RS256]}]}\n", "identity.jwt[0].jwks_url", []string{
			"https://h/keys", "http://localhost:1", "http://127.0.0.1", "http://[::1]:8080/",
		}, []string{"http://h", "https://u:p@h", "https://", "ftp://h", "https://h:x", "https://a b", "h"}},
		{"identity: {api_key: {any: true, secret_file: files/secret, header: %s}}\n", "identity.api_key.header", []string{"X-Key"}, []string{"'a b'"}},
		{"exempt: {token_header: %s}\n", "exempt.token_header", []string{"X-Key"}, []string{"'a b'", "'('"}},
		{"routes: [{name: a, path: /, hosts: ['%s']}]\n", "routes[0].hosts[0]", []string{
			"h", "*.example.com", "10.0.0.1", "::1", "[::1]", "a_b.example", strings.Repeat("a.", 126) + "b",
		}, []string{
			"", "*", "*.", "a.*.b", "*.*.a", "a.", ".a", "a:80", "[::1]:80", "fe80::1%eth0", "A", "a/b", "-a", "a-", strings.Repeat("a", 64),
			strings.Repeat("a.", 127) + "b",
		}},
		{"routes: [{name: a, path: /, methods: ['%s']}]\n", "routes[0].methods[0]", []string{"GET", "M-SEARCH", "X_1"}, []string{"", "get", "A B", "A.B", "Ä"}},
		{"routes: [{name: '%s', path: /}]\n", "routes[0].name", []string{"a", "A.b-c_9", strings.Repeat("a", 64)}, []string{"", "a b", "ä", strings.Repeat("a", 65)}},
		{"name: '%s'\n", "name", []string{"", "a", "Edge-1", strings.Repeat("a", 32)}, []string{"-a", "a-", "a.b", "a_b", strings.Repeat("a", 33)}},
	} {
		for _, value := range c.right {
			if _, err := Parse(fmt.Appendf(nil, c.document, value), "testdata"); err != nil {
				t.Errorf("%s, %s: %v", c.field, value, err)
			}
		}
		for _, value := range c.beyond {
			_, err := Parse(fmt.Appendf(nil, c.document, value), "testdata")
			if err == nil {
				t.Errorf("%s, %s: no error", c.field, value)
				continue
			}
			if found := problemsIn(t, err); len(found) != 1 || found[0].Field != c.field || found[0].Line != 1 {
				t.Errorf("%s, %s: %v", c.field, value, err)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	d := program()
	d.Exempt.TokenFile = FileOf([]byte("\n\n" + strings.Repeat("a", bearer.MaxLength+1)))
	wantProblem(t, d, "exempt.token_file", "line 3: a token has at most 4096 bytes, this one has 4097")
	d.Exempt.TokenFile = FileOf([]byte(strings.Repeat("ä", bearer.MinLength)))
	wantProblem(t, d, "exempt.token_file", "line 1: a token is printable ASCII")
	d.Exempt.TokenFile = FileOf([]byte(" " + strings.Repeat("a", bearer.MinLength) + "\r\n" + strings.Repeat("a", bearer.MaxLength)))
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}
