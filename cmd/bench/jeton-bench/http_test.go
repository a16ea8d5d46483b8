package main

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

func TestBenchHTTPRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"http --nodes 2":              `--nodes: "2" is not known: use 1, 3, 5`,
		"http --by cookie":            `--by: "cookie" is not known: use api-key, header`,
		"http --keys new":             `--keys: "new" is not known`,
		"http --only tunnel":          `--only: "tunnel" is no case: they are proxy, `,
		"http --quick --pairs -1":     "--pairs: -1 is not between",
		"http --quick --duration -1s": "--duration: -1s is not above 0",
		"http --output yaml":          "text or json",
		"http --temp /nonexistent":    "--temp: /nonexistent is not a folder",
		"http some":                   "some",
		"http-server --role tunnel":   `--role: "tunnel" is not known: use upstream, `,
		"http-server --role bare-proxy --upstream 10.0.0.1:9": `--upstream: "10.0.0.1:9" is not a URL`,
	} {
		if _, stderr, code := benchmark(t, nil, strings.Fields(args)...); code != cli.ExitError || !strings.Contains(stderr, want) {
			t.Errorf("jeton bench %s: exit code %d, %q; want %q", args, code, stderr, want)
		}
	}
}
