package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jeton-dev/jeton/gateway/identity"
)

// The files of a gateway that is measured.
const (
	gatewayFile = "gateway.yaml"
	secretFile  = "secret"
	apiSecret   = "not a secret, for the benchmark only" //nolint:gosec // just so
)

// shutPath is where a client is denied all but its first request.
const shutPath = "/v1/shut"

// The headers by which clients are told apart.
const (
	apiKeyHeader = "X-Api-Key"
	plainHeader  = "X-Client"
)

// clientHeader is the header that names the client.
func (h *HTTPing) clientHeader() string {
	if h.By == ByHeader {
		return plainHeader
	}
	return apiKeyHeader
}

// writeGatewayFile writes the configuration of a gateway in front of the upstream that asks the cluster, with all that it
// names.
func (b *httpBed) writeGatewayFile() (string, error) {
	if err := os.WriteFile(filepath.Join(b.folder, secretFile), []byte(apiSecret), 0o600); err != nil {
		return "", err
	}
	text, err := b.gatewayText(b.cluster.servers(), "http://"+b.upstream.address)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, gatewayFile)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// limit is the one that a request takes a token of.
func (h *HTTPing) limit() string {
	switch {
	case h.Leased:
		return leasedLimit
	case h.Keys == Uniform && h.KeyCount >= 1000:
		return clientsLimit
	}
	return openLimit
}

// gatewayText is the configuration of a gateway: each request takes one token of a limit that admits it, which no
// gateway does by itself, or of one that denies it. A request waits for its decision for as long as it takes, since one that was not decided
// would count for nothing.
func (h *HTTPing) gatewayText(servers []string, upstream string) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, `name: bench
cluster: {servers: [%s], decide_within: 10s}
admin: {listen: "127.0.0.1:0"}
forward_auth: {listen: "127.0.0.1:0"}
proxy: {listen: "127.0.0.1:0", upstreams: {things: {urls: [%q]}}}
routes:
  - {name: things, path: /v1/things, checks: [{limits: [%s], on_unavailable: deny}]}
  - {name: shut, path: %s, checks: [{limits: [%s], on_unavailable: deny}]}
`, strings.Join(servers, ", "), upstream, h.limit(), shutPath, onceLimit)
	if h.By == ByHeader {
		fmt.Fprintf(&text, "identity: {key: [\"client:{header.%s}\"]}\n", plainHeader)
		return text.String(), nil
	}
	keys, err := newKeySpace(h.load(1))
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&text, "identity:\n  key: [\"client:{api_key}\"]\n  api_key:\n    header: %s\n    secret_file: %s\n    known:\n",
		apiKeyHeader, secretFile)
	for _, key := range keys.keys {
		fmt.Fprintf(&text, "      - {digest: %s}\n", identity.Digest([]byte(apiSecret), key))
	}
	return text.String(), nil
}
