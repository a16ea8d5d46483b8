package limitfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// Files as Limitador's examples have them are read, and mean what they mean there.
func TestParse(t *testing.T) {
	s := parse(t, `---
- namespace: test_namespace
  max_value: 1000000
  seconds: 60
  conditions:
  variables:
- namespace: test_namespace
  max_value: 5
  seconds: 86400
  conditions: []
  variables: []
- namespace: test_namespace
  max_value: 0
  seconds: 60
  name: null
  conditions: ["descriptors[0]['req.method'] == 'POST'"]
  variables:
    - descriptors[0]['user_id']
`)
	if len(s.Limits) != 3 || s.Len() != 1 || len(s.Notes) != 0 {
		t.Fatalf("%d limits of %d namespaces, and %v", len(s.Limits), s.Len(), s.Notes)
	}
	all, err := s.Match("test_namespace", []entries{{"req.method": "POST", "user_id": "7"}})
	if err != nil || len(all) != 2 || len(all[0].Limits) != 2 || len(all[1].Limits) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	minute := all[0].Limits[0].Ref.Inline
	if minute.Name != "kuadrant-60s" || minute.Capacity != 1_000_000 || minute.Algorithm != limit.FixedWindow || minute.Holds.OnExpiry != limit.Free || minute.Holds.MaxDebt != limit.NoDebt {
		t.Errorf("%+v", minute)
	}
	if all[1].Limits[0].MaxValue != 0 || all[1].Limits[0].Ref.Name != "" || !strings.HasSuffix(all[1].Key, "|7") {
		t.Errorf("a limit of 0: %+v with the key %s", all[1].Limits[0], all[1].Key)
	}
	if all, err := s.Match("another", nil); len(all) != 0 || err != nil {
		t.Errorf("an unknown namespace: %v, %v", all, err)
	}
}

// A mistake is told with its line and field, and what means something else is noted.
func TestProblemsAndNotes(t *testing.T) {
	one := func(fields string) string { return "- " + strings.ReplaceAll(fields, "\n", "\n  ") + "\n" }
	const right = "namespace: a\nmax_value: 1\nseconds: 60\nconditions: []\nvariables: []"
	for text, want := range map[string]string{
		"":                          "limits.yaml:1: is empty",
		"a: [":                      "limits.yaml:1",
		"a: b":                      "limits.yaml:1: is a mapping: write a list of limits",
		"- 5":                       "limits.yaml:1: [0]: is the number 5: write a limit",
		one("namespace: a"):         "[0].seconds: is missing",
		"[]\n---\n[]\n":             "limits.yaml:",
		"- &a [*a]":                 "limits.yaml:1: [0]: is",
		one(right + "\nseconds: 1"): "[0].seconds",
		one(strings.Replace(right, "60", "0", 1)):                                                                                   "limits.yaml:3: [0].seconds: is 0: write how many seconds",
		one(strings.Replace(right, "60", "99999999999", 1)):                                                                         "[0].seconds: 99999999999 is too large",
		one(strings.Replace(right, "60", "-1", 1)):                                                                                  "[0].seconds: is the number -1: write a whole number",
		one(strings.Replace(right, "max_value: 1", "max_value: 1.5", 1)):                                                            "[0].max_value: is the number 1.5: write a whole number",
		one(strings.Replace(right, "max_value: 1", "max_value: x", 1)):                                                              "[0].max_value: is the text \"x\": write a whole number",
		one(strings.Replace(right, "namespace: a", "namespace: [a]", 1)):                                                            "[0].namespace: is a list: write a text",
		one(strings.Replace(right, "conditions: []", "conditions: x", 1)):                                                           "[0].conditions: is the text \"x\": write a list",
		one(strings.Replace(right, "conditions: []", "conditions: [a ==]", 1)):                                                      `[0].conditions[0]: "a ==" is no CEL: column`,
		one(strings.Replace(right, "conditions: []", "conditions: ['42']", 1)):                                                      `[0].conditions[0]: "42" is of the type int: write one that is bool`,
		one(strings.Replace(right, "conditions: []", "conditions: [nosuch(descriptors) == 1]", 1)):                                  `can never be evaluated: column 7: undeclared reference to 'nosuch'`,
		one(strings.Replace(right, "conditions: []", "conditions: [\"descriptors[0].x.matches('(')\"]", 1)):                         "can never be evaluated",
		one(strings.Replace(right, "variables: []", "variables: [\"['100']\"]", 1)):                                                 `is of the type list(string): write one that is string, int`,
		one(strings.Replace(right, "variables: []", "variables: ['"+strings.Repeat("(", 300)+"1"+strings.Repeat(")", 300)+"']", 1)): "is no CEL",
		one(strings.Replace(right, "variables: []", "variables: ['"+strings.Repeat("1+", 3000)+"1']", 1)):                           "has 6001 bytes: at most 4096",

		one(right + "\nnote: x"):                                                            "note: [0].note: is not a known field",
		one(strings.Replace(right, "max_value: 1\n", "", 1)):                                "note: [0].max_value: is missing: the limit denies everything",
		one(strings.Replace(right, "max_value: 1", "max_value: 18446744073709551615", 1)):   "counts as 60000000000, the most that a window of 60 seconds counts",
		one(strings.Replace(right, "namespace: a", "namespace: ''", 1)):                     "note: [0].namespace: is empty",
		one(strings.Replace(right, "conditions: []", "conditions: [req.method == GET]", 1)): `note: [0].conditions[0]: refers to "req", which no request has`,
		one(strings.Replace(right, "variables: []", "variables: [user_id]", 1)):             `Requests have descriptors, as in descriptors[0].user_id`,
		one(right) + one(strings.Replace(right, "max_value: 1", "max_value: 9", 1)):         "note: [1]: is the limit of limits.yaml:1 once more",
	} {
		t.Run(want, func(t *testing.T) {
			s, problems := limitfile.Parse([]limitfile.File{{Name: "limits.yaml", Text: []byte(text)}})
			all := fmt.Sprint(problems)
			for _, n := range s.Notes {
				all += fmt.Sprintf("note: %s: %s\n", n.Field, n.Text)
			}
			if len(s.Limits) > 0 && len(problems) > 0 || strings.HasPrefix(want, "note: ") && len(problems) > 0 || !strings.Contains(all, want) {
				t.Errorf("%q\ngot %s\nwant %q", text, all, want)
			}
		})
	}
}

// At most as many lengths as one check has limits may have the same conditions and variables.
func TestTooManyLengths(t *testing.T) {
	var b strings.Builder
	for i := range limit.MaxLimits + 1 {
		fmt.Fprintf(&b, "- {namespace: a, max_value: 1, seconds: %d, conditions: [], variables: []}\n", i+1)
	}
	if _, problems := limitfile.Parse([]limitfile.File{{Name: "f", Text: []byte(b.String())}}); len(problems) != 1 || !strings.Contains(problems[0].Text, "more than 16 limits") {
		t.Errorf("%v", problems)
	}
}

// Buckets of different limits, and of different values, have different keys; a limit has the same key from any file, whatever the order of its conditions and variables.
func TestKeys(t *testing.T) {
	of := func(namespace string, conditions, variables []string, descriptors ...entries) string {
		t.Helper()
		text := strings.Replace(oneLimit(conditions, variables), "namespace: ns", fmt.Sprintf("namespace: %q", namespace), 1)
		all, err := parse(t, text).Match(namespace, descriptors)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		if err := limit.ValidateKey(all[0].Key); err != nil {
			t.Error(err)
		}
		return all[0].Key
	}
	ab := []string{"descriptors[0].a", "descriptors[0].b"}
	keys := map[string]string{}
	for name, key := range map[string]string{
		"a and b":          of("n", nil, ab, entries{"a": "1", "b": "2"}),
		"b and a":          of("n", nil, ab, entries{"a": "2", "b": "1"}),
		"a bar in a value": of("n", nil, ab, entries{"a": "1|2", "b": ""}),
		"elsewhere":        of("n", nil, ab, entries{"a": "1", "b": "2|"}),
		"a backslash":      of("n", nil, ab, entries{"a": `1\`, "b": "2"}),
		"another space":    of("m", nil, ab, entries{"a": "1", "b": "2"}),
		"a space's name":   of("n|1", nil, ab, entries{"a": "1", "b": "2"}),
		"one variable":     of("n", nil, ab[:1], entries{"a": "1", "b": "2"}),
		"a condition":      of("n", []string{"true"}, ab, entries{"a": "1", "b": "2"}),
		"a long one":       of("n", nil, ab, entries{"a": strings.Repeat("x", 600), "b": "2"}),
		"another long one": of("n", nil, ab, entries{"a": strings.Repeat("x", 601), "b": "2"}),
	} {
		if other := keys[key]; other != "" {
			t.Errorf("%s and %s have the key %s", name, other, key)
		}
		keys[key] = name
	}
	again := of("n", []string{"true", "1 == 1", "true"}, []string{"descriptors[0].b", "descriptors[0].a", "descriptors[0].b"}, entries{"a": "1", "b": "2"})
	if other := of("n", []string{"1 == 1", "true"}, ab, entries{"a": "1", "b": "2"}); again != other {
		t.Errorf("in another order, the key is %s and not %s", again, other)
	}
}
