package clustertests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// The gateway in front of language models, as deploy/gateway/llm.yaml has it, with its limits: every limit of it counts, and comes back as
// far as it was not used; and who is not known is refused in the words of the API.
func TestGatewayOfModels(t *testing.T) {
	t.Parallel()
	limits, err := os.ReadFile("../deploy/gateway/llm-limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteWith(t, 1, string(limits))
	model := httptest.NewServer(fakemodel.New(fakemodel.Config{Words: 30}))
	t.Cleanup(model.Close)
	s.app = model.Listener.Addr().String()
	g := s.startGateway("llm.yaml")

	ask := func(path, key, body string) (int, http.Header, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.proxy+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", key)
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header, string(text)
	}
	if status, _, body := ask("/v1/messages", "made-up", `{"model":"m","messages":[]}`); status != http.StatusUnauthorized || !strings.HasPrefix(body, `{"type":"error","error":{"type":"authentication_error"`) {
		t.Errorf("an unknown client: %d %s", status, body)
	}
	status, header, body := ask("/v1/chat/completions", siteKey, `{"model":"gpt-5-mini","stream":true,"messages":[{"role":"user","content":"Hello"}]}`)
	if status != http.StatusOK || strings.Contains(body, `"completion_tokens"`) || header.Get("X-Ratelimit-Remaining-Requests") != "59" {
		t.Errorf("%d %v\n%s", status, header, body)
	}
	if status, header, _ := ask("/v1/messages", siteKey, `{"model":"m","max_tokens":30,"messages":[{"role":"user","content":"Hello"}]}`); status != http.StatusOK || header.Get("Anthropic-Ratelimit-Tokens-Limit") == "" {
		t.Errorf("%d %v", status, header)
	}
	bucket := func(limit, key string) string {
		out, errs, code := process.Run(t, process.Build(t), "bucket", limit, key, "--server", s.cluster.Servers()[0])
		if code != 0 {
			t.Fatalf("jeton bucket: %s%s", out, errs)
		}
		return out
	}
	for limit, key := range map[string]string{"tokens-minute": "user:test", "tokens-month": "team:demo", "budget": "team:demo"} {
		eventually(t, limit+" is settled", func() bool { return strings.Contains(bucket(limit, key), "holds        none is open; 2 ") })
	}
	eventually(t, "nobody is inside", func() bool { return strings.Contains(bucket("streams", "user:test"), "tokens now   10 of 10") })
}

// Of two gateways with streams of a language model one is killed. The streams of the other one end as they should. In the end nothing is
// held and nobody is inside; every stream that ended is charged what it has used, and every one that broke off its estimate.
func TestGatewayOfModelsKilled(t *testing.T) {
	t.Parallel()
	limits, err := os.ReadFile("../deploy/gateway/llm-limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const (
		each   = 100 // streams of each gateway
		words  = 40
		budget = 20_000_000
	)
	s := newSiteWith(t, 1, strings.NewReplacer("capacity: 60\n", "capacity: 1000\n", "limit: 10\n", "limit: 500\n", "lease: 1m", "lease: 2s").Replace(string(limits)))
	model := httptest.NewServer(fakemodel.New(fakemodel.Config{Words: words, Delay: 100 * time.Millisecond}))
	t.Cleanup(model.Close)
	s.app = model.Listener.Addr().String()
	for range 2 {
		s.startGateway("llm.yaml", "hold: 60s ", "hold: 2s ")
	}
	const body = `{"model":"gpt-5-mini","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}`
	const estimate = (len(body)+3)/4 + 100
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	ask := func(g *gatewayProcess, begun *sync.WaitGroup) error {
		once := sync.OnceFunc(begun.Done)
		defer once()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.proxy+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("X-Api-Key", siteKey)
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		if _, err := lines.ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %w", res.Status, err)
		}
		once()
		rest, err := io.ReadAll(lines)
		if err == nil && !strings.Contains(string(rest), "[DONE]") {
			err = fmt.Errorf("it ends with %q", rest[max(0, len(rest)-100):])
		}
		return err
	}
	charged := func() int64 {
		status, text, err := s.get(fmt.Sprintf("http://%s/debug/buckets/tokens-month/team:demo?format=json", s.cluster.Members[0].HTTP))
		var in struct {
			Tokens int64 `json:"tokens"`
			Holds  struct {
				Open int64 `json:"open"`
			} `json:"holds"`
		}
		if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &in) != nil || in.Holds.Open > 0 {
			return -1
		}
		return budget - in.Tokens
	}

	var begun sync.WaitGroup
	begun.Add(1)
	if err := ask(s.gateways[1], &begun); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one stream is settled", func() bool { return charged() > 0 })
	used := charged()
	if used <= words || used >= int64(estimate) {
		t.Fatalf("a stream of %d words, which was estimated at %d, is charged %d", words, estimate, used)
	}

	var streams sync.WaitGroup
	broke := make([]int64, 2)
	var mu sync.Mutex
	begun.Add(2 * each)
	for i, g := range s.gateways {
		for range each {
			streams.Go(func() {
				if err := ask(g, &begun); err != nil {
					mu.Lock()
					defer mu.Unlock()
					if broke[i]++; i == 1 {
						t.Errorf("a stream of the gateway that lives: %v", err)
					}
				}
			})
		}
	}
	begun.Wait()
	s.gateways[0].Kill()
	streams.Wait()
	if broke[0] == 0 {
		t.Error("no stream broke off with its gateway: that shows nothing")
	}
	eventually(t, "all is settled, or has expired", func() bool { return charged() > 0 })
	eventually(t, "nobody is inside", func() bool {
		out, _, code := process.Run(t, process.Build(t), "bucket", "streams", "user:test", "--server", s.cluster.Servers()[0])
		return code == 0 && strings.Contains(out, "tokens now   500 of 500")
	})
	// One that broke off for its client may just have been settled.
	more, step := charged()-used*(1+2*each), int64(estimate)-used
	if more <= 0 || more%step != 0 || more/step > broke[0] {
		t.Errorf("%d are charged in the end beyond %d for each of %d streams: %d broke off, which hold %d each", more, used, 1+2*each, broke[0], estimate)
	}
	t.Logf("%d streams of the gateway that was killed broke off, and %d of them are charged their estimate", broke[0], more/step)
}
