package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/build"
)

// defaultGatewayPort is that of the gateway's proxy.
const defaultGatewayPort = 7780

// maxDevNodes is how many nodes fit beside each other in steps of ten ports.
const maxDevNodes = 9

func devVerb() *cobra.Command {
	var cfg devConfig
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole cluster with a gateway on this machine to try things on, with sample limits",
		Long: "Run a whole cluster on this machine to try things on, with sample limits and nothing to configure: each node\n" +
			"is a process of its own, and is started again when it was stopped or killed. The limits can be changed with\n" +
			"jeton limits apply while it runs.\n\n" +
			"In front of it is a gateway, which lets requests through to a small sample API as long as limits allow. Its\n" +
			"document, gateway.yaml in the data, is an example to read and to change: the gateway takes changes within two seconds.\n\n" +
			"What was decided survives kill -9 of any node, and of all: start dev again and the limits have held. Ctrl-C\n" +
			"stops all nodes and removes their data, unless --data names a directory to keep.",
		Example: "  jeton dev\n  jeton dev --nodes 5 --data ./dev-data",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("gateway-port") {
				cfg.gatewayPort = cfg.freeGatewayPort()
			}
			return dev(cmd.Context(), cfg, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVar(&cfg.nodes, "nodes", 3, "how many nodes, 1 to 9: 1, 3 or 5 of them found a cluster, and the others join it; with --data, it may be another number later")
	cmd.Flags().StringVar(&cfg.data, "data", "", "directory that keeps the data after Ctrl-C too")
	cmd.Flags().StringVar(&cfg.limits, "limits", "", "YAML file with limits instead of the samples, for a cluster that is founded")
	cmd.Flags().IntVar(&cfg.port, "port", 7700, "port of the first node's gRPC; its other ports are the next ones, those of node 2 are ten higher; 0 takes any, for the gateway too")
	cmd.Flags().IntVar(&cfg.gateways, "gateways", 1, fmt.Sprintf("how many gateways, 1 to %d, in front of the same API; the ports of each are ten higher than those of the one before", maxDevGateways))
	cmd.Flags().IntVar(&cfg.gatewayPort, "gateway-port", defaultGatewayPort, "port of the gateway's proxy; those of its admin listener and for other proxies are the next ones; 0 takes any")
	return cmd
}

// maxDevGateways is how many gateways dev runs at most.
const maxDevGateways = 9

// freeGatewayPort is the gateway's port where none was given: that of the documentation, unless it is one of a node's.
func (cfg devConfig) freeGatewayPort() int {
	behind := cfg.port + 10*cfg.nodes
	switch {
	case cfg.port == 0:
		return 0
	case cfg.port < defaultGatewayPort+len(gatewayAddresses) && behind > defaultGatewayPort:
		return behind
	}
	return defaultGatewayPort
}

func dev(ctx context.Context, cfg devConfig, stdout, stderr io.Writer) (err error) {
	switch {
	case cfg.nodes < 1 || cfg.nodes > maxDevNodes:
		return fmt.Errorf("--nodes %d: give 1 to %d", cfg.nodes, maxDevNodes)
	case cfg.port < 0 || cfg.port+10*maxDevNodes > 65535:
		return fmt.Errorf("--port %d: give one with room for the nodes behind it, such as 7700, or 0", cfg.port)
	case cfg.gateways < 1 || cfg.gateways > maxDevGateways:
		return fmt.Errorf("--gateways %d: give 1 to %d", cfg.gateways, maxDevGateways)
	case cfg.gatewayPort < 0 || cfg.gatewayPort+10*(cfg.gateways-1)+len(gatewayAddresses) > 65536:
		return fmt.Errorf("--gateway-port %d: give one with room for three more behind it, such as 7780, or 0", cfg.gatewayPort)
	}
	keeps := cfg.data != ""
	cfg.complete()
	s, err := newSwarm(cfg, stderr)
	if err != nil {
		return err
	}
	if err := s.awaitPorts(ctx); err != nil {
		return err
	}
	unlock, err := lockData(cfg.data)
	if err != nil {
		return err
	}
	defer unlock()
	if err := runSwarm(ctx, s, cfg, stdout, keeps); err != nil {
		return err
	}
	said := "stopped; the data is kept in " + cfg.data
	if !keeps {
		said = "stopped, and the data removed"
		if err := os.RemoveAll(cfg.data); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(stdout, said)
	return err
}

// runSwarm runs the nodes and the gateway until ctx ends, and then stops them.
func runSwarm(ctx context.Context, s *swarm, cfg devConfig, stdout io.Writer, keeps bool) (err error) {
	if err := cfg.seed(); err != nil {
		return err
	}
	api, err := startSample()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(), api.stop()) }()
	doc, err := startAll(ctx, s, cfg, api)
	if err != nil {
		if ctx.Err() != nil { // it was told to stop before all of them served
			return nil
		}
		return err
	}
	if err := welcome(stdout, s, doc, cfg.data, keeps); err != nil {
		return err
	}
	return s.wait(ctx)
}

// startAll starts the nodes, and the gateways by the limits that are then in force, and returns these when all of them serve.
func startAll(ctx context.Context, s *swarm, cfg devConfig, api *sample) (*limit.Document, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	doc, err := s.limits(ctx)
	if err != nil {
		return nil, err
	}
	if err := cfg.writeDocuments(s, api.url(), doc); err != nil {
		return nil, err
	}
	return doc, s.startGateways(ctx)
}

// lockData makes the directory and keeps every other dev off it until unlock is called: whichever stops first would remove
// the data of both.
func lockData(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "dev.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, fmt.Errorf("--data: another jeton dev runs on %s: stop it, or name another directory", dir)
	}
	return func() { f.Close() }, nil //nolint:errcheck // nor now: it ends the lock
}

var welcomeText = template.Must(template.New("welcome").Parse(
	`jeton dev: {{if eq 1 (len .Nodes)}}one node{{else}}{{len .Nodes}} nodes{{end}}, data in {{.Data}}

  {{printf "%-*s" .Column "console"}}http://{{.First.HTTP}}/ in a browser. To change things there, sign in with what this prints: cat {{.Token}}
{{range .Nodes}}
  {{printf "%-*s" $.Column .Name}}gRPC {{.GRPC}}   HTTP http://{{.HTTP}}   process {{.PID}}{{end}}
  {{printf "%-*s" .Column "gateway"}}HTTP http://{{.Proxy}}   process {{.GatewayPID}}
  {{printf "%-*s" .Column ""}}admin http://{{.Admin}}, for other proxies http://{{.ForwardAuth}}/auth, document {{.Document}}
{{- range .Gateways}}
  {{printf "%-*s" $.Column .Name}}HTTP http://{{.Proxy}}   process {{.PID}}   admin http://{{.Admin}}{{end}}

Limits: {{.Limits}}.
Try in another terminal:

  curl -i http://{{.First.HTTP}}/v1/check -d '{"key":"user:42","limits":["{{.Limit}}"]}'
  {{.Program}} check {{.Limit}} user:42{{if .Server}} --server {{.Server}}{{end}}
  {{.Program}} cluster status{{if .Server}} --server {{.Server}}{{end}}
  {{.Program}} top{{if .Server}} --server {{.Server}}{{end}}
  curl http://{{.First.HTTP}}/debug/buckets/{{.Limit}}/user:42
{{- if .Items}}

Through the gateway, to a sample API: sixty pass, and one more each second; the id of a refusal is in its body:

  curl -s -o /dev/null -w '%{http_code} ' -H 'x-api-key: {{.TestKey}}' 'http://{{.Proxy}}/v1/items?[1-70]'
  curl -i -H 'x-api-key: {{.TestKey}}' http://{{.Proxy}}/v1/items
  {{.Program}} explain ID{{if .Gateway}} --gateway {{.Gateway}}{{end}}
{{end}}
{{- if .Search}}
A gateway takes tokens of the limit search ahead, and decides by itself: the page of the bucket says which holds how many.

  curl -s -o /dev/null -H 'x-api-key: {{.TestKey}}' 'http://{{.Proxy}}/v1/search?[1-300]'; curl http://{{.First.HTTP}}/debug/buckets/search/customer:{{.TestOwner}}
{{end}}
{{- if .Model}}
To a language model behind it, which streams for six seconds: an estimate is held meanwhile, and settled by what was used:

  curl -N -H 'x-api-key: {{.TestKey}}' http://{{.Proxy}}/v1/chat/completions -d '{"model":"sample","stream":true,"max_tokens":500,"messages":[{"role":"user","content":"Hello"}]}'
  {{.Program}} holds tokens customer:{{.TestOwner}}{{if .Server}} --server {{.Server}}{{end}}
{{end}}
As clients of other systems do (see {{.DoorsPage}}): Redis' protocol at {{.First.Redis}}, gubernator's, Envoy's and Kuadrant's at the gRPC ports:

  redis-cli -p {{.RedisPort}} CL.THROTTLE user:42 9 10 60
  curl http://{{.First.HTTP}}/v1/GetRateLimits -d '{"requests":[{"name":"sample","uniqueKey":"user:42","hits":1,"limit":10,"duration":60000}]}'
  grpcurl -plaintext -d '{"domain":"sample","descriptors":[{"entries":[{"key":"user","value":"42"}]}]}' {{.First.GRPC}} envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit
  grpcurl -plaintext -d '{"domain":"sample","descriptors":[{"entries":[{"key":"user","value":"42"}]}],"amount":600}' {{.First.GRPC}} kuadrant.service.ratelimit.v1.RateLimitService/Reserve
{{- if .Search}}
  (echo '{"domain":"sample","bucket_quota_usages":[{"bucket_id":{"bucket":{"limit":"search","key":"user:42"}},"num_requests_allowed":"3"}]}'; sleep 1) | grpcurl -plaintext -d @ {{.First.GRPC}} envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas
{{- end}}
  grpcurl -plaintext -d '{"attributes":{"source":{"address":{"socketAddress":{"address":"203.0.113.9"}}},"request":{"http":{"method":"GET","host":"localhost","path":"/v1/items","scheme":"http"}}}}' {{.Doors}} envoy.service.auth.v3.Authorization/Check

  kill -9 {{.Last.PID}}        # {{if eq 1 (len .Nodes)}}it is started again: what was spent is still spent{{else if eq 2 (len .Nodes)}}its keys wait until it is started again: two nodes keep one replica of each, three and more keep three{{else}}checks go on; it is started again{{end}}

Ctrl-C stops {{if eq 1 (len .Nodes)}}it{{else}}them{{end}} and {{if .Keeps}}keeps{{else}}removes{{end}} the data.
`))

// welcome prints where the nodes are and what to try.
func welcome(w io.Writer, s *swarm, doc *limit.Document, data string, keeps bool) error {
	var names []string
	for _, r := range doc.Rules() {
		names = append(names, fmt.Sprintf("%s (%s)", r.Name, strings.Join(r.Terms(), ", ")))
	}
	if len(names) == 0 {
		names = []string{"none; put some in force with jeton limits apply -f FILE"}
	}
	first := "LIMIT"
	if rules := doc.Rules(); len(rules) > 0 {
		first = rules[0].Name
		if _, ok := doc.Rule("demo"); ok {
			first = "demo"
		}
	}
	type shown struct {
		Name, GRPC, HTTP, Redis string
		PID                     int
	}
	var nodes []shown
	for _, n := range s.nodes {
		nodes = append(nodes, shown{n.name, local(n.at("grpc")), local(n.at("http")), local(n.at("redis")), n.pid()})
	}
	type another struct {
		Name, Proxy, Admin string
		PID                int
	}
	var others []another
	for _, g := range s.gateways[1:] {
		others = append(others, another{g.name, local(g.at("proxy")), local(g.at("admin")), g.pid()})
	}
	column := len("gateway  ") // is where lines go on after a name
	for _, o := range others {
		column = max(column, len(o.Name)+2)
	}
	front := s.gateways[0]
	gateway := local(front.at("admin"))
	if gateway == "localhost:7781" {
		gateway = "" // likewise
	}
	server := nodes[0].GRPC
	if server == "localhost:7700" {
		server = "" // the default needs no flag
	}
	return welcomeText.Execute(w, map[string]any{
		"Token": filepath.Join(data, s.nodes[0].name, "token"), "Nodes": nodes, "First": nodes[0], "Last": nodes[len(nodes)-1], "Data": data,
		"Limits": strings.Join(names, ", "), "Limit": first, "Server": server,
		"Keeps": keeps, "Program": program(),
		"Proxy": local(front.at("proxy")), "Admin": local(front.at("admin")), "ForwardAuth": front.at("forward-auth"), "Gateways": others, "Doors": local(front.at("doors")), "DoorsPage": build.Page("doors.md"), "RedisPort": portOf(s.nodes[0].at("redis")),
		"Column": column, "GatewayPID": front.pid(), "Document": filepath.Join(data, documentFile(0)), "Gateway": gateway,
		"Items": has(doc, "items"), "Search": has(doc, "search"), "Model": hasModel(doc), "TestKey": testKey, "TestOwner": testOwner,
	})
}

// program is how this program was called.
func program() string {
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") {
		return "go run ./cmd/jeton"
	}
	return os.Args[0]
}

// portOf is the port of an address.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // dev has made it
	return port
}

// local is a loopback address as people type it.
func local(address string) string { return strings.Replace(address, "127.0.0.1", "localhost", 1) }
