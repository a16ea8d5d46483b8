package denial

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for given, want := range map[string]string{
		"":                       "gateway",
		"edge":                   "edge",
		"Edge-7":                 "edge-7",
		"host.example.com":       "host-example-com",
		"ключ":                   "--------",
		"a b/c":                  "a-b-c",
		"-":                      "-",
		strings.Repeat("x", 100): strings.Repeat("x", 32),
	} {
		if got := Name(given); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

// TestMalformed refuses what differs from an id in any way, were it only how a digit is written.
func TestMalformed(t *testing.T) {
	const secret = "abcdefghijklmnop"
	if _, _, err := parse("edge-1-" + secret); err != nil {
		t.Fatal(err)
	}
	for what, id := range map[string]string{
		"nothing":             "",
		"dashes":              "---",
		"no gateway":          "-1-" + secret,
		"no number":           "edge--" + secret,
		"only a secret":       secret,
		"two parts":           "1-" + secret,
		"a short secret":      "edge-1-abc",
		"a long secret":       "edge-1-" + secret + "a",
		"capitals":            "edge-1-" + strings.ToUpper(secret),
		"a capital number":    "edge-A-" + secret,
		"another alphabet":    "edge-1-0189012345678901",
		"a leading zero":      "edge-01-" + secret,
		"the number 0":        "edge-0-" + secret,
		"a number too great":  "edge-3w5e11264sgsg-" + secret,
		"a long number":       "edge-zzzzzzzzzzzzzz-" + secret,
		"a sign":              "edge-+1-" + secret,
		"a long name":         strings.Repeat("e", 33) + "-1-" + secret,
		"a capital name":      "Edge-1-" + secret,
		"a dot in the name":   "ed.ge-1-" + secret,
		"a slash in the name": "../x-1-" + secret,
		"white space":         "edge-1-" + secret + " ",
		"a line":              "edge-1-abcdefgh\nijklmno",
	} {
		if name, _, err := parse(id); !errors.Is(err, ErrMalformed) || name != "" {
			t.Errorf("%s: %q is of %q with %v", what, id, name, err)
		}
		if _, err := GatewayOf(id); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzID makes ids of any gateway and number: they look as promised and are taken apart again.
func FuzzID(f *testing.F) {
	f.Add("edge", uint64(1))
	f.Add("", uint64(math.MaxUint64))
	f.Add("Edge.Example.COM-7-8-9", uint64(36))
	f.Add("\xff\x00", uint64(35))
	form := regexp.MustCompile(`^[a-z0-9-]{1,32}-[1-9a-z][0-9a-z]{0,12}-[a-z2-7]{16}$`)
	f.Fuzz(func(t *testing.T, gateway string, number uint64) {
		number = max(number, 1)
		id := newID(Name(gateway), number)
		if !form.MatchString(id) {
			t.Errorf("%q makes %q", gateway, id)
		}
		name, got, err := parse(id)
		if err != nil || name != Name(gateway) || got != number {
			t.Errorf("%q is %d of %q with %v, want %d of %q", id, got, name, err, number, Name(gateway))
		}
		if again := newID(name, number); again == id || Name(name) != name {
			t.Errorf("%q twice, or its name is %q", id, Name(name))
		}
	})
}

// FuzzParse takes any text apart: it is an id only if the parts make the same text again.
func FuzzParse(f *testing.F) {
	f.Add("edge-1-abcdefghijklmnop")
	f.Add("a-b-zz-aaaaaaaaaaaaaaaa")
	f.Add("--1-aaaaaaaaaaaaaaaa")
	m := NewMemory("edge", 1)
	f.Fuzz(func(t *testing.T, text string) {
		name, number, err := parse(text)
		if _, met := m.Recall(text); met == nil || errors.Is(met, ErrMalformed) != (err != nil) {
			t.Errorf("%q: %v, and recalling it %v", text, err, met)
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) || name != "" {
				t.Errorf("%q is of %q with %v", text, name, err)
			}
			return
		}
		made := newID(name, number)
		if Name(name) != name || made[:len(made)-randomText] != text[:len(text)-randomText] {
			t.Errorf("%q is %d of %q, which makes %q", text, number, name, made)
		}
	})
}
