package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
)

const before = `
proxy: {upstreams: {web: {urls: ["http://127.0.0.1:9000"]}}}
identity:
  trusted_proxies: [10.0.0.0/8, 192.0.2.1]
  api_key: {keys_file: keys.jsonl}
exempt: {paths: [/health], networks: [127.0.0.0/8]}
deny: {keys: ["user:mallory", "user:trudy", "user:eve"]}
routes:
- {name: open, path: /open}
- name: items
  path: /items
  checks:
  - limits:
    - a
    - b
  - {limits: [c], shadow: true}
- name: login
  path: /login
  checks:
  - {limits: [d], choose: {by: api_key.plan, when: [{is: gold, limits: [e]}]}}
  - {limits: [f]}
`

// What a document says otherwise than the one before is told by names, and what it does without.
func TestDifference(t *testing.T) {
	edit := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			if strings.Count(before, pairs[i]) != 1 {
				t.Fatalf("%q is not there once", pairs[i])
			}
		}
		return strings.NewReplacer(pairs...).Replace(before)
	}
	cut := func(at string) string {
		text, _, _ := strings.Cut(before, at)
		return text
	}
	const digest = "f1ef346b5ed47f7fd3a4d7929b44a425400232df88f6458dc12c6df28f6e95d9"
	files := map[string]string{
		"": `{"label":"ci","owner":"acme","digest":"` + digest + `"}`, "other": `{"label":"other","owner":"acme","digest":"` + digest + `"}`,
		"none": "# ours", "revoked": "# revoked ci " + digest + " 2026-11-22T18:00:00Z",
	}
	for _, c := range []struct {
		name, document, keys string
		want                 config.Difference
		less                 bool
	}{
		{name: "the same", document: before},
		{name: "a comment", document: before + "# more\n"},
		{name: "another order", document: edit("- {name: open, path: /open}\n", "") + "- {name: open, path: /open}\n"},
		{name: "another key in the file", document: before, keys: "other", want: config.Difference{Fields: []string{"identity"}}},
		{name: "no key in the file", document: before, keys: "none", want: config.Difference{KeysGone: []string{"ci"}, Fields: []string{"identity"}}, less: true},
		{name: "a key that was revoked", document: before, keys: "revoked", want: config.Difference{Fields: []string{"identity"}}},
		{name: "a route more", document: before + "- {name: new, path: /new}\n", want: config.Difference{Added: []string{"new"}}},
		{name: "another path", document: edit("path: /items", "path: /v1/items"), want: config.Difference{Changed: []string{"items"}}},
		{name: "another name", document: edit("name: items", "name: things"), want: config.Difference{Added: []string{"things"}, Removed: []string{"items"}}, less: true},
		{name: "cut after a route", document: cut("- name: items"), want: config.Difference{Removed: []string{"items", "login"}}, less: true},
		{name: "cut in a route", document: cut("    - b"), want: config.Difference{Changed: []string{"items"}, Removed: []string{"login"}, FewerChecks: []string{"items"}}, less: true},
		{name: "a check less", document: edit("  - {limits: [f]}\n", ""), want: config.Difference{Changed: []string{"login"}, FewerChecks: []string{"login"}}, less: true},
		{name: "a check in the shadow", document: edit("{limits: [f]}", "{limits: [f], shadow: true}"), want: config.Difference{Changed: []string{"login"}, FewerChecks: []string{"login"}}, less: true},
		{name: "a case less", document: edit("{is: gold, limits: [e]}", "{is: gold, limits: []}"), want: config.Difference{Changed: []string{"login"}, FewerChecks: []string{"login"}}, less: true},
		{name: "a shadow check less", document: edit("  - {limits: [c], shadow: true}\n", ""), want: config.Difference{Changed: []string{"items"}}},
		{name: "keys that are not denied any more", document: edit(`, "user:trudy", "user:eve"`, `, "user:oscar"`), want: config.Difference{Gone: []string{"deny.keys: 2 of 3"}, Fields: []string{"deny"}}, less: true},
		{name: "no keys of clients", document: edit("  api_key: {keys_file: keys.jsonl}\n", "", "api_key.plan", "header.Plan"), want: config.Difference{Changed: []string{"login"}, Gone: []string{"identity.api_key"}, Fields: []string{"identity"}}, less: true},
		{
			name: "cut at the top", document: cut("identity:"),
			want: config.Difference{
				Removed: []string{"open", "items", "login"}, Fields: []string{"identity", "exempt", "deny"},
				Gone: []string{"identity.trusted_proxies: 2 of 2", "identity.api_key", "exempt.paths: 1 of 1", "exempt.networks: 1 of 1", "deny.keys: 3 of 3"},
			}, less: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			parse := func(text, keys string) *config.Document {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, "keys.jsonl"), []byte(files[keys]), 0o600); err != nil {
					t.Fatal(err)
				}
				d, err := config.Parse([]byte(text), dir)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			first := parse(before, "")
			got := parse(c.document, c.keys).Since(first)
			if !reflect.DeepEqual(got, c.want) || got.Less() != c.less {
				t.Errorf("it differs in\n%+v, less: %v; want\n%+v, %v", got, got.Less(), c.want, c.less)
			}
		})
	}
}
