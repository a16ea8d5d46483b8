package limitfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

type entries = map[string]string

// parse reads one file that has no mistakes.
func parse(tb testing.TB, text string) *limitfile.Set {
	tb.Helper()
	s, problems := limitfile.Parse([]limitfile.File{{Name: "limits.yaml", Text: []byte(text)}})
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	return s
}

// oneLimit is a file with a limit.
func oneLimit(conditions, variables []string) string {
	list := func(all []string) string {
		var b strings.Builder
		for _, one := range all {
			fmt.Fprintf(&b, "\n    - %q", one)
		}
		return b.String()
	}
	return fmt.Sprintf("- namespace: ns\n  max_value: 10\n  seconds: 60\n  name: named\n  conditions:%s\n  variables:%s\n", list(conditions), list(variables))
}

// What Limitador's tests and pages say of when a limit applies, and to which counter.
func TestFacts(t *testing.T) {
	get := []entries{{"req.method": "GET", "app.id": "1"}}
	for name, test := range map[string]struct {
		conditions, variables []string
		descriptors           []entries
		want                  string // the values of variables, or what is wrong; "no" if it does not apply
	}{
		"all hold":                            {[]string{"descriptors[0]['req.method'] == 'GET'"}, []string{"descriptors[0]['app.id']"}, get, "1"},
		"the condition is false":              {[]string{"descriptors[0]['req.method'] == 'POST'"}, []string{"descriptors[0]['app.id']"}, get, "no"},
		"the entry of a condition is missing": {[]string{"descriptors[0].KEY_B == 'VALUE_B'"}, nil, []entries{{"KEY_A": "VALUE_A", "OTHER_KEY": "OTHER_VALUE"}}, "no"},
		"an entry that must differ is missing": {
			[]string{"descriptors[0]['req.path'] != '/json'"}, nil, get, "no",
		},
		"one of two conditions is false": {[]string{"descriptors[0].KEY_A == 'VALUE_A'", "descriptors[0].OTHER_KEY == 'WRONG_VALUE'"}, nil, []entries{{"KEY_A": "VALUE_A", "OTHER_KEY": "OTHER_VALUE"}}, "no"},
		"not all entries are named":      {[]string{"descriptors[0].KEY_A == 'VALUE_A'"}, nil, []entries{{"KEY_A": "VALUE_A", "OTHER_KEY": "OTHER_VALUE"}}, ""},
		"a variable is missing":          {nil, []string{"descriptors[0].MY_VAR"}, []entries{{"KEY_A": "VALUE_A"}}, "no"},
		"several variables":              {nil, []string{"descriptors[0].B", "descriptors[0].A"}, []entries{{"A": "1", "B": "2", "C": "3"}}, "1|2"},
		"two descriptors":                {[]string{"descriptors[0].x == '1'", "descriptors[1].y == '2'"}, []string{"descriptors[0].z"}, []entries{{"x": "1", "z": "1"}, {"y": "2"}}, "1"},
		"in one condition":               {[]string{"descriptors[0].key == '1' && descriptors[1]['key'] == '2'"}, nil, []entries{{"key": "1"}, {"key": "2"}}, ""},
		"a descriptor is missing":        {[]string{"descriptors[1].y == '2'"}, nil, []entries{{"x": "1"}}, "no"},
		"no descriptors":                 {[]string{"descriptors[0].x == '1'"}, nil, nil, "no"},
		"no conditions":                  {nil, nil, nil, ""},
		"a name that no request has":     {[]string{"not_there == 42"}, nil, get, "no"},
		"a variable of the old syntax":   {nil, []string{"user_id"}, []entries{{"user_id": "1"}}, "no"},
		"the limit's name":               {[]string{"limit.name == 'named'"}, nil, nil, ""},
		"another name":                   {[]string{"limit.name == 'other'"}, nil, nil, "no"},
		"no id":                          {[]string{"limit.id == null"}, nil, nil, ""},
		"the limit in a variable":        {nil, []string{"limit.name"}, nil, "no"},
		"numbers of two types":           {[]string{"42 == uint('42')"}, nil, nil, ""},
		"a text and a number":            {[]string{"descriptors[0].n == 42"}, nil, []entries{{"n": "42"}}, "no"},
		"functions":                      {[]string{"descriptors[0].foo.contains('bar')"}, []string{"descriptors[0].bar.endsWith('baz')"}, []entries{{"foo": "nice bar!", "bar": "foo,baz"}}, "true"},
		"a constant":                     {nil, []string{"100"}, nil, "100"},
		"a product":                      {nil, []string{"int(descriptors[0].x) * 3"}, []entries{{"x": "14"}}, "42"},
		"an unsigned number":             {nil, []string{"uint(descriptors[0].x)"}, []entries{{"x": "14"}}, "14"},
		"half a number":                  {nil, []string{"double(descriptors[0].x)"}, []entries{{"x": "1.5"}}, "1.5"},
		"null":                           {nil, []string{"null"}, nil, "null"},
		"any descriptor":                 {[]string{"descriptors.exists(d, has(d.x) && d.x == '1')"}, nil, []entries{{"y": "1"}, {"x": "1"}}, ""},
		"matches":                        {[]string{"descriptors[0].path.matches('^/v[0-9]+/')"}, nil, []entries{{"path": "/v2/things"}}, ""},
		"the other way round":            {[]string{"'GET' == descriptors[0]['req.method']"}, nil, get, ""},
		"a comparison as a variable":     {nil, []string{"descriptors[0].x == '1'"}, []entries{{"x": "2"}}, "false"},
		"a special value":                {nil, []string{"descriptors[0].v"}, []entries{{"v": `a|b\c#`}}, `a\|b\\c\#`},
		"what is no number": {
			nil, []string{"int(descriptors[0].x) * 3"}, []entries{{"x": "many"}}, `limit named: "int(descriptors[0].x) * 3": type conversion error`,
		},
		"a condition that fails": {[]string{"int(descriptors[0].x) > 3"}, nil, []entries{{"x": "many"}}, `limit named: "int(descriptors[0].x) > 3"`},
		"a condition of any type": {
			[]string{"descriptors[0].x"}, nil, []entries{{"x": "1"}}, "is of the type string: a condition is true or false",
		},
		"a variable of any type":   {nil, []string{"[descriptors[0], 1][0]"}, get, "is of the type map: a variable is a text"},
		"too costly an expression": {[]string{"descriptors.all(a, descriptors.all(b, descriptors.all(c, a == b || b == c || a != c)))"}, nil, make([]entries, 100), "limit exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			matches, err := parse(t, oneLimit(test.conditions, test.variables)).Match("ns", test.descriptors)
			got := "no"
			switch {
			case err != nil:
				got = err.Error()
			case len(matches) == 1:
				parts := strings.SplitN(matches[0].Key, "|", 3)
				got = strings.Join(parts[2:], "")
				if parts[0] != "ns" || len(parts[1]) != 32 {
					t.Errorf("the key is %q", matches[0].Key)
				}
			}
			if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
