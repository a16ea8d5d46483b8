package clustertests

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

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
