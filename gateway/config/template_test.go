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
		"{ip":                                    "a brace without its other",
		"ip}":                                    "a brace without its other",
		"{ip}}":                                  "a brace without its other",
		"{{ip}}":                                 "a brace without its other",
		"{}":                                     "{} is no variable",
		"{IP}":                                   "{IP} is no variable",
		"{ ip }":                                 "{ ip } is no variable",
		"{ip.a}":                                 "{ip.a} is not how",
		"{jwt}":                                  "{jwt} is not how",
		"{jwt.}":                                 "{jwt.} is not how",
		"{api_key.}":                             "{api_key.} is not how",
		"{api_key.a b}":                          "is not how",
		"{header.a b}":                           "is not how",
		"{header}":                               "is not how",
		"{cookie.}":                              "is not how",
		"{path.a-b}":                             "is not how",
		"{route.x}":                              "is not how",
		strings.Repeat("a", 129):                 "129 bytes beside the variables are too many: at most 128",
		strings.Repeat("{ip}:", 9):               "9 variables are too many: at most 8",
		"{ip}{host}":                             "nothing that keeps the values of {ip} and {host} apart: put a colon between them",
		"{ip}a{host}":                            "nothing that keeps",
		"{ip}%{host}":                            "nothing that keeps",
		"{ip}ü{host}":                            "nothing that keeps",
		"{header.host}":                          "{header.host} is no header of its own: write {host}",
		"{jwt.a.b.c.d.e.f.g.h.i.j}":              "is not how",
		"{jwt." + strings.Repeat("a", 300) + "}": "is not how",
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
