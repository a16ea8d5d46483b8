package nemesis

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// gateways starts the gateways, and makes as many callers that ask through them as there are others. The gateways are not
// among the victims of faults; in a network of their own they stand where each is a host.
func (s *Stage) gateways(cfg Config) error {
	if cfg.Gateways == 0 {
		return nil
	}
	application := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.t.Cleanup(application.Close)
	var routes strings.Builder
	for _, st := range streams {
		if st.plain {
			fmt.Fprintf(&routes, "- {name: %[1]s, path: /%[1]s, checks: [{key: [\"{header.%[2]s}\"], limits: [%[1]s], on_unavailable: deny}]}\n",
				st.rules[0].name, gatewayKey)
		}
	}
	var proxies []string
	for i := range cfg.Gateways {
		name := fmt.Sprintf("gateway-%d", i+1)
		at := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(process.FreePorts(s.t, 1))) }
		proxy, admin := at(), at()
		text := fmt.Sprintf("name: %s\ncluster: {servers: [%s], decide_within: %s}\nadmin: {listen: %q}\n"+
			"proxy: {listen: %q, upstreams: {application: {urls: [%q]}}}\nroutes:\n%s",
			name, strings.Join(s.cluster.Servers(), ", "), deadline, admin, proxy, application.URL, routes.String())
		file := filepath.Join(s.folder, name+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		process.Launch(s.t, cfg.Binary, "gateway", "--config", file).WaitForLog("msg=serving")
		proxies = append(proxies, proxy)
	}
	asks := &gatewayChecker{gateways: proxies, client: &http.Client{Transport: transport(nil)}}
	s.idle = append(s.idle, asks.client.CloseIdleConnections)
	for range len(s.traffic.callers) {
		s.traffic.callers = append(s.traffic.callers, caller{name: "gateways", Checker: asks, plain: true, through: "gateway"})
	}
	return nil
}
