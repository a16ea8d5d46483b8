package clustertests

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

var withTraefik = flag.Bool("traefik", false, "build Traefik's rate limiter, which takes minutes, and test with it")

// A traefikProxy is a process of Traefik's rate limiter.
type traefikProxy struct {
	*process.Node
	address string
}

// A traefikPair are proxies that limit by the same numbers, each by another node of a cluster, if it has two.
type traefikPair struct {
	*testing.T

	cluster *process.Cluster
	proxies [2]traefikProxy
	client  *http.Client

	mu   sync.Mutex
	seen history.History
}

// Traefik's own rate limiter, configured for Redis at a node of jeton: two proxies share one bucket, a burst is what was configured, answers say
// when to come again, and through kill -9 of a node no client is over the limit. It takes minutes to build: make doors-traefik.
func TestTraefik(t *testing.T) {
	if !*withTraefik {
		t.Skip("Traefik's rate limiter takes minutes to build: make doors-traefik")
	}
	binary := buildTraefik(t)
	t.Run("burst", func(t *testing.T) { traefikBurst(t, binary) })
	t.Run("killed", func(t *testing.T) { traefikKilled(t, binary) })
}

// buildTraefik builds Traefik's rate limiter from the module beside this file.
func buildTraefik(t *testing.T) (binary string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "bash", "traefik/upstream.sh").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary = filepath.Join(t.TempDir(), "traefik")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "traefik", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// newTraefikPair starts a cluster, and the proxies.
func newTraefikPair(t *testing.T, binary string, nodes, average int, period time.Duration, burst int) *traefikPair {
	t.Helper()
	p := &traefikPair{T: t, cluster: process.NewCluster(t, process.Build(t), nodes, "limits: {unused: {capacity: 1, refill: 1/s}}"), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(p.client.CloseIdleConnections)
	for _, m := range p.cluster.Members {
		m.Args("--listen-redis", m.Redis)
		m.Launch()
	}
	for _, m := range p.cluster.Members {
		m.Ready()
	}
	for i := range p.proxies {
		at := loopback(t)
		n := process.Launch(t, binary, "--listen", at, "--redis", p.cluster.Members[i%nodes].Redis, "--average", fmt.Sprint(average), "--period", period.String(), "--burst", fmt.Sprint(burst))
		n.WaitForLog("listening at")
		p.proxies[i] = traefikProxy{n, at}
	}
	return p
}

// ask sends a request of a client through one of the proxies, and returns the status and the header of the answer.
func (p *traefikPair) ask(ctx context.Context, proxy int, client string) (int, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.proxies[proxy].address+"/", http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("X-Client", client)
	a, err := p.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	_, err = io.Copy(io.Discard, a.Body)
	return a.StatusCode, a.Header, err
}

// sure sends a request until it is decided: a node that was killed may need a moment.
func (p *traefikPair) sure(proxy int, client string) (int, http.Header) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), process.Patience)
	defer cancel()
	for {
		status, header, err := p.ask(ctx, proxy, client)
		if err != nil {
			p.Fatal(err)
		}
		if status != http.StatusInternalServerError {
			return status, header
		}
	}
}

// Of a burst of 5 that refills one an hour, two proxies let 5 pass, and the rest is told when to come again; also after the node was killed. There is one node:
// with several, a check that is slow may be charged twice.
func traefikBurst(t *testing.T, binary string) {
	t.Helper()
	p := newTraefikPair(t, binary, 1, 1, time.Hour, 5)
	for i := range 8 {
		want := http.StatusOK
		if i >= 5 {
			want = http.StatusTooManyRequests
		}
		status, header := p.sure(i%2, "client")
		if status != want {
			t.Errorf("request %d: %d, want %d", i, status, want)
		}
		if want == http.StatusOK {
			continue
		}
		in, err := time.ParseDuration(header.Get("X-Retry-In"))
		if retry := header.Get("Retry-After"); err != nil || in < 59*time.Minute || in > time.Hour+time.Second || retry != fmt.Sprintf("%.0f", (in+time.Second-1).Truncate(time.Second).Seconds()) {
			t.Errorf("request %d: Retry-After %q, X-Retry-In %q, want an hour", i, retry, header.Get("X-Retry-In"))
		}
	}
	if status, _ := p.sure(0, "another"); status != http.StatusOK {
		t.Errorf("another client: %d", status)
	}
	m := p.cluster.Members[0]
	m.Kill()
	m.Launch()
	m.Ready()
	for i := range p.proxies {
		if status, _ := p.sure(i, "client"); status != http.StatusTooManyRequests {
			t.Errorf("after kill -9 of the node: %d", status)
		}
	}
}

const (
	traefikClients = 3
	traefikRate    = 20 // a second
	traefikCap     = 5
)

// Under load, nodes are killed and started again. No client is over the limit, a proxy whose node lives goes on, and each goes on when its node is back.
func traefikKilled(t *testing.T, binary string) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := newTraefikPair(t, binary, 3, traefikRate, time.Second, traefikCap)
	p.seen.Limits = []history.Limit{{Name: "traefik", Capacity: traefikCap, Tokens: traefikRate, PerNS: int64(time.Second)}}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 4 * traefikClients {
		wg.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for n := i; ctx.Err() == nil; n++ {
				p.call(n%2, fmt.Sprint("client-", i%traefikClients))
				<-tick.C
			}
		})
	}
	p.more(0, 50)
	p.more(1, 50)
	for range 4 {
		down := random.IntN(2)
		m := p.cluster.Members[down]
		m.Kill()
		p.more(1-down, 20+random.IntN(30))
		m.Launch()
		m.Ready()
		p.more(down, 20+random.IntN(30))
	}
	stop()
	wg.Wait()
	outcomes := map[history.Outcome]int{}
	for i := range p.seen.Calls {
		outcomes[p.seen.Calls[i].Outcome]++
	}
	t.Logf("%d requests passed, %d were denied, %d failed", outcomes[history.Admitted], outcomes[history.Denied], outcomes[history.Failed])
	if outcomes[history.Denied] == 0 || outcomes[history.Failed] == 0 {
		t.Error("nothing was denied, or nothing failed: this proves nothing")
	}
	if err := history.Safe(&p.seen, nodesApart); err != nil {
		t.Error(err)
	}
}

// call sends a request, and keeps what came of it.
func (p *traefikPair) call(proxy int, client string) {
	call := history.Call{Kind: history.KindCheck, Limit: "traefik", Key: client, Cost: 1, Via: fmt.Sprint("proxy ", proxy), Outcome: history.Failed}
	start := time.Now()
	status, _, err := p.ask(context.Background(), proxy, client)
	switch {
	case err != nil:
		call.Error = err.Error()
	case status == http.StatusOK:
		call.Outcome = history.Admitted
	case status == http.StatusTooManyRequests:
		call.Outcome = history.Denied
	default:
		call.Error = http.StatusText(status)
	}
	call.Start, call.End = start.UnixNano(), start.UnixNano()+int64(time.Since(start))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.Calls = append(p.seen.Calls, call)
}

// more returns when so many more requests have passed a proxy.
func (p *traefikPair) more(proxy, n int) {
	p.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end, target := time.Now().Add(process.Patience), p.passed(proxy)+n; p.passed(proxy) < target; <-tick.C {
		if time.Now().After(end) {
			p.Fatalf("proxy %d lets too little pass in minutes", proxy)
		}
	}
}

func (p *traefikPair) passed(proxy int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	via := fmt.Sprint("proxy ", proxy)
	for i := range p.seen.Calls {
		if c := &p.seen.Calls[i]; c.Outcome == history.Admitted && c.Via == via {
			n++
		}
	}
	return n
}
