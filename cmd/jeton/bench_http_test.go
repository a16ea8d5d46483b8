package main

import (
	"strings"
	"testing"
)

func TestBenchHTTPRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"bench http --nodes 2":                                      `--nodes: "2" is not known: use 1, 3, 5`,
		"bench http --by cookie":                                    `--by: "cookie" is not known: use api-key, header`,
		"bench http --keys new":                                     `--keys: "new" is not known`,
		"bench http --only tunnel":                                  `--only: "tunnel" is no case: they are proxy, `,
		"bench http --quick --pairs -1":                             "--pairs: -1 is not between",
		"bench http --quick --duration -1s":                         "--duration: -1s is not above 0",
		"bench http --output yaml":                                  "text or json",
		"bench http --temp /nonexistent":                            "--temp: /nonexistent is not a folder",
		"bench http some":                                           "some",
		"bench http-server --role tunnel":                           `--role: "tunnel" is not known: use upstream, `,
		"bench http-server --role bare-proxy --upstream 10.0.0.1:9": `--upstream: "10.0.0.1:9" is not a URL`,
	} {
		if _, stderr, code := jeton(t, nil, strings.Fields(args)...); code != exitError || !strings.Contains(stderr, want) {
			t.Errorf("jeton %s: exit code %d, %q; want %q", args, code, stderr, want)
		}
	}
}
