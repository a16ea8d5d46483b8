package extauthz_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3" // named by the page
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/gateway/config"
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

// The configurations of the page are valid by Envoy's schema, and the documents by the gateway's.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/from-ext-authz.md")
	if err != nil {
		t.Fatal(err)
	}
	filters, clusters, documents := 0, 0, 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for text := range strings.SplitSeq(block[1], "\n---\n") {
			var read any
			if err := yaml.Unmarshal([]byte(text), &read); err != nil {
				t.Errorf("%v in\n%s", err, text)
				continue
			}
			list, _ := read.([]any)
			for _, item := range list {
				if strings.Contains(text, "http_filters") || strings.Contains(text, "envoy.filters.http.ext_authz") {
					filters++
					checkFilter(t, item)
				} else {
					clusters++
					c := &clusterv3.Cluster{}
					if unyaml(t, item, c); c.Validate() != nil || c.GetName() != "jeton" {
						t.Errorf("%v: %v", c, c.Validate())
					}
				}
			}
			if document, isDocument := read.(map[string]any); isDocument && strings.Contains(text, "gateway.yaml") {
				documents++
				checkDocument(t, document)
			}
		}
	}
	if filters != 4 || clusters != 1 || documents != 2 {
		t.Errorf("%d filters, %d clusters and %d documents were found", filters, clusters, documents)
	}
}

// checkFilter checks one of Envoy's HTTP filters.
func checkFilter(t *testing.T, item any) {
	t.Helper()
	f, a := &hcmv3.HttpFilter{}, &extauthzv3.ExtAuthz{}
	unyaml(t, item, f)
	if err := f.GetTypedConfig().UnmarshalTo(a); err != nil {
		t.Error(err)
		return
	}
	if err := a.ValidateAll(); err != nil {
		t.Error(err)
	}
}

// checkDocument checks a document of a gateway.
func checkDocument(t *testing.T, document map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/keys.jsonl", []byte("# none yet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Parse(text, dir); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}
