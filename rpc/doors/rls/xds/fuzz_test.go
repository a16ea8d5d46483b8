package xds

import (
	"slices"
	"testing"
	"unicode/utf8"

	configv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// FuzzResource makes rules of two resources that a server may send: they are rules that can be found, or one error that the server can be told.
func FuzzResource(f *testing.F) {
	add := func(m *configv3.RateLimitConfig) {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data, true)
		f.Add(data, []byte{}, false)
	}
	limit := func(unit configv3.RateLimitUnit, n uint32) *configv3.RateLimitPolicy {
		return &configv3.RateLimitPolicy{Unit: unit, RequestsPerUnit: n, Name: "n", Replaces: []*configv3.RateLimitReplace{{Name: "m"}}}
	}
	add(&configv3.RateLimitConfig{Name: "a", Domain: "a", Descriptors: []*configv3.RateLimitDescriptor{
		{Key: "route", Value: "route", Descriptors: []*configv3.RateLimitDescriptor{
			{Key: "rule-0-match-0", RateLimit: limit(configv3.RateLimitUnit_HOUR, 5)},
			{Key: "masked_remote_address", Value: "10.0.0.0/8", Descriptors: []*configv3.RateLimitDescriptor{{Key: "remote_address", RateLimit: limit(configv3.RateLimitUnit_SECOND, 0)}}},
		}},
		{Key: "w", Value: "x*", QuotaMode: true, ShadowMode: true, DetailedMetric: true, RateLimit: &configv3.RateLimitPolicy{Unlimited: true}},
	}})
	add(&configv3.RateLimitConfig{Domain: "a", Descriptors: []*configv3.RateLimitDescriptor{{Key: "k", RateLimit: limit(99, 1)}}})
	f.Fuzz(func(t *testing.T, a, b []byte, merge bool) {
		resources, err := decode([]*anypb.Any{{TypeUrl: typeURL, Value: a}, {TypeUrl: typeURL, Value: b}})
		if err != nil {
			if text := reason(err); text == "" || !utf8.ValidString(text) || len(text) > maxReason {
				t.Fatalf("the server cannot be told %q", text)
			}
			return
		}
		domains, problems := descriptors.Take(resources, merge)
		if (domains == nil) != (len(problems) > 0) {
			t.Fatalf("domains %v with the problems %v", domains, problems)
		}
		for _, p := range problems {
			if p.File == "" || p.Field == "" || p.Line > 0 {
				t.Fatalf("the problem %+v says not where it is", p)
			}
		}
		if domains == nil {
			return
		}
		for _, r := range resources {
			walk(t, domains.Domain(r.Domain), r.Descriptors, nil)
		}
	})
}

// walk finds each descriptor whose own texts have no star by these, and its rule if it has one.
func walk(t *testing.T, d *descriptors.Domain, all []descriptors.Descriptor, above []descriptors.Entry) {
	t.Helper()
	for i := range all {
		one := &all[i]
		entries := append(slices.Clone(above), descriptors.Entry{Key: one.Key, Value: one.Value})
		if one.Value == "" || hasStar(entries) {
			continue
		}
		rule, _ := d.Match(entries, nil)
		if (rule != nil) != (one.Rate != nil) {
			t.Fatalf("%v has the rule %v, of the rate %v", entries, rule, one.Rate)
		}
		walk(t, d, one.Descriptors, entries)
	}
}

func hasStar(entries []descriptors.Entry) bool {
	for _, e := range entries {
		if text := e.Key + e.Value; text[len(text)-1] == '*' {
			return true
		}
	}
	return false
}
