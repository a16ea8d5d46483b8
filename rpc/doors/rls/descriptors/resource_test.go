package descriptors_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// perHour is a descriptor with a limit.
func perHour(key, value string, requests uint32, below ...descriptors.Descriptor) descriptors.Descriptor {
	return descriptors.Descriptor{Key: key, Value: value, Rate: &descriptors.Rate{Requests: requests, Unit: "HOUR"}, Descriptors: below}
}

// TestTake holds resources against the file that says the same.
func TestTake(t *testing.T) {
	resource := descriptors.Resource{Name: "r", Domain: "d", Descriptors: []descriptors.Descriptor{
		perHour("a", "b", 5, perHour("c", "", 0)),
		{Key: "a", Rate: &descriptors.Rate{Unlimited: true, Name: "u"}},
		{Key: "s", Shadow: true, Quota: true, Detailed: true, Rate: &descriptors.Rate{Requests: 3, Unit: "Day", Name: "s", Replaces: []string{"u"}}},
	}}
	file := `
domain: d
descriptors:
- key: a
  value: b
  rate_limit: {unit: hour, requests_per_unit: 5}
  descriptors:
  - {key: c, rate_limit: {unit: hour, requests_per_unit: 0}}
- {key: a, rate_limit: {unlimited: true, name: u}}
- {key: s, shadow_mode: true, quota_mode: true, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 3, name: s, replaces: [{name: u}]}}
`
	got, problems := descriptors.Take([]descriptors.Resource{resource}, false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want, problems := descriptors.Parse([]descriptors.File{{Name: "f", Text: []byte(file)}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, entries := range [][]descriptors.Entry{{{"a", "b"}}, {{"a", "b"}, {"c", "x"}}, {{"a", "c"}}, {{"s", "1"}}} {
		g, _ := got.Domain("d").Match(entries, nil)
		w, _ := want.Domain("d").Match(entries, nil)
		if g == nil || w == nil || g.Numbers != w.Numbers || g.Unlimited != w.Unlimited || g.Path != w.Path || g.Shadow != w.Shadow || g.Quota != w.Quota || g.Detailed != w.Detailed ||
			strings.Join(g.Replaces, ",") != strings.Join(w.Replaces, ",") || len(g.Refs) != len(w.Refs) {
			t.Errorf("%v: the resource makes %+v, the file %+v", entries, g, w)
		}
	}
}

func TestTakeProblems(t *testing.T) {
	deep := perHour("k", "", 1)
	for range 40 {
		deep = descriptors.Descriptor{Key: "k", Descriptors: []descriptors.Descriptor{deep}}
	}
	for name, c := range map[string]struct {
		resources []descriptors.Resource
		want      string
	}{
		"no domain":           {[]descriptors.Resource{{Name: "r"}}, "r: domain: is missing or empty"},
		"no name, no domain":  {[]descriptors.Resource{{}}, "resource 1: domain: is missing or empty"},
		"no key":              {[]descriptors.Resource{{Name: "r", Domain: "d", Descriptors: []descriptors.Descriptor{{Value: "v"}}}}, "r: descriptors[0].key: is missing or empty"},
		"a descriptor twice":  {[]descriptors.Resource{{Name: "r", Domain: "d", Descriptors: []descriptors.Descriptor{perHour("a", "", 1), perHour("a", "", 2)}}}, "r: descriptors[1]: has the key and the value of descriptors[0]"},
		"no unit":             {[]descriptors.Resource{{Name: "r", Domain: "d", Descriptors: []descriptors.Descriptor{{Key: "a", Rate: &descriptors.Rate{Requests: 1}}}}}, "r: descriptors[0].rate_limit.unit: is missing"},
		"an unknown unit":     {[]descriptors.Resource{{Name: "r", Domain: "d", Descriptors: []descriptors.Descriptor{{Key: "a", Rate: &descriptors.Rate{Requests: 1, Unit: "9"}}}}}, `r: descriptors[0].rate_limit.unit: "9" is not a unit`},
		"a unit of unlimited": {[]descriptors.Resource{{Name: "r", Domain: "d", Descriptors: []descriptors.Descriptor{{Key: "a", Rate: &descriptors.Rate{Unlimited: true, Unit: "DAY"}}}}}, "r: descriptors[0].rate_limit.unit: stands beside unlimited"},
		"too deep":            {[]descriptors.Resource{{Name: "r", Domain: "d", Descriptors: []descriptors.Descriptor{deep}}}, ".descriptors: is nested deeper than 32 levels"},
		"too many":            {[]descriptors.Resource{{Name: "r", Domain: "d", Descriptors: make([]descriptors.Descriptor, 100_001)}}, "makes more than 100000 descriptors"},
		"one domain twice":    {[]descriptors.Resource{{Name: "r", Domain: "d"}, {Name: "s", Domain: "d"}}, `s: domain: "d" is the domain of r already`},
	} {
		t.Run(name, func(t *testing.T) {
			domains, problems := descriptors.Take(c.resources, false)
			if domains != nil || len(problems) == 0 {
				t.Fatal("it is taken")
			}
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, c.want) {
				t.Errorf("got %.500s, want %s", text, c.want)
			}
		})
	}
}

// TestMerge reads one domain from two files.
func TestMerge(t *testing.T) {
	a := descriptors.File{Name: "a.yaml", Text: []byte("domain: d\ndescriptors:\n- {key: a, value: x*, rate_limit: {unit: hour, requests_per_unit: 1, replaces: [{name: other}]}}\n")}
	b := descriptors.File{Name: "b.yaml", Text: []byte("domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: hour, requests_per_unit: 2, name: other}}\n- {key: a, value: xy*, rate_limit: {unit: hour, requests_per_unit: 3}}\n")}
	if _, problems := descriptors.Parse([]descriptors.File{a, b}); len(problems) != 1 || problems[0].String() != `b.yaml:1: domain: "d" is the domain of a.yaml:1 already: write all descriptors of a domain into one file` {
		t.Errorf("without being merged: %v", problems)
	}
	domains, problems := descriptors.ParseMerged([]descriptors.File{a, b})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if domains.Len() != 1 || len(domains.Rules) != 3 || domains.Rules[2].Index != 2 || len(domains.Notes) > 0 {
		t.Errorf("%d domains, the rules %v, and the notes %v", domains.Len(), domains.Rules, domains.Notes)
	}
	for value, want := range map[string]uint32{"q": 2, "xq": 1, "xyq": 1} { // the first pattern counts
		if rule, _ := domains.Domain("d").Match([]descriptors.Entry{{"a", value}}, nil); rule == nil || rule.Requests != want {
			t.Errorf("%s has the rule %+v", value, rule)
		}
	}
	if _, problems := descriptors.ParseMerged([]descriptors.File{a, b, b}); len(problems) != 2 || problems[0].String() != "b.yaml:3: descriptors[0]: has the key and the value of b.yaml:3: write the descriptor once" {
		t.Errorf("a descriptor in two files: %v", problems)
	}
}
