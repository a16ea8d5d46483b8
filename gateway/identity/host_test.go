package identity_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
)

// A host has one form, and what is no host has none: or everybody could have as many buckets by {host} as he writes ports.
func TestHosts(t *testing.T) {
	f := finder(t, config.Identity{})
	templates := compile(t, f, "{host}", "none")
	label := strings.Repeat("a", 63)
	for host, want := range map[string]string{
		"api.example.com":           "api.example.com",
		"API.Example.com.:8443":     "api.example.com",
		"api.example.com:":          "api.example.com",
		"my_host-1":                 "my_host-1",
		"192.0.2.1:80":              "192.0.2.1",
		"[2001:DB8:0::1]:80":        "[2001%3Adb8%3A%3A1]",
		"[2001:db8::1]":             "[2001%3Adb8%3A%3A1]",
		label + "." + label:         label + "." + label,
		"a:1:2":                     "",
		"a::":                       "",
		"a:b":                       "",
		"a:123456":                  "",
		":80":                       "",
		"":                          "",
		".":                         "",
		"a..b":                      "",
		"a.com..":                   "",
		".a.com":                    "",
		"a b":                       "",
		"a,b":                       "",
		"a/b":                       "",
		"a%2Eb":                     "",
		"user@a":                    "",
		"é.example":                 "",
		label + "a":                 "",
		strings.Repeat("a.", 128):   "",
		strings.Repeat("a.", 1<<19): "",
		"2001:db8::1":               "",
		"[2001:db8::1":              "",
		"[2001:db8::1]x":            "",
		"[2001:db8::1]:80:1":        "",
		"[2001:db8::1%eth0]":        "",
		"[192.0.2.1]":               "",
		"[]":                        "",
	} {
		if want == "" {
			want = "none"
		}
		want = strings.NewReplacer("[", "%5B", "]", "%5D").Replace(want)
		r := from("203.0.113.9")
		r.Host = host
		if got := keyOf(f, templates, r); got != want {
			t.Errorf("the host %.80q makes the key %q, want %q", host, got, want)
		}
	}
}
