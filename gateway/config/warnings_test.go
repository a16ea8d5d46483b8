package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// What a client decides by itself is warned of, with its line and what to do; what it does not decide is not.
func TestWarnings(t *testing.T) {
	const (
		web     = "proxy: {upstreams: {web: {urls: [http://127.0.0.1:9000]}}}\n"
		keys    = "api_key: {secret_file: files/secret, any: true}"
		known   = "api_key: {keys_file: files/keys.jsonl}"
		trusted = "identity: {trusted_proxies: [10.0.0.0/8]}\n"
		route   = "routes:\n- name: a\n  path: /{user}\n  checks:\n"
	)
	for name, c := range map[string]struct {
		document string
		want     []string // parts of the warnings, in their order
	}{
		"no route":                     {web, []string{"routes: there is none, so the proxy answers 404 to every request: add one, such as {name: all, path: /}, and its checks"}},
		"no route, for proxies":        {"forward_auth: {}\n", []string{"routes: there is none, so no request that forward_auth is asked about is limited: add one"}},
		"no route, for both":           {web + "forward_auth: {}\nroutes: []\n", []string{"line 3: routes: there is none, so the proxy answers 404 to every request, and no request that forward_auth is asked about is limited: add"}},
		"nothing for anybody":          {"name: a\n", nil},
		"a route without checks":       {web + "routes: [{name: all, path: /}]", nil},
		"addresses":                    {web + route + "  - {limits: [l]}", nil},
		"everybody is a proxy":         {web + "identity: {trusted_proxies: [10.0.0.0/8, 0.0.0.0/0, '::/0']}\nroutes: [{name: all, path: /}]", []string{"identity.trusted_proxies[1]: 0.0.0.0/0 is every address", "identity.trusted_proxies[2]: ::/0 is every address"}},
		"a cost":                       {web + route + "  - limits: [l]\n    cost: {header: X-Units}", []string{"line 7: routes[0].checks[0].cost.header: X-Units is set by the client: one that sends 0 pays the minimum: let a proxy in front set it"}},
		"a cost, from a proxy":         {web + trusted + route + "  - {limits: [l], cost: {header: X-Units}}", nil},
		"a cost, of a proxy that asks": {"forward_auth: {}\n" + route + "  - {limits: [l], cost: {header: X-Units}}", nil},
		"a cost, of clients besides":   {web + "forward_auth: {}\n" + route + "  - {limits: [l], cost: {header: X-Units}}", []string{"cost.header"}},
		"a cost, only counted":         {web + route + "  - {limits: [l], shadow: true, cost: {header: X-Units}}", nil},
		"a cost of bytes":              {web + route + "  - {limits: [l], cost: {bytes_per_token: 100}}", nil},
		"a header": {web + route + "  - limits: [l]\n    key: ['user:{header.X-User}', 'ip:{ip}']", []string{
			"line 7: routes[0].checks[0].key[0]: {header.X-User} is set by the client: one that changes it with each request is never denied: let a proxy in front set it, add the proxy to identity.trusted_proxies and write {proxy_header.X-User}, or add a check by ip:{ip}",
		}},
		"a header, behind a proxy":        {web + trusted + route + "  - {limits: [l], key: ['user:{header.X-User}']}", []string{"key[0]: {header.X-User} is set by the client: one that changes it with each request is never denied: write {proxy_header.X-User}, which counts only"}},
		"a header of the proxy":           {web + trusted + route + "  - {limits: [l], key: ['user:{proxy_header.X-User}', 'ip:{ip}']}", nil},
		"a header, and an address":        {web + route + "  - {limits: [l], key: ['{header.X-User}:{ip}']}", []string{"{header.X-User}"}},
		"an address beside":               {web + route + "  - {limits: [l], key: ['user:{header.X-User}']}\n  - {limits: [l]}", nil},
		"an address beside, only counted": {web + route + "  - {limits: [l], key: ['user:{header.X-User}']}\n  - {limits: [l], shadow: true}", []string{"{header.X-User}"}},
		"a header that only counts":       {web + route + "  - {limits: [l], shadow: true, key: ['user:{header.X-User}']}", nil},
		"a cookie":                        {web + route + "  - {limits: [l], key: ['{cookie.sid}']}", []string{"{cookie.sid} is set by the client: one that changes it with each request is never denied: use a token, as in {jwt.sub}"}},
		"a path":                          {web + route + "  - {limits: [l], key: ['{path.user}']}", nil},
		"any key":                         {web + "identity: {key: ['{api_key}'], " + keys + "}\n" + route + "  - {limits: [l]}\n  - {limits: [m]}", []string{"line 2: identity.key[0]: {api_key} is set by the client: one that changes it with each request is never denied: leave out identity.api_key.any"}},
		"an attribute that no key has": {web + "identity: {" + known + "}\n" + route + "  - limits: [l]\n    choose: {by: api_key.plna, when: [{is: pro, limits: [g]}]}", []string{
			`line 8: routes[0].checks[0].choose.by: no key has the attribute "plna", so no case ever fits: there are label, owner, plan; did you mean plan?`,
		}},
		"an attribute that no key has, in a key": {web + "identity: {key: ['o:{api_key.onwer}', 'ip:{ip}'], " + known + "}\n" + route + "  - {limits: [l]}\n  - {limits: [m], shadow: true, key: ['{api_key.tier}']}", []string{
			`line 2: identity.key[0]: no key has the attribute "onwer", so this template is never filled: there are label, owner, plan; did you mean owner?`,
			`routes[0].checks[1].key[0]: no key has the attribute "tier"`,
		}},
		"a value that no key has": {web + "identity: {" + known + "}\n" + route + "  - limits: [l]\n    choose:\n      by: api_key.plan\n      when:\n      - {is: pro, limits: [g]}\n      - {is: por, limits: [h]}", []string{
			`line 12: routes[0].checks[0].choose.when[1].is: no key has the plan "por", so this case never fits: there are pro; did you mean pro?`,
		}},
		"a value of a key in the document": {web + "identity: {api_key: {keys_file: files/keys.jsonl, secret_file: files/secret, known: [{digest: " + strings.Repeat("0f", 32) + ", attributes: {plan: free}}]}}\n" + route + "  - limits: [l]\n    choose: {by: api_key.plan, when: [{is: pro, limits: [g]}, {is: free, limits: [h]}, {is: fre, limits: [h]}, {from: 3, limits: [h]}]}", []string{
			`choose.when[2].is: no key has the plan "fre", so this case never fits: there are free, pro; did you mean free?`,
		}},
		"a value where there are no keys":                    {web + "identity: {api_key: {keys_file: files/nokeys.jsonl}}\n" + route + "  - limits: [l]\n    choose: {by: api_key.plan, when: [{is: por, limits: [h]}]}", nil},
		"a value of a claim":                                 {web + "identity: {" + known + "}\n" + route + "  - limits: [l]\n    choose: {by: path.user, when: [{is: por, limits: [h]}]}", nil},
		"attributes of keys in the file and in the document": {web + "identity: {api_key: {keys_file: files/keys.jsonl, secret_file: files/secret, known: [{digest: " + strings.Repeat("0f", 32) + ", attributes: {tier: a}}]}}\n" + route + "  - {limits: [l], key: ['{api_key.tier}:{api_key.plan}:{api_key.label}']}", nil},
		"an attribute where there are no keys":               {web + "identity: {api_key: {keys_file: files/nokeys.jsonl}}\n" + route + "  - {limits: [l], key: ['{api_key.tier}']}", nil},
		"known keys":                                         {web + "identity: {key: ['{api_key}', 'ip:{ip}'], " + known + "}\n" + route + "  - {limits: [l]}", nil},
		"a plan":                                             {web + route + "  - limits: [l]\n    plan: '{header.X-Plan}'", []string{"line 7: routes[0].checks[0].plan: header.X-Plan is set by the client, which can so choose its plan: let a proxy in front set it, add the proxy to identity.trusted_proxies and write {proxy_header.X-Plan}"}},
		"a choice":                                           {web + route + "  - limits: [l]\n    choose: {by: header.X-Plan, when: [{is: gold, limits: [g]}]}", []string{"line 7: routes[0].checks[0].choose.by: header.X-Plan is set by the client, which can so choose its limits: let a proxy in front set it"}},
		"two, in the order of lines":                         {web + route + "  - limits: [l]\n    cost: {header: X-Units}\n    key: ['{header.A}']", []string{"line 7: routes[0].checks[0].cost.header", "line 8: routes[0].checks[0].key[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse([]byte(c.document), "testdata")
			if err != nil {
				t.Fatal(err)
			}
			found := d.Warnings()
			if len(found) != len(c.want) {
				t.Fatalf("%d warnings, want %d: %v", len(found), len(c.want), found)
			}
			for i, want := range c.want {
				if got := fmt.Sprint(found[i]); !strings.Contains(got, want) {
					t.Errorf("the warning is\n%s, want\n%s", got, want)
				}
			}
		})
	}
}

// What deploy has is meant so.
func TestDeployHasNoWarnings(t *testing.T) {
	for _, name := range []string{"proxy.yaml", "forward-auth.yaml"} {
		d, err := ReadInsecure(filepath.Join("..", "..", "deploy", "gateway", name))
		if err != nil {
			t.Fatal(err)
		}
		if found := d.Warnings(); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}
