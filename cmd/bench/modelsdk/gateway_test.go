package modelsdk

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/jeton-dev/jeton"
	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// The limits of a real gateway: minute refills while an SDK waits, year and budget do not.
const realLimits = `limits:
  minute: {capacity: 1000, refill: 200/s, hold: 1m}
  year: {algorithm: fixed-window, limit: 1000, per: year, hold: 1m}
  budget: {algorithm: fixed-window, limit: 1000, per: year, hold: 1m}
`

// node is one in this process, with the limits of a file.
func node(t *testing.T, dir string) *jeton.Node {
	t.Helper()
	file := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(file, []byte(realLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := jeton.Open(jeton.NodeConfig{Data: filepath.Join(dir, "data"), Limits: file, Durability: jeton.Memory, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// realGateway is a gateway in front of a model. It has a route for each API and limit, such as /minute/v1/chat/completions.
func realGateway(t *testing.T) (address string, n *jeton.Node) {
	t.Helper()
	dir := t.TempDir()
	n = node(t, dir)
	model := fakemodel.New(fakemodel.Config{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		r.URL.Path = "/" + path
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	document := "cluster: {decide_within: 20s}\nproxy: {upstreams: {model: {urls: ['" + upstream.URL + "']}}}\nroutes:\n"
	for path, api := range map[string]string{fakemodel.ChatPath: "openai-chat", fakemodel.MessagesPath: "anthropic-messages"} {
		for name, counts := range map[string]string{"minute": "tokens", "year": "tokens", "budget": "money"} {
			prices := ""
			if counts == "money" {
				prices = ", quota_status: 403, prices: {'*': {input: 1, output: 1}}"
			}
			document += "- {name: " + name + "-" + api + ", path: /" + name + path + ", llm: {api: " + api + prices + "}, checks: [{limits: [" + name + "], key: ['" + api + "'], counts: " + counts + "}]}\n"
		}
	}
	file := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := jeton.ReadDocument(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := jeton.NewGateway(jeton.GatewayConfig{Document: d, Checker: n, Limits: n.Limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	server := httptest.NewServer(g.Proxy())
	t.Cleanup(server.Close)
	return server.URL, n
}

// asking asks with openai-go for an answer of at most so many tokens, and returns the statuses and headers that the SDK has seen.
func asking(t *testing.T, address string, most int64) (seen []*http.Response, err error) {
	t.Helper()
	watch := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		a, err := next(r)
		if err == nil {
			seen = append(seen, a)
		}
		return a, err
	}
	client := openai.NewClient(option.WithBaseURL(address+"/v1"), option.WithAPIKey("test"), option.WithHTTPClient(transport(t)), option.WithMiddleware(watch))
	params := question()
	params.MaxCompletionTokens = openai.Int(most)
	_, err = client.Chat.Completions.New(t.Context(), params)
	return seen, err
}

// TestOpenAIThroughAGateway asks until a limit denies. The SDK waits for a limit that refills soon, and is then answered; it gives up at
// once where a limit does not, and knows why.
func TestOpenAIThroughAGateway(t *testing.T) {
	address, n := realGateway(t)
	seen, err := asking(t, address+"/minute", 800)
	if err != nil || len(seen) != 1 {
		t.Fatalf("%d answers, %v", len(seen), err)
	}
	h := seen[0].Header
	left, err := strconv.Atoi(h.Get("X-Ratelimit-Remaining-Tokens"))
	if err != nil || left < 100 || left > 200 || h.Get("X-Ratelimit-Limit-Tokens") != "1000" || !strings.HasSuffix(h.Get("X-Ratelimit-Reset-Tokens"), "s") ||
		h.Get("X-Request-Id") == "" || h.Get("X-Request-Id") != h.Get("X-Jeton-Exchange") {
		t.Errorf("%d are left: %v", left, h)
	}
	for range 20 { // the answer before may be settled only now, and leave more
		if _, err := n.Check(t.Context(), jeton.Request{Key: "openai-chat", Limits: []jeton.Ref{jeton.Named("minute")}, Cost: 1000, Hold: time.Minute, Least: 1}); err != nil {
			t.Fatal(err)
		}
		if seen, err = asking(t, address+"/minute", 500); err != nil || len(seen) > 1 {
			break
		}
	}
	if err != nil || len(seen) != 2 || seen[0].StatusCode != http.StatusTooManyRequests || seen[0].Header.Get("Retry-After-Ms") == "" || seen[1].StatusCode != http.StatusOK {
		t.Fatalf("%d answers, %v", len(seen), err)
	}
	for name, want := range map[string]int{"year": http.StatusTooManyRequests, "budget": http.StatusForbidden} {
		if _, err := asking(t, address+"/"+name, 500); err != nil {
			t.Fatal(err)
		}
		seen, err := asking(t, address+"/"+name, 955)
		var wrong *openai.Error
		if len(seen) != 1 || !errors.As(err, &wrong) || wrong.StatusCode != want || wrong.Code != "insufficient_quota" || !strings.Contains(wrong.Message, name) {
			t.Errorf("%s: %d answers, %v", name, len(seen), err)
		}
	}
	seen, err = asking(t, address+"/minute", 2000)
	if len(seen) != 1 || err == nil || seen[0].StatusCode != http.StatusTooManyRequests || seen[0].Header.Get("X-Should-Retry") != "false" {
		t.Errorf("a request beyond the limit: %d answers, %v", len(seen), err)
	}
}

// TestAnthropicThroughAGateway is the same with anthropic-sdk-go, as a stream.
func TestAnthropicThroughAGateway(t *testing.T) {
	address, _ := realGateway(t)
	ask := func(name string, most int64) (seen []*http.Response, read anthropic.Message, err error) {
		watch := func(r *http.Request, next anthropicoption.MiddlewareNext) (*http.Response, error) {
			a, err := next(r)
			if err == nil {
				seen = append(seen, a)
			}
			return a, err
		}
		client := anthropic.NewClient(anthropicoption.WithBaseURL(address+"/"+name), anthropicoption.WithAPIKey("test"), anthropicoption.WithHTTPClient(transport(t)),
			anthropicoption.WithMiddleware(watch))
		stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: most, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("How long is a piece of string?"))},
		})
		for stream.Next() {
			if err := read.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		return seen, read, errors.Join(stream.Err(), stream.Close())
	}
	seen, read, err := ask("minute", 800)
	if err != nil || len(seen) != 1 || read.Usage.OutputTokens != 16 {
		t.Fatalf("%d answers, %+v, %v", len(seen), read, err)
	}
	h := seen[0].Header
	if h.Get("Anthropic-Ratelimit-Tokens-Limit") != "1000" || h.Get("Anthropic-Ratelimit-Tokens-Reset") == "" || h.Get("Request-Id") == "" || h.Get("Request-Id") != h.Get("X-Jeton-Exchange") {
		t.Errorf("the headers are %v", h)
	}
	for name, want := range map[string]anthropic.ErrorType{"year": anthropic.ErrorTypeRateLimitError, "budget": anthropic.ErrorTypePermissionError} {
		if _, _, err := ask(name, 500); err != nil {
			t.Fatal(err)
		}
		seen, _, err := ask(name, 955)
		var wrong *anthropic.Error
		if len(seen) != 1 || !errors.As(err, &wrong) || wrong.Type() != want || !strings.Contains(err.Error(), name) || wrong.RequestID == "" {
			t.Errorf("%s: %d answers, %v", name, len(seen), err)
		}
	}
}
