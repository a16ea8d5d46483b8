package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/access"
)

// Every page is in the table of who may look.
func TestEveryPageIsInTheTable(t *testing.T) {
	e := &Gateway{}
	for pattern := range (&admin{Gateway: e}).routes() {
		method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
		if _, _, ok := access.Route(access.GatewayHTTP, method, path); !ok {
			t.Errorf("%s is missing in the table of rpc/access", pattern)
		}
	}
}

// TestEveryRouteAsEveryCaller asks for every route of the admin listener with and without a token.
func TestEveryRouteAsEveryCaller(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	write(t, file, firstToken)
	for listen, needs := range map[string]access.Need{
		"'127.0.0.1:0'": access.Key,
		fmt.Sprintf("'127.0.0.1:0', token_file: %q", file): access.Look,
		fmt.Sprintf("'0.0.0.0:0', token_file: %q", file):   access.Look,
	} {
		r := open(t, Config{}, strings.Replace(aDocument(anUpstream(t).URL), `admin: {listen: "127.0.0.1:0"}`, "admin: {listen: "+listen+"}", 1))
		for _, e := range access.Table() {
			if e.Door != access.GatewayHTTP {
				continue
			}
			method, path, _ := strings.Cut(e.Call, " ")
			path = strings.NewReplacer("{limit}", "two", "{key...}", "k", "{profile...}", "cmdline", "{id}", "test-1-aaaaaaaaaaaaaaaa", "{file}", "main.js").Replace(path)
			for header, counts := range map[string]bool{"": false, "Authorization: Bearer " + secondToken: false, "Authorization: Bearer " + firstToken: true} {
				var headers []string
				if header != "" {
					headers = append(headers, header)
				}
				a := r.send(t, method, "http://"+r.AdminAddr()+path, "", headers...)
				need := e.Need
				switch path {
				case "/console/sign-in", "/console/sign-out":
					continue // the one shows the form again, the other leads to /
				case "/":
					need = access.Look // to programs
				}
				if refused, want := a.status == http.StatusUnauthorized, need >= needs && !counts; refused != want {
					t.Errorf("listen %s: %s with %q: %d, refused must be %v", listen, e.Call, header, a.status, want)
				}
			}
		}
		if a := r.send(t, http.MethodPost, "http://"+r.AdminAddr()+"/v1/check", "", "Origin: http://evil.example"); a.status < 400 {
			t.Errorf("listen %s: a web page may check: %d", listen, a.status)
		}
	}
}

// Nodes with a key let a gateway look at buckets and fill them with a token of operators, and say so without one.
func TestTheGatewayShowsAToken(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("key"), "the secret of this cluster")
	write(t, at("limits.yaml"), twoLimit)
	write(t, at("tokens"), "a-token-of-operators\n")
	n, err := node.Open(node.Config{
		Data: at("data"), Limits: at("limits.yaml"), Logger: slog.New(slog.DiscardHandler), ListenGRPC: "127.0.0.1:0",
		ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0", ClusterKeyFile: at("key"), AdminTokenFile: at("tokens"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	write(t, at("shown"), "a-token-that-is-not-theirs")
	document := strings.Replace(aDocument(anUpstream(t).URL), fmt.Sprintf("servers: [%q]", aNode), fmt.Sprintf("servers: [%q], token_file: shown", n.GRPCAddr()), 1)
	write(t, at("gateway.yaml"), document)
	r := openAt(t, at("gateway.yaml"), Config{})
	bucket := "http://" + r.AdminAddr() + "/v1/buckets/two/k"
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if a := r.send(t, method, bucket, ""); a.status != http.StatusForbidden || !strings.Contains(a.body, "cluster.token_file") || !strings.Contains(a.body, "does not know this token") {
			t.Errorf("%s with a wrong token: %d %s", method, a.status, a.body)
		}
	}
	write(t, at("shown"), "# of the gateway\na-token-of-operators\n")
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodDelete: http.StatusNoContent} {
		if a := r.send(t, method, bucket, ""); a.status != want {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
}
