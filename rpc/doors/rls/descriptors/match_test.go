package descriptors_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// parse reads one file without problems.
func parse(tb testing.TB, text string) *descriptors.Domains {
	tb.Helper()
	ds, problems := descriptors.Parse([]descriptors.File{{Name: "rules.yaml", Text: []byte(text)}})
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	return ds
}

// entriesOf reads "k=v k=v".
func entriesOf(text string) (entries []descriptors.Entry) {
	for pair := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(pair, "=")
		entries = append(entries, descriptors.Entry{Key: key, Value: value})
	}
	return entries
}

const shop = `
domain: shop
descriptors:
- key: client
  rate_limit: {unit: minute, requests_per_unit: 1}
- key: client
  value: gold
  rate_limit: {unit: minute, requests_per_unit: 2}
- key: client
  value: go*
  rate_limit: {unit: minute, requests_per_unit: 3}
- key: client
  value: goo*
  rate_limit: {unit: minute, requests_per_unit: 4}
- key: path
  value: "*"
  rate_limit: {unit: minute, requests_per_unit: 5}
- key: path
  value: /a*b
  rate_limit: {unit: minute, requests_per_unit: 6}
- key: kind
  value: mail
  descriptors:
  - key: to
    rate_limit: {unit: day, requests_per_unit: 7}
  - key: to
    value: boss
    rate_limit: {unlimited: true}
- key: kind
  rate_limit: {unit: hour, requests_per_unit: 8}
  descriptors:
  - key: to
    rate_limit: {unit: hour, requests_per_unit: 9}
- key: x-*
  rate_limit: {unit: hour, requests_per_unit: 10}
- key: port
  value: 8080
  rate_limit: {unit: SECOND, requests_per_unit: 11}
- key: signed
  value: true
  rate_limit: {unit: Week, requests_per_unit: 12}
- key: free
- key: banned
  rate_limit: {unit: second, requests_per_unit: 0}
- key: a_b
  rate_limit: {unit: second, requests_per_unit: 13}
- key: a
  value: c
  rate_limit: {unit: second, requests_per_unit: 14}
`

func TestMatch(t *testing.T) {
	d := parse(t, shop).Domain("shop")
	for _, c := range []struct {
		entries string
		want    uint32 // requests per unit of the rule; 1000 for an unlimited one, 2000 for one of 0, 0 for no rule
	}{
		{"client=silver", 1},
		{"client=", 1},
		{"client=gold", 2},
		{"client=golden", 3},
		{"client=go", 3},
		{"client=goose", 3}, // the first pattern in the file counts
		{"Client=gold", 0},
		{"clien=t", 0},
		{"path=/x", 5},
		{"path=", 5},
		{"path=/axb", 5},
		{"path=/a*b", 6}, // a star within is a star
		{"kind=mail", 0},
		{"kind=mail to=me", 7},
		{"kind=mail to=boss", 1000},
		{"kind=mail to=me more=1", 0},
		{"kind=mail from=me", 0}, // no way back to the kind without a value
		{"kind=phone", 8},
		{"kind=phone to=me", 9},
		{"x-y=1", 10},
		{"x-=", 10},
		{"x=-1", 0},
		{"port=8080", 11},
		{"port=80800", 0},
		{"signed=true", 12},
		{"free=1", 0},
		{"banned=1", 2000},
		{"a_b=1", 13},
		{"a=b", 0},
		{"a=c", 14},
		{"a=c_", 0},
		{"", 0},
	} {
		rule, _ := d.Match(entriesOf(c.entries), nil)
		got := uint32(0)
		switch {
		case rule == nil:
		case rule.Unlimited:
			got = 1000
		case rule.Requests == 0:
			got = 2000
		default:
			got = rule.Requests
		}
		if got != c.want {
			t.Errorf("%q: got %d, want %d", c.entries, got, c.want)
		}
	}
	if parse(t, shop).Domain("shops") != nil {
		t.Error("a domain that is in no file was found")
	}
}

const shares = `
domain: files
descriptors:
- key: path
  value: top/*
  share_threshold: true
  descriptors:
  - key: path
    value: in/*
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: path
    value: own/*
    rate_limit: {unit: minute, requests_per_unit: 2}
- key: path
  value: each/*
  rate_limit: {unit: minute, requests_per_unit: 3}
`

func TestKeys(t *testing.T) {
	d := parse(t, shares).Domain("files")
	for entries, want := range map[string]string{
		"path=top/a path=in/b":  `files|path~top/*|path~in/*`,
		"path=top/c path=in/d":  `files|path~top/*|path~in/*`,
		"path=top/a path=own/b": `files|path~top/*|path=own/b`,
		"path=each/a":           `files|path=each/a`,
	} {
		e := entriesOf(entries)
		rule, steps := d.Match(e, nil)
		if rule == nil {
			t.Fatalf("%s has no rule", entries)
		}
		if got := descriptors.Key(descriptors.AppendKey(nil, "files", e, steps)); got != want {
			t.Errorf("%s: got %s, want %s", entries, got, want)
		}
	}
}

func TestMetricPaths(t *testing.T) {
	d := parse(t, `
domain: d
descriptors:
- {key: plain, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: detailed, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: exact, value: v, value_to_metric: true, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: wild, value: v*, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: wildly, value: v*, value_to_metric: true, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: shared, value: v*, value_to_metric: true, share_threshold: true, descriptors: [{key: m, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 1}}]}
- {key: route, value_to_metric: true, descriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: 1}}]}
`).Domain("d")
	for _, c := range []struct {
		entries, path string
		varies        bool
	}{
		{"plain=1", "d.plain", false},
		{"detailed=1", "d.detailed_1", true},
		{"exact=v", "d.exact_v", false},
		{"wild=vx", "d.wild_v*", false},
		{"wildly=vx", "d.wildly_vx", true},
		{"shared=vx m=GET", "d.shared_v*.m_GET", true},
		{"route=api user=5", "d.route_api.user", true},
	} {
		e := entriesOf(c.entries)
		rule, steps := d.Match(e, nil)
		got := rule.Path
		if rule.Varies {
			got = rule.MetricPath("d", e, steps)
		}
		if got != c.path || rule.Varies != c.varies {
			t.Errorf("%s: got %s, %v, want %s, %v", c.entries, got, rule.Varies, c.path, c.varies)
		}
	}
}
