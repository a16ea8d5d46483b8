package nemesis

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
)

// gateways starts the gateways, and makes as many callers that ask through them as there are others. In a network of their own each is a host,
// which callers always reach.
func (s *Stage) gateways(cfg Config) error {
	if cfg.Gateways == 0 {
		return nil
	}
	var routes strings.Builder
	for _, st := range streams {
		if st.plain {
			fmt.Fprintf(&routes, "- {name: %[1]s, path: /%[1]s, checks: [{key: [\"{header.%[2]s}\"], limits: [%[1]s], on_unavailable: deny}]}\n",
				st.rules[0].name, gatewayKey)
		}
	}
	token := filepath.Join(s.folder, "token")
	if err := os.WriteFile(token, []byte("the-token-of-all-operators\n"), 0o600); err != nil {
		return err
	}
	asks := &gatewayChecker{client: &http.Client{Transport: transport(nil)}}
	for i := range cfg.Gateways {
		name := gatewayNames(i)
		application, err := s.application(name)
		if err != nil {
			return err
		}
		file := filepath.Join(s.folder, name+".yaml")
		g := s.cluster.PlanGateway(name, file)
		text := fmt.Sprintf("name: %s\ncluster: {servers: [%s], decide_within: %s}\nadmin: {listen: %q, token_file: %q}\n"+
			"proxy: {listen: %q, upstreams: {application: {urls: [%q]}}}\nroutes:\n%s",
			name, strings.Join(s.cluster.Servers(), ", "), deadline, g.Admin, token, g.Proxy, application, routes.String())
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		h := &host{name: name, stage: s, program: g, clock: filepath.Join(s.folder, "clocks", name)}
		h.parting = func() { s.edgeWork.add(g.Admin) }
		s.edges = append(s.edges, h)
		asks.gateways = append(asks.gateways, g.Proxy)
		if cfg.Lab != nil {
			s.callerHosts = append(s.callerHosts, name) // to nodes it is one
		}
	}
	if err := s.back(s.t.Context(), s.edges...); err != nil {
		return err
	}
	s.idle = append(s.idle, asks.client.CloseIdleConnections)
	for range len(s.traffic.callers) {
		s.traffic.callers = append(s.traffic.callers, caller{name: "gateways", Checker: asks, plain: true, through: throughGateway})
	}
	return nil
}

// application starts what stands behind a gateway, and is its URL as the gateway reaches it.
func (s *Stage) application(gateway string) (url string, err error) {
	at := "127.0.0.1"
	if s.lab != nil {
		at = s.lab.Router(gateway)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Listener.Close()                                                              //nolint:errcheck // it is replaced
	if server.Listener, err = net.Listen("tcp", net.JoinHostPort(at, "0")); err != nil { //nolint:noctx // it does not wait
		return "", err
	}
	server.Start()
	s.t.Cleanup(server.Close)
	return server.URL, nil
}
