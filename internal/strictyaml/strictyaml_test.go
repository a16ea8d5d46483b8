package strictyaml_test

import (
	"encoding"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A shop is a format with everything that a Decoder reads.
type shop struct {
	Name    string             `yaml:"name"`
	Open    bool               `yaml:"open"`
	Desks   int                `yaml:"desks" zero:"write how many there are"`
	Share   float64            `yaml:"share"`
	Code    code               `yaml:"code"`
	Price   price              `yaml:"price"`
	Owner   *owner             `yaml:"owner"`
	Goods   []price            `yaml:"goods"`
	Friends map[string]owner   `yaml:"friends"`
	Word    word               `yaml:"word"`
	Deep    map[string][][]int `yaml:"deep"`

	Hidden int // no field of a document
}

type owner struct {
	Name string `yaml:"name"`
}

// A price is 5, or {amount: 5, unit: kg}.
type price struct {
	Amount int64  `yaml:"amount"`
	Unit   string `yaml:"unit"`
}

func (price) ShorthandFor() string { return "Amount" }

// A code is a text that is mostly written as a number.
type code string

func (code) Numeric() {}

// A word is a text with a form of its own.
type word string

func (*word) Form() string { return "a word, such as hello" }

func (w *word) UnmarshalText(text []byte) error {
	if strings.Contains(string(text), " ") {
		return errors.New("has a space")
	}
	*w = word(text)
	return nil
}

// decode reads a text into a shop. Words that are "gone" cannot be read.
func decode(text string) (s shop, problems []string, lines map[string]int) {
	root, problem := strictyaml.Root([]byte(text))
	switch {
	case problem != nil:
		return s, []string{problem.String()}, nil
	case root == nil:
		return s, []string{"empty"}, nil
	}
	d := strictyaml.Decoder{Read: func(v encoding.TextUnmarshaler) error {
		if w, ok := v.(*word); ok && *w == "gone" {
			return errors.New("no such word")
		}
		return nil
	}}
	d.Decode(root, &s)
	for _, p := range d.Problems {
		problems = append(problems, p.String())
	}
	return s, problems, d.Lines
}

func TestDecode(t *testing.T) {
	const text = `# a shop
name: corner
open: True
desks: 3
share: -0.0
code: 503
price: 7
owner: &me {name: "me"}
goods: [1, {amount: 2, unit: kg}]
friends: {a: *me, "b c": {name: you}}
word: hello
deep: {x: [[1, 2], [3]]}
`
	s, problems, lines := decode(text)
	want := shop{
		Name: "corner", Open: true, Desks: 3, Code: "503", Price: price{Amount: 7}, Owner: &owner{"me"},
		Goods: []price{{Amount: 1}, {2, "kg"}}, Friends: map[string]owner{"a": {"me"}, "b c": {"you"}}, Word: "hello",
		Deep: map[string][][]int{"x": {{1, 2}, {3}}},
	}
	if len(problems) > 0 || !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v, problems %v", s, want, problems)
	}
	for path, line := range map[string]int{"name": 2, "friends.a": 10, "goods[1].unit": 9, "deep.x[0][1]": 12} {
		if lines[path] != line {
			t.Errorf("%s stands in line %d, want %d", path, lines[path], line)
		}
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":              {"", []string{"empty"}},
		"a comment":            {"# later\n", []string{"empty"}},
		"null":                 {"~", []string{"line 1: document: is empty: give it a value"}},
		"not YAML":             {"name: [\n", []string{"line 1: document: is not YAML: "}},
		"two documents":        {"{}\n---\n{}\n", []string{"line 2: document: holds more than one YAML document: keep one"}},
		"a directive":          {"# top\n%YAML 1.2\n---\n{}\n", []string{"line 2: document: has a line that begins with %: directives such as %YAML and %TAG are not taken"}},
		"tags":                 {"\ufeff%TAG !a! a\n%TAG !b! b\n---\n{}\n", []string{"line 1: document: has a line that begins with %"}},
		"a later directive":    {"name: a\n...\n%TAG !a! a\n---\n{}\n", []string{"line 3: document: has a line that begins with %"}},
		"a directive at once":  {"name: a\u2028%TAG !a! a\n---\n{}\n", []string{"line 1: document: has a line that begins with %"}},
		"a percentage":         {"name: 5%\nword: \"%\"\n", nil},
		"a broken second":      {"{}\n---\n]\n", []string{"line 2: document: holds more than one YAML document"}},
		"an unknown anchor":    {"name: *x", []string{"line 1: document: is not YAML: unknown anchor"}},
		"a list":               {"# top\n- a\n", []string{"line 2: document: is a list: write a mapping, as in name: value"}},
		"a mapping with a tag": {"!mine\nname: a\n", []string{"line 1: document: is a mapping with the tag !mine: leave the tag out"}},
		"an unknown field":     {"{}\n", nil},
		"a slip":               {"open: true\nnam: a\n", []string{`line 2: nam: is not a known field: known here are name, open, desks, share, code, price, owner, goods, friends, word, deep: did you mean "name"?`}},
		"no slip":              {"zzzzzz: a\n", []string{"line 1: zzzzzz: is not a known field: known here are name, open"}},
		"a field without tag":  {"Hidden: 1\n", []string{"line 1: Hidden: is not a known field"}},
		"no name":              {"'': 1\n", []string{`line 1: document: "" is not a known field`}},
		"a long name":          {strings.Repeat("x", 100) + ": 1\n", []string{"line 1: " + strings.Repeat("x", 64) + ": is not a known field"}},
		"a name too long":      {"friends: {" + strings.Repeat("x", 256) + ": {name: a}, " + strings.Repeat("y", 257) + ": {nam: a}}\n", []string{"line 1: friends." + strings.Repeat("y", 64) + ": has a name of 257 bytes: at most 256"}},
		"twice":                {"name: a\nopen: no\nname: b\n", []string{`line 2: open: is the text "no": write true or false`, "line 3: name: is defined already at line 1"}},
		"twice in a map":       {"friends:\n  a: {name: x}\n  a: {name: y}\n", []string{"line 3: friends.a: is defined already at line 2"}},
		"a list for a name":    {"? [a]\n: b\n", []string{"line 1: document: holds a list for a name"}},
		"an alias for a name":  {"friends: {&a x: {name: y}, *a : {name: z}}\n", []string{"line 1: friends: holds an alias for a name"}},
		"a merge":              {"owner: &a {name: x}\nfriends: {b: {<<: *a}}\n", []string{"line 2: friends.b.<<: mappings are not merged here"}},
		"an empty field":       {"name:\nopen: true\n", []string{"line 1: name: is empty: give it a value, or leave it out"}},
		"an empty form":        {"word:\n", []string{"line 1: word: is empty: write a word, such as hello, or leave it out"}},
		"an empty mapping":     {"owner:\n", []string{"line 1: owner: is empty: give it a value, such as {}, or leave it out"}},
		"an empty list":        {"goods:\n", []string{"line 1: goods: is empty: give it a value, such as [], or leave it out"}},
		"a number for text":    {"name: 5\n", []string{"line 1: name: is the number 5: write a text, in quotes if need be"}},
		"a date for text":      {"name: 2020-01-01\n", []string{"line 1: name: is 2020-01-01, of the kind timestamp: write a text"}},
		"a mapping for text":   {"name: {}\n", []string{"line 1: name: is a mapping: write a text"}},
		"text for a number":    {"desks: many\n", []string{`line 1: desks: is the text "many": write a whole number, at most 9223372036854775807`}},
		"octal":                {"desks: 010\n", []string{"line 1: desks: is the number 010: write a whole number"}},
		"too many":             {"desks: 9223372036854775808\n", []string{"line 1: desks: is the number 9223372036854775808: write a whole number"}},
		"zero":                 {"desks: 0\n", []string{"line 1: desks: is 0: write how many there are"}},
		"infinity":             {"share: .inf\n", []string{"line 1: share: is the number .inf: write a number, such as 0.5"}},
		"a list for a map":     {"friends: []\n", []string{"line 1: friends: is a list: write a mapping"}},
		"a map for a list":     {"goods: {}\n", []string{"line 1: goods: is a mapping: write a list, as in [a, b]"}},
		"in a list":            {"goods:\n- 1\n- x\n- {amount: y}\n", []string{`line 3: goods[1]: is the text "x": write a whole number`, `line 4: goods[2].amount: is the text "y"`}},
		"a form":               {"word: 5\n", []string{"line 1: word: is the number 5: write a word, such as hello"}},
		"a wrong form":         {"word: two words\n", []string{"line 1: word: has a space"}},
		"unreadable":           {"word: gone\n", []string{"line 1: word: cannot be read: no such word"}},
		"a circle":             {"deep: &a {x: [*a]}\n", []string{"line 1: deep.x[0]: is a mapping: write a list"}},
		"too many values": {
			"deep: {x: [&a [" + strings.Repeat("1, ", 999) + "1]" + strings.Repeat(", *a", 499) + "]}\n",
			[]string{"line 1: deep.x[249][747]: makes more than 250000 values of the document: use fewer aliases"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems, _ := decode(c.text)
			if len(problems) != len(c.want) {
				t.Fatalf("got %q, want %q", problems, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(problems[i], want) {
					t.Errorf("got %q, want %q", problems[i], want)
				}
			}
		})
	}
}

// FuzzDecode holds that no text makes a Decoder panic, that every problem has a path and a line of the text, and that a document
// without problems is read again from what is written of it.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"", "{}", "name: a", "a: &a [*a]", "x: 1\n---\ny: 2", "? {}\n: 1", "goods: [1, {amount: 2}]", "%YAML 1.1\n---\n{}", "!!map {!!str name: !!null }",
		"owner: &me {name: x}\nfriends: {a: *me}", "price: 5\nshare: 1e3", "word: |\n a\n", "deep: &a {x: [*a]}", "<<: {name: a}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, problem := strictyaml.Root([]byte(text))
		problems := []*strictyaml.Problem{problem}
		var s shop
		if problem == nil {
			if root == nil {
				return
			}
			var d strictyaml.Decoder
			d.Decode(root, &s)
			problems = d.Problems
		}
		for _, p := range problems {
			if p.Path == "" || p.Text == "" || p.Line < 1 {
				t.Fatalf("a problem without its place: %+v", p)
			}
		}
		if len(problems) > 0 || slices.Contains([]string{"0", "-0"}, root.Value) {
			return
		}
		written, err := yaml.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		var loose shop
		if err := yaml.Unmarshal([]byte(text), &loose); err == nil && loose.Name != s.Name {
			t.Fatalf("a loose reader finds the name %q, and this one %q in\n%s", loose.Name, s.Name, written)
		}
	})
}
