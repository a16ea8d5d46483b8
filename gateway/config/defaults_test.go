package config

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDefaults compares what the zero value means with what the comments of the fields say.
func TestDefaults(t *testing.T) {
	for what, got := range map[string][2]any{
		"cluster.servers":                           {Cluster{}.Addresses(), []string{"127.0.0.1:7700"}},
		"cluster.decide_within":                     {Cluster{}.Budget(), 50 * time.Millisecond},
		"cluster.repeat_denials":                    {Cluster{}.Repeats(), time.Second},
		"cluster.repeat_denials, none":              {Cluster{RepeatDenials: new(Duration)}.Repeats(), time.Duration(0)},
		"cluster.gateways":                          {Cluster{}.Sharers(), 1},
		"cluster.max_in_flight":                     {Cluster{}.MaxConcurrent(), 10_000},
		"cluster.max_in_flight_per_client":          {Cluster{}.MaxConcurrentPerClient(), 1250},
		"cluster.max_in_flight_per_client, of few":  {Cluster{MaxInFlight: 7}.MaxConcurrentPerClient(), 1},
		"proxy.body_rate":                           {Proxy{}.MinBodyRate(), int64(500)},
		"upstream.body_rate":                        {Upstream{}.MinBodyRate(500), int64(500)},
		"upstream.body_rate, its own":               {Upstream{BodyRate: -1}.MinBodyRate(500), int64(-1)},
		"proxy.answer_pause":                        {Proxy{}.UnreadTimeout(), time.Minute},
		"proxy.max_connections":                     {Proxy{}.MaxOpenConnections(1 << 20), 20_000},
		"proxy.max_connections, of few files":       {Proxy{}.MaxOpenConnections(1024), 512},
		"proxy.max_connections, its own":            {Proxy{MaxConnections: 7}.MaxOpenConnections(1024), 7},
		"proxy.max_connections_per_client":          {Proxy{}.MaxOpenConnectionsPerClient(20_000), 2500},
		"proxy.max_connections_per_client, its own": {Proxy{MaxConnectionsPerClient: 7}.MaxOpenConnectionsPerClient(20_000), 7},
		"proxy.listen":                              {Proxy{}.Address(), "127.0.0.1:7780"},
		"proxy.max_header":                          {Proxy{}.MaxHeaderBytes(), 32 << 10},
		"proxy.max_body":                            {Proxy{}.MaxBodyBytes(), int64(10 << 20)},
		"proxy.max_body -1":                         {Proxy{MaxBody: -1}.MaxBodyBytes(), int64(-1)},
		"proxy.max_body_memory":                     {Proxy{}.BodyMemory(), int64(256 << 20)},
		"proxy.max_body_memory, any body":           {Proxy{MaxBody: -1}.BodyMemory(), int64(256 << 20)},
		"proxy.max_body_memory, long bodies":        {Proxy{MaxBody: 1 << 30}.BodyMemory(), int64(1 << 30)},
		"proxy.max_body_memory_per_client":          {Proxy{}.BodyMemoryPerClient(), int64(64 << 20)},
		"proxy.max_body_memory_per_client, of half": {Proxy{MaxBody: 128 << 20}.BodyMemoryPerClient(), int64(128 << 20)},
		"proxy.max_body_memory_per_client, of more": {Proxy{MaxBodyMemory: 1 << 30}.BodyMemoryPerClient(), int64(256 << 20)},
		"proxy.header_within":                       {Proxy{}.HeaderTimeout(), 5 * time.Second},
		"proxy.body_pause":                          {Proxy{}.MaxPause(), time.Minute},
		"proxy.idle_within":                         {Proxy{}.IdleTimeout(), 2 * time.Minute},
		"upstream.connect_within":                   {Upstream{}.ConnectTimeout(), 5 * time.Second},
		"upstream.respond_within":                   {Upstream{}.RespondTimeout(), 60 * time.Second},
		"forward_auth.listen":                       {ForwardAuth{}.Address(), "127.0.0.1:7782"},
		"admin.listen":                              {Admin{}.Address(), "127.0.0.1:7781"},
		"identity.key":                              {Identity{}.Templates(), []string{"ip:{ip}"}},
		"identity.address_header":                   {Identity{}.Header(), "X-Forwarded-For"},
		"identity.ipv6_prefix":                      {Identity{}.IPv6Bits(), 64},
		"jwt.header":                                {JWT{}.HeaderName(), "Authorization"},
		"jwt.leeway":                                {JWT{}.Skew(), 30 * time.Second},
		"jwt.refresh_every":                         {JWT{}.Refresh(), 10 * time.Minute},
		"api_key.header":                            {APIKey{}.HeaderName(), "X-Api-Key"},
		"api_key.header, query":                     {APIKey{Query: "key"}.HeaderName(), ""},
		"exempt.token_header":                       {Exempt{}.Header(), "X-Internal-Token"},
		"check.key":                                 {Check{}.Templates(Identity{Key: []string{"a"}}), []string{"a"}},
		"check.key, its own":                        {Check{Key: []string{"b"}}.Templates(Identity{Key: []string{"a"}}), []string{"b"}},
		"answer.status":                             {Answer{}.StatusCode(), 429},
		"answer.headers":                            {Answer{}.Forms(), []string{"ratelimit"}},
		"answer.headers, none":                      {Answer{Headers: []string{"none"}}.Forms(), []string(nil)},
		"answer.headers, two":                       {Answer{Headers: []string{"x-ratelimit", "ratelimit"}}.Forms(), []string{"x-ratelimit", "ratelimit"}},
		"answer.content_type":                       {Answer{}.Type(), "text/plain; charset=utf-8"},
		"log.denied":                                {Log{}.DeniedShare(), 1.0},
		"log.denied, 0":                             {Log{Denied: new(0.0)}.DeniedShare(), 0.0},
		"access_log.what":                           {AccessLog{}.Logged(), "denied"},
		"access_log.sample":                         {AccessLog{}.SampleShare(), 1.0},
		"access_log.sample, 0":                      {AccessLog{Sample: new(0.0)}.SampleShare(), 0.0},
		"tracing.share":                             {Tracing{}.SampleShare(), 0.01},
	} {
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%s is %v, want %v", what, got[0], got[1])
		}
	}
	var loop []string
	for _, n := range (ForwardAuth{}).Networks() {
		loop = append(loop, n.String())
	}
	if want := []string{"127.0.0.0/8", "::1/128"}; !slices.Equal(loop, want) {
		t.Errorf("forward_auth.trusted is %q, want %q", loop, want)
	}
}

func TestGatewayName(t *testing.T) {
	if got := (&Document{Name: "Edge-1"}).GatewayName(); got != "edge-1" {
		t.Errorf("got %q", got)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got := (&Document{}).GatewayName(); got != nameOfHost(host) || !isGatewayName(got) {
		t.Errorf("got %q of the host %q", got, host)
	}
	for host, want := range map[string]string{
		"":                             "gateway",
		"...":                          "gateway",
		"Web-1.example.com":            "web-1",
		"_gw_2":                        "gw-2",
		strings.Repeat("a", 31) + "-b": strings.Repeat("a", 31),
		"größe":                        "gr--e",
	} {
		if got := nameOfHost(host); got != want || !isGatewayName(got) {
			t.Errorf("the host %q makes %q, want %q", host, got, want)
		}
	}
}

func TestUpstreamOf(t *testing.T) {
	one := &Document{Proxy: &Proxy{Upstreams: map[string]Upstream{"web": {}}}}
	two := &Document{Proxy: &Proxy{Upstreams: map[string]Upstream{"web": {}, "files": {}}}}
	for _, c := range []struct {
		d          *Document
		said, want string
	}{{one, "", "web"}, {one, "web", "web"}, {two, "files", "files"}, {two, "", ""}, {&Document{}, "", ""}} {
		if got := c.d.UpstreamOf(&Route{Upstream: c.said}); got != c.want {
			t.Errorf("of %q the upstream is %q, want %q", c.said, got, c.want)
		}
	}
}

func TestCost(t *testing.T) {
	for _, c := range []struct {
		cost         Cost
		length, want int64
	}{
		{Cost{}, 5000, 1},
		{Cost{Tokens: 7}, -1, 7},
		{Cost{BytesPerToken: 1000}, 0, 1},
		{Cost{BytesPerToken: 1000}, 1000, 1},
		{Cost{BytesPerToken: 1000}, 1001, 2},
		{Cost{BytesPerToken: 1}, math.MaxInt64, 1_000_000},
		{Cost{BytesPerToken: 1000}, -1, 1_000_000},
		{Cost{BytesPerToken: 1000, Max: 50}, -1, 50},
		{Cost{BytesPerToken: 1000, Min: 4}, 1, 4},
	} {
		if got := c.cost.OfBody(c.length); got != c.want {
			t.Errorf("%+v: a body of %d bytes costs %d, want %d", c.cost, c.length, got, c.want)
		}
	}
	if got := (Cost{Header: "X", Min: 2, Max: 9}); got.Bound(-5) != 2 || got.Bound(5) != 5 || got.Bound(10) != 9 {
		t.Errorf("%+v does not bound", got)
	}
}

func TestAnswerTemplate(t *testing.T) {
	if body, err := (Answer{}).Template(); body != nil || err != nil {
		t.Errorf("%v, %v", body, err)
	}
	body, err := Answer{Body: "{{.ID}} {{.Route}} {{.Limits}} {{.RetryAfter}} {{.Status}}"}.Template()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := body.Execute(&out, BodyFields{"id", "route", []string{"a", "b"}, 3, 429}); err != nil || out.String() != "id route [a b] 3 429" {
		t.Errorf("%q, %v", &out, err)
	}
}
