package route_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/route"
)

var label = strings.Repeat("a", 63)

// A host has one form, and what is no host has none: or anybody could make up names for a host that no route has.
var hostForms = map[string]string{
	"api.example.com":                     "api.example.com",
	"API.Example.com.:8443":               "api.example.com :8443",
	"my_host-1":                           "my_host-1",
	"xn--bcher-kva.example":               "xn--bcher-kva.example",
	"1a.2b":                               "1a.2b",
	"192.0.2.1:80":                        "192.0.2.1 :80",
	"192.0.2.1.":                          "192.0.2.1",
	"[2001:DB8:0::1]:80":                  "[2001:db8::1] :80",
	"[2001:db8::1]":                       "[2001:db8::1]",
	"[::ffff:192.0.2.1]":                  "[::ffff:192.0.2.1]",
	"h:65535":                             "h :65535",
	label + "." + label:                   label + "." + label,
	"":                                    "",
	".":                                   "",
	":80":                                 "",
	"h:":                                  "",
	"h:0":                                 "",
	"h:080":                               "",
	"h:65536":                             "",
	"h:+80":                               "",
	"h:b":                                 "",
	"limited.example:80:80":               "",
	"a:1:2":                               "",
	"a::":                                 "",
	"a..b":                                "",
	"limited.example..":                   "",
	".a.com":                              "",
	"a b":                                 "",
	"a,b":                                 "",
	"a/b":                                 "",
	`a\b`:                                 "",
	"a%2Eb":                               "",
	"limited%2eexample":                   "",
	"user@a":                              "",
	"user:80@a":                           "",
	"é.example":                           "",
	"a\x00":                               "",
	"*.a":                                 "",
	"127.1":                               "",
	"2130706433":                          "",
	"0x7f.0.0.1":                          "",
	"a.0x7f":                              "",
	"192.0.2.01":                          "",
	"a.1":                                 "",
	label + "a":                           "",
	strings.Repeat("a.", 127) + "a":       "",
	strings.Repeat("a.", 1<<19):           "",
	"2001:db8::1":                         "",
	"[2001:db8::1":                        "",
	"[2001:db8::1]x":                      "",
	"[2001:db8::1]:80:1":                  "",
	"[2001:db8::1%eth0]":                  "",
	"[2001:db8::1%25eth0]":                "",
	"[192.0.2.1]":                         "",
	"[]":                                  "",
	"[" + strings.Repeat("1", 1000) + "]": "",
}

func TestHost(t *testing.T) {
	for host, want := range hostForms {
		name, port, ok := route.Host(host)
		if got := strings.TrimSpace(name + " " + port); got != want || ok != (want != "") {
			t.Errorf("%.80q is %q, %v, want %q", host, got, ok, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { route.Host("api.example.com:443") }); n != 0 {
		t.Errorf("a host in its form takes %v allocations", n)
	}
}

// A form is the form of itself, and nothing that a server could take for another host is in it.
func FuzzHost(f *testing.F) {
	for host := range hostForms {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, in string) {
		name, port, ok := route.Host(in)
		if !ok {
			if name != "" || port != "" {
				t.Fatalf("%q is no host, and yet %q %q", in, name, port)
			}
			return
		}
		if again, same, ok := route.Host(name + port); !ok || again != name || same != port {
			t.Fatalf("%q is %q %q, and that %q %q", in, name, port, again, same)
		}
		if !strings.EqualFold(strings.Replace(in, ".:", ":", 1), name+port) && !strings.EqualFold(strings.TrimSuffix(in, "."), name+port) {
			if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err != nil || !a.Is6() {
				t.Fatalf("%q became %q %q", in, name, port)
			}
		}
		if strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.ContainsAny(name, "%@/\\?# \t,;*") {
			t.Fatalf("%q became %q", in, name)
		}
	})
}
