package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// The file with the gateway's secret in the data directory, and the API key that the gateway knows.
const (
	secretFile = "gateway-secret"
	testKey    = "test-key-123"
	testOwner  = "test" // of that key
)

// documentText is the gateway of dev, and an example of a document.
var documentText = template.Must(template.New("document").Parse(
	`# The gateway of jeton dev, as an example. It is written anew whenever dev starts. Change it while dev runs, and the
# gateway takes the change within two seconds, whole or not at all. "jeton gateway schema" says what else may stand here,
# and "jeton gateway --check --config FILE" whether a document is good.

# The name begins the id of every refusal, by which "jeton explain ID" finds it.
name: {{.Name}}

# The cluster that decides: any of its nodes, which tell the gateway of the others.
cluster:
  servers: [{{.Servers}}]{{if gt .Gateways 1}}
  gateways: {{.Gateways}}{{end}}
  # How long a request waits for its decision before the limit's on_unavailable counts. 50ms unless said; a whole cluster
  # on one machine may pause for longer.
  decide_within: 2s

# Let requests through to an API. This one is a small sample within jeton dev.
proxy:
  listen: {{.Proxy}}
  upstreams:
    sample:
      urls: ["{{.Sample}}"]

# Or answer another proxy whether they may pass: nginx, HAProxy, Caddy, Traefik.
forward_auth:
  listen: {{.ForwardAuth}}

# Or answer Envoy by its external authorization over gRPC, for the same routes.
doors:
  listen: {{.Doors}}
  grpc: [extauthz]

# Where operators look: /readyz, /metrics, /debug/config, /v1/denials/{id}.
admin:
  listen: {{.Admin}}

# How clients are told apart. The first template whose variables all have a value counts: a client with a known API key is
# counted by its owner, any other client by its address.
identity:
  key: ["customer:{api_key.owner}", "ip:{ip}"]
  api_key:
    header: X-Api-Key
    # Keys are known by their digests: "jeton gateway digest --config FILE" computes them.
    secret_file: {{.SecretFile}}
    known:
      - digest: {{.Digest}} # {{.TestKey}}
        attributes: {owner: {{.TestOwner}}, plan: free}

# Which limits apply, by name: "jeton limits get" shows them. The route with the longest path that fits counts.
routes:
  - name: items
    path: /v1/items
{{- if .Items}}
    checks:
      - limits: [items]
{{- else}}
    # The cluster has no limit named items, which would stand here.
{{- end}}

  # A client that tries passwords has no API key yet: attempts count by address.
  - name: login
    path: /login
    methods: [POST]
{{- if .Login}}
    checks:
      - key: ["ip:{ip}"]
        limits: [login]
{{- else}}
    # The cluster has no limit named login, which would stand here.
{{- end}}
{{- if .Search}}

  # Asked often: the limit search is leased, so this gateway takes tokens of a client ahead and decides by itself.
  - name: search
    path: /v1/search
    checks:
      - limits: [search]
{{- end}}
{{- if .Model}}

  # Language models, which the sample imitates. What a request may use is held while its answer is streamed, and settled by what the answer
  # says was used. Prices are in dollars for a million tokens.
  - name: chat
    path: /v1/chat/completions
    llm: {api: openai-chat, least_output: 16, prices: {"*": {input: 2.50, output: 10}}}
    checks: {{template "model"}}

  - name: messages
    path: /v1/messages
    llm: {api: anthropic-messages, least_output: 16, prices: {"*": {input: 3, output: 15}}}
    checks: {{template "model"}}
{{- end}}

  # Everything else passes without a limit.
  - name: rest
    path: /
{{define "model"}}
      - {limits: [streams], counts: streams}
      - {limits: [tokens], counts: tokens}
      - {limits: [budget], counts: money}
{{- end}}`))

// writeDocuments writes the documents of the gateways in front of the sample upstream, with those of its limits that are in force.
func (cfg devConfig) writeDocuments(s *swarm, sample string, doc *limit.Document) error {
	for i := range s.gateways {
		if err := cfg.writeDocument(i, s, sample, doc); err != nil {
			return err
		}
	}
	return nil
}

// writeDocument writes that of the i-th gateway.
func (cfg devConfig) writeDocument(i int, s *swarm, sample string, doc *limit.Document) error {
	secret, err := devSecret(filepath.Join(cfg.data, secretFile))
	if err != nil {
		return err
	}
	var servers []string
	for _, n := range s.nodes {
		servers = append(servers, fmt.Sprintf("%q", n.at("grpc")))
	}
	g := s.gateways[i]
	var text bytes.Buffer
	if err := documentText.Execute(&text, map[string]any{
		"Servers": strings.Join(servers, ", "), "Sample": sample,
		"Gateways": len(s.gateways), "Name": numbered("dev", i), "Proxy": g.at("proxy"), "Admin": g.at("admin"), "ForwardAuth": g.at("forward-auth"), "Doors": g.at("doors"),
		"SecretFile": secretFile, "Digest": identity.Digest(secret, testKey), "TestKey": testKey, "TestOwner": testOwner,
		"Items": has(doc, "items"), "Search": has(doc, "search"), "Login": has(doc, "login"), "Model": hasModel(doc),
	}); err != nil {
		return err
	}
	return os.WriteFile(cfg.document(i), text.Bytes(), 0o600)
}

func has(doc *limit.Document, name string) bool {
	_, ok := doc.Rule(name)
	return ok
}

// hasModel says whether there are the limits that the routes to language models ask for, of their algorithms.
func hasModel(doc *limit.Document) bool {
	for _, name := range []string{"tokens", "budget"} {
		if r, ok := doc.Rule(name); !ok || r.AllowsHold(new(config.LLM).HoldFor()) != nil {
			return false
		}
	}
	streams, ok := doc.Rule("streams")
	return ok && streams.Permits()
}

// devSecret is the secret of the digests of API keys, made when there is none.
func devSecret(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return bytes.TrimSpace(secret), err
	}
	secret = []byte(rand.Text() + rand.Text())
	return secret, os.WriteFile(path, append(secret, '\n'), 0o600)
}
