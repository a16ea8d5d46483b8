package config

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckPattern(t *testing.T) {
	for _, p := range []string{
		"/", "/$", "/health", "/health$", "/v1/users/{id}", "/v1/users/{id}/orders/{order_2}$", "/$metadata", "/a$b/c", "/grüße", "/a b",
		"/100%", "/100%z", "/.well-known", "/...", "/a:b", "/" + strings.Repeat("a", maxPattern-1),
	} {
		if err := CheckPattern(p); err != nil {
			t.Errorf("%.80q: %v", p, err)
		}
	}
	for p, want := range map[string]string{
		"":                                    "is empty",
		"health":                              "does not begin with a slash",
		"$":                                   "does not begin with a slash",
		"/" + strings.Repeat("a", maxPattern): "are too many",
		"//":                                  "has an empty segment",
		"/a//b":                               "has an empty segment",
		"/a/":                                 "has an empty segment",
		"/a/$":                                "has an empty segment",
		"/.":                                  "has the segment .,",
		"/a/..":                               "has the segment ..,",
		"/*":                                  "holds a *",
		"/a?":                                 "holds a ?",
		"/a#b":                                "holds a #",
		`/a\b`:                                `holds a \`,
		"/a%2Fb":                              "holds an escape",
		"/a%20":                               "holds an escape",
		"/a\nb":                               "control character",
		"/a\xff":                              "not UTF-8",
		"/{}":                                 `holds the segment "{}"`,
		"/{id":                                `holds the segment "{id"`,
		"/id}":                                `holds the segment "id}"`,
		"/{1d}":                               `holds the segment "{1d}"`,
		"/{a-b}":                              `holds the segment "{a-b}"`,
		"/{a}{b}":                             `holds the segment "{a}{b}"`,
		"/{{a}}":                              `holds the segment "{{a}}"`,
		"/v{a}":                               `holds the segment "v{a}"`,
		"/{a}/x/{a}":                          "two segments named {a}",
		"/{" + strings.Repeat("a", 65) + "}":  "holds the segment",
	} {
		if err := CheckPattern(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want an error that says %q", p, err, want)
		}
	}
}

func TestPatternNames(t *testing.T) {
	if got, want := patternNames("/a/{b}/c/{d}$"), []string{"b", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
