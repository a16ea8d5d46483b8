package gateway

import (
	"bufio"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
)

// A gateway shows its cluster in the console, by its own token, and finds keys there.
func TestTheConsoleOfAGateway(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("limits.yaml"), twoLimit)
	n, err := node.Open(node.Config{
		Data: at("data"), Name: "ann", Limits: at("limits.yaml"), Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(t.Context()) }) // the context has ended: what is open is cut off
	write(t, at("gateway.yaml"), strings.Replace(aDocument(anUpstream(t).URL), fmt.Sprintf("servers: [%q]", aNode), fmt.Sprintf("servers: [%q]", n.GRPCAddr()), 1))
	r := openAt(t, at("gateway.yaml"), Config{})
	if a := r.get(t, r.AdminAddr(), "/", "Accept: text/html"); a.status != http.StatusOK || !strings.Contains(a.body, `id="main"`) {
		t.Errorf("a browser gets %d %s", a.status, a.body)
	}
	if a := r.get(t, r.AdminAddr(), "/console/me"); !strings.Contains(a.body, `"role":"gateway"`) || !strings.Contains(a.body, `"gateway":"test"`) {
		t.Errorf("it says %s", a.body)
	}
	body := `{"key":"user:42","limits":["two"]}`
	if a := r.send(t, http.MethodPost, "http://"+r.AdminAddr()+"/console/try", body); a.status != http.StatusOK || !strings.Contains(a.body, `["RateLimit","\"two\"`) {
		t.Errorf("a check is %d %s", a.status, a.body)
	}
	if a := r.get(t, r.AdminAddr(), "/console/keys?q=user:"); !strings.Contains(a.body, `"escaped":"user:42"`) {
		t.Errorf("the keys are %d %s", a.status, a.body)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.AdminAddr()+"/console/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream := bufio.NewScanner(res.Body)
	if !stream.Scan() || stream.Text() != "event: view" || !stream.Scan() || !strings.Contains(stream.Text(), `"asked":"ann"`) {
		t.Errorf("the stream begins with %q, %v", stream.Text(), stream.Err())
	}
}
