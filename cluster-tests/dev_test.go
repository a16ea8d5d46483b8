package clustertests

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A devGateway is the gateway of a "jeton dev" as its welcome tells of it.
type devGateway struct {
	url, admin, pid, document string
}

// gatewayOf reads the welcome.
func gatewayOf(t *testing.T, dev *process.Node) devGateway {
	t.Helper()
	found := regexp.MustCompile(`gateway +HTTP +(http://\S+) +process (\d+)\s+admin (http://\S+), .* document (\S+)`).FindStringSubmatch(dev.Log())
	if found == nil {
		t.Fatalf("the welcome tells of no gateway:\n%s", dev.Log())
	}
	return devGateway{url: found[1], pid: found[2], admin: found[3], document: found[4]}
}

// items asks the sample API for its items, with a header that identifies the client.
func (g devGateway) items(t *testing.T, header string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/items", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(header, ": "); ok {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{res.StatusCode, res.Header, string(body)}
}

// The loop that dev's welcome shows, and what a user tries after it.
func TestDevHasAGateway(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	dev := process.StartDev(t, binary, process.FreePorts(t, 10), "--data", t.TempDir(), "--nodes", "1")
	g := gatewayOf(t, dev)
	const known = "X-Api-Key: test-key-123"

	const capacity, requests = 60, 70
	start := time.Now()
	var passed, refused int
	var last response
	for range requests {
		switch res := g.items(t, known); res.status {
		case http.StatusOK:
			if !strings.Contains(res.body, "sample API of jeton dev") {
				t.Fatalf("the answer is not the sample's: %s", res.body)
			}
			passed++
		case http.StatusTooManyRequests:
			refused++
			last = res
		default:
			t.Fatalf("%d %s\n%s", res.status, res.body, dev.Log())
		}
	}
	// One token a second comes back from the first request on, and a measurement from outside sees at most a part of a second
	// more.
	if most := capacity + int(time.Since(start).Seconds()) + 1; passed < min(capacity, requests) || passed > most {
		t.Errorf("%d of %d requests passed in %v, want %d to %d", passed, requests, time.Since(start), capacity, most)
	}
	if refused > 0 {
		id := regexp.MustCompile(`urn:jeton:denial:([a-z0-9-]+)`).FindStringSubmatch(last.body)
		if id == nil || last.header.Get("Retry-After") != "1" {
			t.Fatalf("a refusal: %+v", last)
		}
		out, errs, code := process.Run(t, binary, "explain", id[1], "--gateway", strings.TrimPrefix(g.admin, "http://"))
		if code != 0 || !strings.Contains(out, "items (capacity 60, refill 1/s)") {
			t.Errorf("jeton explain: exit code %d: %s%s", code, out, errs)
		}
	}
	if res := g.items(t, "X-Api-Key: somebody-else"); res.status != http.StatusOK {
		t.Errorf("an unknown key, which counts by address: %d", res.status)
	}
	if out, errs, code := process.Run(t, binary, "gateway", "--check", "--config", g.document); code != 0 || errs != "" || !strings.Contains(out, "route login") {
		t.Errorf("jeton gateway --check: exit code %d: %s%s", code, out, errs)
	}

	text, err := os.ReadFile(g.document)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "- limits: [items]", "- limits: [api]", 1)
	if err := os.WriteFile(g.document, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another limit counts", func() bool {
		return g.items(t, known).status == http.StatusOK && strings.Contains(g.items(t, known).header.Get("RateLimit-Policy"), `"api"`)
	})
	if code := dev.Stop(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, dev.Log())
	}
}

// eventually returns when something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	late := time.After(process.Patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("after minutes it is still not so: ", what)
		}
	}
}

// A gateway that is killed is started again, and goes on refusing the clients that the cluster refuses; so it does when its dev is
// started again.
func TestDevStartsItsGatewayAgain(t *testing.T) {
	t.Parallel()
	binary, data, port := process.Build(t), t.TempDir(), process.FreePorts(t, 10)
	dev := process.StartDev(t, binary, port, "--data", data, "--nodes", "1")
	g := gatewayOf(t, dev)
	pid, err := strconv.Atoi(g.pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	dev.WaitForLog(`gateway was killed; it is started again`)
	dev.WaitForLog(`gateway serves again, process \d+`)
	if res := g.items(t, ""); res.status != http.StatusOK {
		t.Errorf("after that: %d", res.status)
	}
	_, errs, code := process.Run(t, binary, "dev", "--port", "0", "--nodes", "1", "--gateway-port", g.url[strings.LastIndex(g.url, ":")+1:])
	if says := "--gateway-port: 127.0.0.1:"; code != 2 || !strings.Contains(errs, says) || !strings.Contains(errs, "in use") {
		t.Errorf("another dev at the same gateway port: exit code %d, %s", code, errs)
	}
	if code := dev.Stop(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, dev.Log())
	}
	custom := writeLimits(t, "limits: {mine: {capacity: 1, refill: 1/h}}")
	other := process.StartDev(t, binary, port, "--data", t.TempDir(), "--nodes", "1", "--limits", custom)
	for i := range 3 {
		if res := gatewayOf(t, other).items(t, ""); res.status != http.StatusOK {
			t.Errorf("request %d without the sample limits: %d", i, res.status)
		}
	}
	if strings.Contains(other.Log(), "[1-70]") {
		t.Error("the welcome shows a loop that nothing limits")
	}
	if code := other.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
