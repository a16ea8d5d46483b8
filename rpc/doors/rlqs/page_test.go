package rlqs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rate_limit_quota/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3" // named by the page
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"              // likewise
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
)

// unyaml reads YAML into a message, strictly.
func unyaml(t *testing.T, node any, m proto.Message) {
	t.Helper()
	text, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(text, m); err != nil {
		t.Errorf("%v in %s", err, text)
	}
}

// The configurations of the page are valid by Envoy's schema, and deny what was not assigned; and its limit can be assigned from.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/from-envoy-rlqs.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		var read any
		if err := yaml.Unmarshal([]byte(block[1]), &read); err != nil {
			t.Fatalf("%v in\n%s", err, block[1])
		}
		list, isList := read.([]any)
		switch {
		case strings.HasPrefix(block[1], "limits:"):
			found++
			doc, err := limit.ParseDocument([]byte(block[1]))
			if err != nil {
				t.Fatal(err)
			}
			if rule, _ := doc.Rule("api"); rule == nil || rule.AllowsLease() != nil {
				t.Errorf("the limit of the page is not leased: %v", rule)
			}
		case isList && strings.Contains(block[1], "http_filters"):
			found++
			checkFilter(t, list[0])
		case isList:
			found++
			c := &clusterv3.Cluster{}
			if unyaml(t, list[0], c); c.Validate() != nil || c.GetName() != "jeton" {
				t.Errorf("%v: %v", c, c.Validate())
			}
		}
	}
	if found != 3 {
		t.Errorf("%d limits, filters and clusters were found", found)
	}
}

// checkFilter checks the filter.
func checkFilter(t *testing.T, item any) {
	t.Helper()
	f, quota := &hcmv3.HttpFilter{}, &filterv3.RateLimitQuotaFilterConfig{}
	unyaml(t, item, f)
	if err := f.GetTypedConfig().UnmarshalTo(quota); err != nil {
		t.Fatal(err)
	}
	if err := quota.ValidateAll(); err != nil {
		t.Error(err)
	}
	settings := &filterv3.RateLimitQuotaBucketSettings{}
	action := quota.GetBucketMatchers().GetMatcherList().GetMatchers()[0].GetOnMatch().GetAction().GetTypedConfig()
	if err := action.UnmarshalTo(settings); err != nil {
		t.Fatal(err)
	}
	if err := settings.ValidateAll(); err != nil {
		t.Error(err)
	}
	for what, s := range map[string]*typev3.RateLimitStrategy{
		"no assignment": settings.GetNoAssignmentBehavior().GetFallbackRateLimit(), "an expired one": settings.GetExpiredAssignmentBehavior().GetFallbackRateLimit(),
	} {
		if s.GetBlanketRule() != typev3.RateLimitStrategy_DENY_ALL {
			t.Errorf("with %s Envoy does %v", what, s)
		}
	}
	if id := settings.GetBucketIdBuilder().GetBucketIdBuilder(); id["limit"].GetStringValue() != "api" || id["key"].GetCustomValue() == nil {
		t.Errorf("the bucket id is %v", id)
	}
}
