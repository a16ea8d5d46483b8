package route_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/route"
)

// Of a request-target, either the one thing is left that every server reads, or a reason.
func TestRead(t *testing.T) {
	for target, want := range map[string]string{
		"/":                                  "h / /",
		"/a/b?x=1;y=%zz":                     "h /a/b /a/b?x=1;y=%zz",
		"/a?":                                "h /a /a?",
		"/a??b":                              "h /a /a??b",
		"/a//b/":                             "h /a/b /a//b/",
		"/%61%2D/%C3%A4":                     "h /a-/ä /%61%2D/%C3%A4",
		"/a|b/ä":                             "h /a|b/ä /a%7Cb/%C3%A4",
		"/a:b@c;d=e,f":                       "h /a:b@c;d=e,f /a:b@c;d=e,f",
		"/http://other/a":                    "h /http:/other/a /http://other/a",
		"http://h":                           "h / /",
		"http://h/a?b":                       "h /a /a?b",
		"HTTPS://H./a":                       "h /a /a",
		"":                                   "",
		"*":                                  "",
		"a":                                  "",
		"?":                                  "",
		"//a":                                "",
		"//h/a":                              "",
		"//other/a":                          "",
		"///a":                               "",
		"/a#b":                               "",
		"/a?b#c":                             "",
		"/a b":                               "",
		"/a?b c":                             "",
		"/a?b HTTP/1.0":                      "",
		"/\xff":                              "",
		"/%c0%ae%c0%ae/a":                    "",
		"/a/../b":                            "",
		"/a%2Fb":                             "",
		`/a\b`:                               "",
		"/a%00":                              "",
		"http:http://victim.example/admin/x": "",
		"http:/a":                            "",
		"http:a":                             "",
		"http:///a":                          "",
		"http://other/a":                     "",
		"http://h:80/a":                      "",
		"http://h@other/a":                   "",
		"http://u:p@h/a":                     "",
		"ftp://h/a":                          "",
		"h:443":                              "",
		"javascript:alert(1)":                "",
	} {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			if want != "" {
				t.Errorf("%q: %v", target, err)
			}
			continue
		}
		got, why := route.Read("h", u)
		shown := ""
		if why == "" {
			at := got.At(&url.URL{Scheme: "http", Host: "up"})
			shown = got.Authority() + " " + got.Path + " " + at.RequestURI()
			if at.Host != "up" || at.Scheme != "http" || at.Opaque != "" {
				t.Errorf("%q goes to %v", target, at)
			}
		}
		if shown != want {
			t.Errorf("%q is %q, want %q (%s)", target, shown, want, why)
		}
	}
	for host, form := range hostForms {
		if got, why := route.Read(host, &url.URL{Path: "/"}); (why == "") != (form != "") || got.Authority() != strings.ReplaceAll(form, " ", "") {
			t.Errorf("the host %.80q is %q, %q", host, got.Authority(), why)
		}
	}
}

// A path of the server's own goes before that of the target.
func TestTargetAt(t *testing.T) {
	for base, want := range map[string]string{
		"http://up": "/a%2Cb/?q", "http://up/": "/a%2Cb/?q", "http://up/v1": "/v1/a%2Cb/?q", "http://up/v1/": "/v1/a%2Cb/?q", "http://up/%2Dx": "/%2Dx/a%2Cb/?q",
	} {
		from, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.ParseRequestURI("/a%2Cb/?q")
		if err != nil {
			t.Fatal(err)
		}
		target, why := route.Read("h", u)
		if got := target.At(from).RequestURI(); got != want || why != "" {
			t.Errorf("at %s: %q, want %q (%s)", base, got, want, why)
		}
	}
}
