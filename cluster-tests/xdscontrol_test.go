package clustertests

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachetypes "github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	configv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
)

// A control gives configurations of rate limits over xDS, as Envoy Gateway does: with certificates on both sides, to the node envoy-ratelimit.
type control struct {
	t       *testing.T
	address string
	cache   cachev3.SnapshotCache
	stop    func()

	mu   sync.Mutex
	said *discoveryv3.DiscoveryRequest // last
}

// newControl starts one at an address.
func newControl(t *testing.T, ca *authority.Authority, address string) *control {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c := &control{t: t, address: l.Addr().String(), cache: cachev3.NewSnapshotCache(false, cachev3.IDHash{}, nil)}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Issue(t, "envoy-gateway").TLS(t)},
	})))
	ctx, cancel := context.WithCancel(context.Background())
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, serverv3.NewServer(ctx, c.cache, serverv3.CallbackFuncs{
		StreamRequestFunc: func(_ int64, r *discoveryv3.DiscoveryRequest) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.said = r
			return nil
		},
	}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
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
	if err := c.cache.SetSnapshot(c.t.Context(), "envoy-ratelimit", snapshot); err != nil {
		c.t.Fatal(err)
	}
}

// accepted and refused are what the client has last answered: the version that it has, and what is wrong with the one after.
func (c *control) accepted() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.GetVersionInfo()
}

func (c *control) refused() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.GetErrorDetail().GetMessage()
}

// envoyRoute is the name of a route, as Envoy Gateway gives it.
const envoyRoute = "httproute/default/backend/rule/0/match/0/*"

// ofListener is what Envoy Gateway sends of a listener with a route: each client that sends a header with its name has so many requests per year, and each address of a network some.
func ofListener(name string, perClient, perAddress uint32) *configv3.RateLimitConfig {
	perYear := func(requests uint32) *configv3.RateLimitPolicy {
		return &configv3.RateLimitPolicy{Unit: configv3.RateLimitUnit_YEAR, RequestsPerUnit: requests}
	}
	return &configv3.RateLimitConfig{Name: name, Domain: name, Descriptors: []*configv3.RateLimitDescriptor{{
		Key: envoyRoute, Value: envoyRoute,
		Descriptors: []*configv3.RateLimitDescriptor{
			{Key: "rule-0-match-0", RateLimit: perYear(perClient)},
			{Key: "masked_remote_address", Value: "10.0.0.0/8", Descriptors: []*configv3.RateLimitDescriptor{{Key: "remote_address", RateLimit: perYear(perAddress)}}},
		},
	}}}
}
