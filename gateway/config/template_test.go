package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseTemplate(t *testing.T) {
	variable := func(kind Kind, name string) Part { return Part{Variable: Variable{kind, name}} }
	for text, want := range map[string][]Part{
		"everybody":                             {{Text: "everybody"}},
		"ip:{ip}":                               {{Text: "ip:"}, variable(KindIP, "")},
		"{jwt.sub}":                             {variable(KindClaim, "sub")},
		"{route}:{method}":                      {variable(KindRoute, ""), {Text: ":"}, variable(KindMethod, "")},
		"a{host}-b{ip}c":                        {{Text: "a"}, variable(KindHost, ""), {Text: "-b"}, variable(KindIP, ""), {Text: "c"}},
		"{api_key}/{api_key.plan}":              {variable(KindAPIKey, ""), {Text: "/"}, variable(KindAPIKey, "plan")},
		"{header.X-A}|{proxy_header.X-B}":       {variable(KindHeader, "X-A"), {Text: "|"}, variable(KindProxyHeader, "X-B")},
		"{cookie.id} {path.user_id}":            {variable(KindCookie, "id"), {Text: " "}, variable(KindPath, "user_id")},
		"{jwt.https://example.com/claims.plan}": {variable(KindClaim, "https://example.com/claims.plan")},
	} {
		if got, err := ParseTemplate(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                       "is empty",
		"a\x00":                                  "control character",
		"\xff":                                   "not UTF-8",
		"{ip":                                    "an unbalanced brace",
		"ip}":                                    "an unbalanced brace",
		"{ip}}":                                  "an unbalanced brace",
		"{{ip}}":                                 "an unbalanced brace",
		"{}":                                     "{} is not a variable",
		"{IP}":                                   "{IP} is not a variable",
		"{ ip }":                                 "{ ip } is not a variable",
		"{ip.a}":                                 "{ip.a} is not a valid form",
		"{jwt}":                                  "{jwt} is not a valid form",
		"{jwt.}":                                 "{jwt.} is not a valid form",
		"{api_key.}":                             "{api_key.} is not a valid form",
		"{api_key.a b}":                          "is not a valid form",
		"{header.a b}":                           "is not a valid form",
		"{header}":                               "is not a valid form",
		"{cookie.}":                              "is not a valid form",
		"{path.a-b}":                             "is not a valid form",
		"{route.x}":                              "is not a valid form",
		strings.Repeat("a", 129):                 "129 bytes of fixed text are too many: at most 128",
		strings.Repeat("{ip}:", 9):               "9 variables are too many: at most 8",
		"{ip}{host}":                             "no separator between {ip} and {host}: put a colon between them",
		"{ip}a{host}":                            "no separator",
		"{ip}%{host}":                            "no separator",
		"{ip}ü{host}":                            "no separator",
		"{header.host}":                          "{header.host} is not available as a header: write {host}",
		"{jwt.a.b.c.d.e.f.g.h.i.j}":              "is not a valid form",
		"{jwt." + strings.Repeat("a", 300) + "}": "is not a valid form",
	} {
		if parts, err := ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q is %v, %v; want an error that says %q", text, parts, err, want)
		}
	}
}

func TestVariableIsWrittenAsItIsRead(t *testing.T) {
	for _, text := range []string{"ip", "jwt.a.b", "api_key", "api_key.plan", "header.X-A", "path.id", "cookie.c", "host", "method", "route"} {
		if v, err := ParseVariable(text); err != nil || v.String() != text {
			t.Errorf("%q is %q, %v", text, v, err)
		}
	}
}
