package descriptors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

func TestProblems(t *testing.T) {
	head := "domain: d\ndescriptors:\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":             {"# nothing\n", []string{"rules.yaml:1: domain: is missing"}},
		"no YAML":             {"domain: [\n", []string{"rules.yaml:1: document: is not YAML"}},
		"two documents":       {"domain: a\n---\ndomain: b\n", []string{"rules.yaml:2: document: holds more than one"}},
		"a list":              {"[]\n", []string{"rules.yaml:1: document: is a list"}},
		"no domain":           {"descriptors: []\n", []string{"rules.yaml:1: domain: is missing or empty"}},
		"an empty domain":     {"domain: ''\n", []string{"rules.yaml:1: domain: is missing or empty"}},
		"a list for a domain": {"domain: [a]\n", []string{"rules.yaml:1: domain: is a list"}},
		"no list":             {"domain: d\ndescriptors: {}\n", []string{"rules.yaml:2: descriptors: is a mapping: write a list"}},
		"no mapping":          {head + "- a\n", []string{`rules.yaml:3: descriptors[0]: is the text "a"`}},
		"a field unknown":     {head + "- key: a\n  ratelimit: {}\n", []string{`rules.yaml:4: descriptors[0].ratelimit: is not a known field: known here are key, value, rate_limit`}},
		"a number for a name": {head + "- {1: a}\n", []string{"rules.yaml:3: descriptors[0].1: is not a known field"}},
		"a field twice":       {head + "- key: a\n  key: b\n", []string{"rules.yaml:4: descriptors[0].key: is defined already at line 3"}},
		"no key":              {head + "- value: a\n", []string{"rules.yaml:3: descriptors[0].key: is missing or empty"}},
		"an empty key":        {head + "- key:\n", []string{"rules.yaml:3: descriptors[0].key: is missing or empty"}},
		"a descriptor twice":  {head + "- {key: a, value: b}\n- {key: a}\n- {key: a, value: b}\n", []string{"rules.yaml:5: descriptors[2]: has the key and the value of line 3"}},
		"a nested one":        {head + "- key: a\n  descriptors:\n  - value: b\n", []string{"rules.yaml:5: descriptors[0].descriptors[0].key: is missing"}},
		"an empty limit":      {head + "- key: a\n  rate_limit:\n", []string{"rules.yaml:4: descriptors[0].rate_limit: is empty"}},
		"no unit":             {head + "- key: a\n  rate_limit: {requests_per_unit: 5}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.unit: is missing"}},
		"a wrong unit":        {head + "- key: a\n  rate_limit:\n    unit: fortnight\n    requests_per_unit: 5\n", []string{`rules.yaml:5: descriptors[0].rate_limit.unit: "fortnight" is not a unit: use second, minute, hour, day, week, month or year`}},
		"the unknown unit":    {head + "- key: a\n  rate_limit: {unit: unknown, requests_per_unit: 5}\n", []string{`rules.yaml:4: descriptors[0].rate_limit.unit: "unknown" is not a unit`}},
		"no number":           {head + "- key: a\n  rate_limit: {unit: day}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.requests_per_unit: is missing"}},
		"a negative number":   {head + "- key: a\n  rate_limit: {unit: day, requests_per_unit: -1}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.requests_per_unit: is the number -1: write a whole number"}},
		"an octal number":     {head + "- key: a\n  rate_limit: {unit: day, requests_per_unit: 010}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.requests_per_unit: is the number 010"}},
		"a large number":      {head + "- key: a\n  rate_limit: {unit: day, requests_per_unit: 4294967296}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.requests_per_unit: is the number 4294967296"}},
		"a text for a number": {head + "- key: a\n  rate_limit: {unit: day, requests_per_unit: '5'}\n", []string{`rules.yaml:4: descriptors[0].rate_limit.requests_per_unit: is the text "5"`}},
		"too many a second":   {head + "- key: a\n  rate_limit: {unit: second, requests_per_unit: 2000000000}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.requests_per_unit: 2000000000 is too large"}},
		"no multiple":         {head + "- key: a\n  rate_limit: {unit: day, requests_per_unit: 1, unit_multiplier: 0}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.unit_multiplier: must be at least 1"}},
		"too long":            {head + "- key: a\n  rate_limit: {unit: day, requests_per_unit: 1, unit_multiplier: 367}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.unit_multiplier: 367 is too large: at most 366"}},
		"far too long":        {head + "- key: a\n  rate_limit: {unit: year, requests_per_unit: 1, unit_multiplier: 4294967295}\n", []string{"rules.yaml:4: descriptors[0].rate_limit.unit_multiplier: 4294967295 is too large: at most 1"}},
		"an algorithm":        {head + "- key: a\n  rate_limit: {unit: day, requests_per_unit: 1, algorithm: leaky}\n", []string{`rules.yaml:4: descriptors[0].rate_limit.algorithm: "leaky" is not known here`}},
		"unlimited, a unit":   {head + "- key: a\n  rate_limit:\n    unlimited: true\n    unit: day\n", []string{"rules.yaml:6: descriptors[0].rate_limit.unit: stands beside unlimited"}},
		"not a flag":          {head + "- key: a\n  shadow_mode: 1\n", []string{"rules.yaml:4: descriptors[0].shadow_mode: is the number 1: write true or false"}},
		"shared, exact":       {head + "- key: a\n  value: b\n  share_threshold: true\n", []string{`rules.yaml:5: descriptors[0].share_threshold: is for values that end in *, and "b" does not`}},
		"replaces nothing":    {head + "- key: a\n  rate_limit:\n    replaces:\n    - name:\n    unlimited: true\n", []string{"rules.yaml:6: descriptors[0].rate_limit.replaces[0]: names no limit"}},
		"replaces itself":     {head + "- key: a\n  rate_limit: {name: me, unlimited: true, replaces: [{name: me}]}\n", []string{`rules.yaml:4: descriptors[0].rate_limit.replaces[0]: "me" is the name of this rate_limit itself`}},
		"replaces a text":     {head + "- key: a\n  rate_limit: {unlimited: true, replaces: me}\n", []string{`rules.yaml:4: descriptors[0].rate_limit.replaces: is the text "me"`}},
		"a circle":            {"domain: d\ndescriptors: &a\n- key: a\n  descriptors: *a\n", []string{"rules.yaml:4: " + "descriptors[0]" + strings.Repeat(".descriptors[0]", 31) + ".descriptors: is nested deeper than 32"}},
		"a wide circle":       {"domain: d\ndescriptors: &a\n- {key: a, descriptors: *a}\n- {key: b, descriptors: *a}\n", []string{"is nested deeper"}},
		"too many items": {
			"domain: d\ndescriptors:\n- &a {key: a, descriptors: [" + strings.TrimSuffix(strings.Repeat("{key: b},", 999), ",") + "]}\n" + strings.Repeat("- *a\n", 150),
			[]string{"makes more than 100000 items of lists in the file: split the domain, or use fewer aliases"},
		},
		"several mistakes": {head + "- {key: a, rate_limit: {unit: x, requests_per_unit: 1}}\n- {key: b, rate_limit: {unit: day}}\n", []string{
			"rules.yaml:3: descriptors[0].rate_limit.unit:", "rules.yaml:4: descriptors[1].rate_limit.requests_per_unit:",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ds, problems := descriptors.Parse([]descriptors.File{{Name: "rules.yaml", Text: []byte(c.text)}})
			if ds != nil || len(problems) == 0 {
				t.Fatalf("got %v, %v", ds, problems)
			}
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			text := strings.Join(all, "\n")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("got %.2000s, want %q", text, want)
				}
			}
			if strings.HasPrefix(c.want[0], "rules.yaml") && len(problems) != len(c.want) {
				t.Errorf("got %q", all)
			}
		})
	}
}

func TestDomainTwice(t *testing.T) {
	_, problems := descriptors.Parse([]descriptors.File{
		{Name: "a.yaml", Text: []byte("domain: d\n")}, {Name: "b.yaml", Text: []byte("# again\ndomain: d\n")},
	})
	if len(problems) != 1 || problems[0].String() != `b.yaml:2: domain: "d" is the domain of a.yaml:1 already: write all descriptors of a domain into one file` {
		t.Errorf("got %v", problems)
	}
}

func TestLimits(t *testing.T) {
	ds := parse(t, `
domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 10}}
- {key: b, rate_limit: {unit: minute, requests_per_unit: 20}}
- {key: c, rate_limit: {unit: second, unit_multiplier: 30, requests_per_unit: 10}}
- {key: d, rate_limit: {unit: month, requests_per_unit: 4294967295, algorithm: fixed-window}}
- {key: e, rate_limit: {unit: minute, requests_per_unit: 10, algorithm: token-bucket}}
- {key: f, rate_limit: {unit: year, requests_per_unit: 1}}
`)
	window := func(name string, n int64, length time.Duration) limit.Limit {
		return limit.Limit{Name: name, Algorithm: limit.FixedWindow, Capacity: n, Window: length}
	}
	for i, want := range []limit.Limit{
		window("rls-minute", 10, time.Minute),
		window("rls-minute", 20, time.Minute),
		window("rls-30second", 10, 30*time.Second),
		window("rls-month", 4294967295, 30*24*time.Hour),
		{Name: "rls-minute-bucket", Algorithm: limit.TokenBucket, Capacity: 10, Refill: limit.Refill{Tokens: 10, Per: time.Minute}},
		window("rls-year", 1, 365*24*time.Hour),
	} {
		r := ds.Rules[i]
		if len(r.Refs) != 1 || *r.Refs[0].Inline != want || r.Refs[0].Name != want.Name || r.Index != i {
			t.Errorf("%s: got %+v, want %+v", r.Path, *r.Refs[0].Inline, want)
		}
	}
}

func TestNotes(t *testing.T) {
	ds := parse(t, `domain: d
descriptors:
- {key: a, value: x*, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: a, value: xy*, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: a, value: z*z}
- {key: h*}
- {key: b, shadow_mode: true, quota_mode: yes, detailed_metric: on}
- {key: b_c}
- {key: d, rate_limit: {unlimited: true, replaces: [{name: nobody}]}}
- {key: e, rate_limit: {unit: day, requests_per_unit: 1, name: known}, descriptors: [{key: f, rate_limit: {unlimited: true, replaces: [{name: known}]}}]}
`)
	want := []string{
		`4: descriptors[1].value: "xy*" is never reached: line 3 has "x*"`,
		`5: descriptors[2].value: "z*z": a star that is not the last`,
		`6: descriptors[3].key: "h*" matches keys that begin so`,
		`7: descriptors[4].shadow_mode: has no effect`,
		`7: descriptors[4].quota_mode: has no effect`,
		`7: descriptors[4].detailed_metric: has no effect`,
		`8: descriptors[5].key: "b_c" matches this key alone; in Envoy's service also the key "b" with the value "c"`,
		`9: descriptors[6].rate_limit.replaces[0]: "nobody" is the name of no rate_limit`,
	}
	if len(ds.Notes) != len(want) {
		t.Errorf("got %d notes", len(ds.Notes))
	}
	for i, n := range ds.Notes {
		if i < len(want) && !strings.HasPrefix(n.String(), "rules.yaml:"+want[i]) {
			t.Errorf("got %s, want %s", n, want[i])
		}
	}
}

// FuzzParse holds that no text makes Parse panic or take long, that every problem has its place, and that every rule can decide.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		shop, shares, "", "domain: d", "domain: d\ndescriptors: &a\n- {key: a, descriptors: *a}\n- {key: b, descriptors: *a}\n",
		"domain: d\ndescriptors: [{key: '*', share_threshold: on, rate_limit: {unit: year, requests_per_unit: 4294967295, unit_multiplier: 2}}]",
		"domain: d\ndescriptors: [{key: a, rate_limit: {unlimited: yes, replaces: [{name: b}]}}]", "? {}\n: 1", "domain: !!binary aGk=",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ds, problems := descriptors.Parse([]descriptors.File{{Name: "f", Text: []byte(text)}})
		if (ds == nil) != (len(problems) > 0) {
			t.Fatalf("%v, %v", ds, problems)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Field == "" || p.Text == "" {
				t.Fatalf("a problem without its place: %+v", p)
			}
		}
		if ds == nil {
			return
		}
		for _, r := range ds.Rules {
			if r.Unlimited || r.Requests == 0 {
				continue
			}
			if err := (limit.Request{Key: "k", Limits: r.Refs}).Validate(); err != nil {
				t.Fatalf("%s: %s", r.Path, err)
			}
		}
	})
}
