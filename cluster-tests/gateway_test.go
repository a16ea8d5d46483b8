package clustertests

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
)

// at is the same address for every request.
func at(address string) func(int) string { return func(int) string { return address } }

// The gateway as the proxy itself, as deploy/gateway/proxy.yaml has it.
func TestGatewayProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	g := s.startGateway("proxy.yaml")
	s.ownForbidden(g.proxy)
	s.burst(at(g.proxy), known)
	s.burst(at(g.proxy), forged)
}

// Three gateways ask one cluster: what they admit together is what one would. First clients come to them in turn, then they
// stand behind one nginx, and one of them is killed.
func TestGatewayThree(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	for range 3 {
		s.startGateway("forward-auth.yaml", "\nforward_auth:\n", "\nproxy: {listen: PROXY, upstreams: {application: {urls: [http://APPLICATION]}}}\nforward_auth:\n")
	}
	turn := func(i int) string { return s.gateways[i%3].proxy }
	s.burst(turn, known)

	var servers []string
	for _, g := range s.gateways {
		servers = append(servers, "server "+g.forwardAuth+";")
	}
	proxy := startNginx(s, "server 127.0.0.1:7782;", strings.Join(servers, " "))
	s.burst(func(i int) string {
		if i == siteRequests/2 {
			s.hedges()
			s.gateways[1].Kill()
		}
		return proxy.address
	}, known)
}

// What deploy/gateway holds is valid, and goes together.
func TestGatewayExamples(t *testing.T) {
	for name, limits := range map[string]string{"proxy.yaml": "limits.yaml", "forward-auth.yaml": "limits.yaml", "llm.yaml": "llm-limits.yaml"} {
		text, err := os.ReadFile("../deploy/gateway/" + limits)
		if err != nil {
			t.Fatal(err)
		}
		known, err := limit.ParseDocument(text)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := config.Read("../deploy/gateway/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if problems := gateway.Problems(doc, "", known); len(problems) > 0 {
			t.Errorf("%s with %s: %v", name, limits, problems)
		}
		for _, r := range known.Rules() {
			if !slices.ContainsFunc(doc.Routes, func(route config.Route) bool { return slices.Contains(gateway.Limits(route), r.Name) }) {
				t.Errorf("%s has a limit %s that %s does not ask for", limits, r.Name, name)
			}
		}
	}
}
