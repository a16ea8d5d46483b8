package xds_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachetypes "github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	configv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
	"github.com/jeton-dev/jeton/rpc/doors/rls/xds"
)

// A control is a server of configurations, as Envoy Gateway runs one.
type control struct {
	t       *testing.T
	address string
	cache   cachev3.SnapshotCache
	asked   chan *discoveryv3.DiscoveryRequest
	stop    func()
}

// newControl starts a server at an address; empty for a free one.
func newControl(t *testing.T, address string) *control {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address) //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	c := &control{t: t, address: l.Addr().String(), cache: cachev3.NewSnapshotCache(false, cachev3.IDHash{}, nil), asked: make(chan *discoveryv3.DiscoveryRequest, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, serverv3.NewServer(ctx, c.cache, serverv3.CallbackFuncs{
		StreamRequestFunc: func(_ int64, r *discoveryv3.DiscoveryRequest) error {
			c.asked <- r
			return nil
		},
	}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	stopped := false
	c.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(c.stop)
	return c
}

// push has the server send a configuration.
func (c *control) push(version string, all ...*configv3.RateLimitConfig) {
	c.t.Helper()
	var resources []cachetypes.Resource
	for _, one := range all {
		resources = append(resources, one)
	}
	snapshot, err := cachev3.NewSnapshot(version, map[resourcev3.Type][]cachetypes.Resource{resourcev3.RateLimitConfigType: resources})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cache.SetSnapshot(c.t.Context(), "node", snapshot); err != nil {
		c.t.Fatal(err)
	}
}

// said is the next request that the server gets.
func (c *control) said() *discoveryv3.DiscoveryRequest {
	c.t.Helper()
	select {
	case r := <-c.asked:
		return r
	case <-time.After(5 * time.Minute):
		c.t.Fatal("the client says nothing")
		return nil
	}
}

// domain is a configuration with one rule.
func domain(name string, requests uint32) *configv3.RateLimitConfig {
	return &configv3.RateLimitConfig{Name: name, Domain: name, Descriptors: []*configv3.RateLimitDescriptor{{
		Key: "rule-0-match-0", Value: "rule-0-match-0",
		Descriptors: []*configv3.RateLimitDescriptor{{
			Key:       "remote_address",
			RateLimit: &configv3.RateLimitPolicy{Unit: configv3.RateLimitUnit_HOUR, RequestsPerUnit: requests},
		}},
	}}}
}

// follow runs a client, and returns what it has taken. It refuses what has a domain called bad.
func follow(t *testing.T, cfg xds.Config) <-chan []descriptors.Resource {
	t.Helper()
	cfg.Node, cfg.Pause = "node", time.Millisecond
	client, err := xds.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan []descriptors.Resource, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		client.Follow(ctx, func(rs []descriptors.Resource) error {
			for _, r := range rs {
				if r.Domain == "bad" {
					return errors.New("the domain is bad")
				}
			}
			taken <- rs
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return taken
}

func shown(rs []descriptors.Resource) string {
	var all []string
	for _, r := range rs {
		all = append(all, fmt.Sprintf("%s %s %d", r.Domain, r.Descriptors[0].Key, r.Descriptors[0].Descriptors[0].Rate.Requests))
	}
	return strings.Join(all, ", ")
}

func TestFollow(t *testing.T) {
	server := newControl(t, "")
	server.push("1", domain("a", 5))
	taken := follow(t, xds.Config{Server: server.address, Metadata: map[string]string{"zone": "east"}, Headers: map[string]string{"x-of": "me"}})
	first := server.said()
	if first.GetNode().GetId() != "node" || first.GetNode().GetMetadata().GetFields()["zone"].GetStringValue() != "east" || first.GetTypeUrl() != resourcev3.RateLimitConfigType || first.GetResponseNonce() != "" {
		t.Errorf("the client asks %v", first)
	}
	if got := shown(<-taken); got != "a rule-0-match-0 5" {
		t.Errorf("got %s", got)
	}
	if ack := server.said(); ack.GetVersionInfo() != "1" || ack.GetResponseNonce() == "" || ack.GetErrorDetail() != nil {
		t.Errorf("the client answers %v", ack)
	}

	server.push("2", domain("bad", 6))
	if nack := server.said(); nack.GetVersionInfo() != "1" || nack.GetErrorDetail().GetMessage() != "the domain is bad" {
		t.Errorf("the client answers %v to what is bad", nack)
	}
	server.push("3", domain("a", 7))
	if got := shown(<-taken); got != "a rule-0-match-0 7" {
		t.Errorf("got %s", got)
	}
	nacks := 0
	ack := server.said()
	for ; ack.GetErrorDetail() != nil; ack = server.said() { // the server has sent the bad one again meanwhile
		nacks++
	}
	if nacks > 2 {
		t.Errorf("what is bad is refused %d times without a pause", nacks)
	}
	if ack.GetVersionInfo() != "3" || ack.GetErrorDetail() != nil {
		t.Errorf("the client answers %v", ack)
	}
	server.push("4")
	if got := <-taken; len(got) != 0 {
		t.Errorf("got %v where nothing is left", got)
	}
}

// TestServerComesBack has a server start again that gives another configuration the version that the client has.
func TestServerComesBack(t *testing.T) {
	server := newControl(t, "")
	server.push("1", domain("a", 5))
	taken := follow(t, xds.Config{Server: server.address})
	server.begins()
	<-taken
	server.stop()
	again := newControl(t, server.address)
	again.push("1", domain("a", 8))
	again.begins()
	if got := shown(<-taken); got != "a rule-0-match-0 8" {
		t.Errorf("got %s", got)
	}
}

// begins holds the first request of a stream to knowing nothing of another one.
func (c *control) begins() {
	c.t.Helper()
	if first := c.said(); first.GetVersionInfo() != "" || first.GetResponseNonce() != "" {
		c.t.Fatalf("the client begins with %v, of another stream", first)
	}
}

// TestUnknownFields refuses what a newer server may mean.
func TestUnknownFields(t *testing.T) {
	server := newControl(t, "")
	taken := follow(t, xds.Config{Server: server.address})
	server.said()
	more := domain("a", 5)
	limit := more.GetDescriptors()[0].GetDescriptors()[0].GetRateLimit().ProtoReflect()
	limit.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	server.push("1", more)
	if nack := server.said(); !strings.Contains(nack.GetErrorDetail().GetMessage(), `the limit of the descriptor "remote_address": has a field that is not known here`) {
		t.Errorf("the client answers %v", nack)
	}
	server.push("2", domain("a", 6))
	if got := shown(<-taken); got != "a rule-0-match-0 6" {
		t.Errorf("got %s", got)
	}
}

// TestTooLargeAnAnswer goes on asking, and says so.
func TestTooLargeAnAnswer(t *testing.T) {
	server := newControl(t, "")
	server.push("1", domain(strings.Repeat("a", 2000), 5))
	taken := follow(t, xds.Config{Server: server.address, MaxMessage: 1000})
	server.said()
	server.said() // on another stream
	server.push("2", domain("a", 5))
	if got := shown(<-taken); got != "a rule-0-match-0 5" {
		t.Errorf("got %s", got)
	}
}

func TestConfigOfClient(t *testing.T) {
	if _, err := xds.New(xds.Config{}); err == nil {
		t.Error("no server is needed")
	}
	if _, err := xds.New(xds.Config{Server: "a:1", Pause: -1}); err == nil {
		t.Error("a negative pause is taken")
	}
}

// lines are what is logged.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default: // the test has seen enough
	}
	return len(b), nil
}

// TestAwayIsLogged says that a configuration stays in force only where there is one.
func TestAwayIsLogged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() //nolint:errcheck // nothing listens there for now
	log := make(lines, 100)
	taken := follow(t, xds.Config{Server: address, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if line := <-log; !strings.Contains(line, "no configuration has come from it yet") || !strings.Contains(line, address) {
		t.Errorf("at the start: %s", line)
	}
	server := newControl(t, address)
	server.push("1", domain("a", 5))
	<-taken
	if line := <-log; !strings.Contains(line, "answers again") {
		t.Errorf("with the server: %s", line)
	}
	server.said()
	server.said() // which accepts it
	server.stop()
	if line := <-log; !strings.Contains(line, "the last configuration stays in force") {
		t.Errorf("later: %s", line)
	}
}
