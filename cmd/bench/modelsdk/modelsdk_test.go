package modelsdk

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/gateway/llm"
	"github.com/jeton-dev/jeton/gateway/llm/dialect"
	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A proxy stands between an SDK and a model, and lowers each request to most tokens of output, unless that is 0.
type proxy struct {
	most    int64
	reverse *httputil.ReverseProxy
	formats map[string]*llm.Format
	ended   chan llm.Answer
}

func newProxy(t *testing.T, cfg fakemodel.Config, most int64) (address string, ended <-chan llm.Answer) {
	t.Helper()
	upstream := httptest.NewServer(fakemodel.New(cfg))
	t.Cleanup(upstream.Close)
	to, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{most: most, formats: map[string]*llm.Format{}, ended: make(chan llm.Answer, 10)}
	for path, api := range map[string]llm.API{
		fakemodel.ChatPath: llm.OpenAIChat, fakemodel.ResponsesPath: llm.OpenAIResponses, fakemodel.MessagesPath: llm.AnthropicMessages,
	} {
		if p.formats[path], err = llm.FormatOf(api); err != nil {
			t.Fatal(err)
		}
	}
	p.reverse = &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		llm.RequestIdentity(r.Out.Header)
	}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server.URL, p.ended
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := p.formats[r.URL.Path]
	body, err := llm.ReadBody(r.Body, 1<<20, nil)
	var request *llm.Request
	if err == nil {
		request, err = format.ReadRequest(body)
	}
	if err == nil && p.most > 0 {
		err = request.LowerOutput(p.most)
	}
	if err != nil {
		refuse(w, dialect.OpenAI, http.StatusBadRequest, &dialect.Refusal{Reason: dialect.Invalid, Message: err.Error()})
		return
	}
	added := request.AskForUsage()
	body = bytes.Join(request.Body(), nil)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	reverse := *p.reverse
	reverse.ModifyResponse = func(r *http.Response) error {
		llm.Watch{Format: format, RemoveUsage: added, Report: func(a llm.Answer) { p.ended <- a }}.Wrap(r)
		return nil
	}
	reverse.ServeHTTP(w, r)
}

// transport is an HTTP client of a test, whose connections do not outlive it.
func transport(t *testing.T) *http.Client {
	t.Helper()
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	return &http.Client{Transport: own}
}

func openAI(t *testing.T, address string) openai.Client {
	t.Helper()
	return openai.NewClient(option.WithBaseURL(address+"/v1"), option.WithAPIKey("test"), option.WithHTTPClient(transport(t)))
}

func claude(t *testing.T, address string) anthropic.Client {
	t.Helper()
	return anthropic.NewClient(anthropicoption.WithBaseURL(address), anthropicoption.WithAPIKey("test"), anthropicoption.WithHTTPClient(transport(t)))
}

func question() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "gpt-5", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("How long is a piece of string?")}}
}

// closed closes a stream.
func closed(t *testing.T, stream io.Closer) {
	t.Helper()
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

// TestChat reads an answer of Chat Completions whole and as a stream.
func TestChat(t *testing.T) {
	address, ended := newProxy(t, fakemodel.Config{}, 5)
	client := openAI(t, address)
	whole, err := client.Chat.Completions.New(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	seen := <-ended
	if u := whole.Usage; u.CompletionTokens != 5 || seen.Usage != (llm.Usage{Input: u.PromptTokens, Output: u.CompletionTokens, Cached: u.PromptTokensDetails.CachedTokens}) {
		t.Errorf("the SDK has read %+v, the proxy %+v", u, seen.Usage)
	}
	for _, include := range []bool{false, true} {
		params := question()
		if include {
			params.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var read openai.ChatCompletionAccumulator
		empty := 0
		for stream.Next() {
			if len(stream.Current().Choices) == 0 {
				empty++
			}
			read.AddChunk(stream.Current())
		}
		if err := errors.Join(stream.Err(), stream.Close()); err != nil {
			t.Fatal(err)
		}
		seen := <-ended
		if len(read.Choices) != 1 || read.Choices[0].Message.Content != whole.Choices[0].Message.Content || (empty == 1) != include || (read.Usage.TotalTokens > 0) != include {
			t.Errorf("usage asked for is %v: the SDK has read %+v, %d chunks without choices", include, read.ChatCompletion, empty)
		}
		if seen.Usage.Output != 5 || seen.Seen != 5 || !seen.Found {
			t.Errorf("usage asked for is %v: the proxy has read %+v", include, seen)
		}
	}
}

// TestResponses reads an answer of Responses whole and as a stream.
func TestResponses(t *testing.T) {
	address, ended := newProxy(t, fakemodel.Config{}, 0)
	client := openAI(t, address)
	params := responses.ResponseNewParams{Model: "gpt-5", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("How long?")}}
	whole, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Usage{Input: whole.Usage.InputTokens, Output: whole.Usage.OutputTokens, Cached: whole.Usage.InputTokensDetails.CachedTokens}
	if seen := <-ended; seen.Usage != want || want.Output != 16 {
		t.Errorf("the SDK has read %+v, the proxy %+v", want, seen.Usage)
	}
	stream := client.Responses.NewStreaming(t.Context(), params)
	defer closed(t, stream)
	text, last := "", ""
	for stream.Next() {
		event := stream.Current()
		last = event.Type
		if event.Type == "response.output_text.delta" {
			text += event.Delta
		}
	}
	if stream.Err() != nil || text != whole.OutputText() || last != "response.completed" {
		t.Errorf("the SDK has read %q up to %s, %v", text, last, stream.Err())
	}
	if seen := <-ended; seen.Usage != want || seen.Seen != 16 {
		t.Errorf("the proxy has read %+v, want %+v", seen, want)
	}
}

// TestMessages reads an answer of Messages whole and as a stream.
func TestMessages(t *testing.T) {
	address, ended := newProxy(t, fakemodel.Config{}, 7)
	client := claude(t, address)
	params := anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 1000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("How long is a piece of string?"))},
	}
	whole, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	u := whole.Usage
	want := llm.Usage{Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Output: u.OutputTokens, Cached: u.CacheReadInputTokens}
	if seen := <-ended; seen.Usage != want || want.Output != 7 {
		t.Errorf("the SDK has read %+v, the proxy %+v", want, seen.Usage)
	}
	stream := client.Messages.NewStreaming(t.Context(), params)
	defer closed(t, stream)
	var read anthropic.Message
	for stream.Next() {
		if err := read.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if stream.Err() != nil || read.Content[0].Text != whole.Content[0].Text || read.Usage.OutputTokens != 7 || read.StopReason != "max_tokens" {
		t.Errorf("the SDK has read %+v, %v", read, stream.Err())
	}
	if seen := <-ended; seen.Usage != want || seen.Seen != 7 || seen.Partial {
		t.Errorf("the proxy has read %+v, want %+v", seen, want)
	}
}

// refuse writes a refusal.
func refuse(w http.ResponseWriter, d dialect.Dialect, status int, refusal *dialect.Refusal) {
	d.SetRefusal(w.Header(), refusal)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(d.Body(refusal))
}

// refusing is a server that refuses the first request, and passes the others to a model.
func refusing(t *testing.T, d dialect.Dialect, status int, refusal *dialect.Refusal) (address string, asked *atomic.Int64) {
	t.Helper()
	model := fakemodel.New(fakemodel.Config{})
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			refuse(w, d, status, refusal)
			return
		}
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// TestRefusals shows the SDKs what a gateway refuses. They ask again after a limit, and give up where that is of no use.
func TestRefusals(t *testing.T) {
	for what, c := range map[string]struct {
		refusal    dialect.Refusal
		status     int
		again      bool // the SDK asks again
		openAI     string
		claude     anthropic.ErrorType
		openAIOnly bool // anthropic-sdk-go would wait so long
	}{
		"a limit":         {dialect.Refusal{Kind: dialect.Tokens, Message: "slow down", RetryAfter: time.Millisecond}, 429, true, "", "", false},
		"a long limit":    {dialect.Refusal{Kind: dialect.Tokens, Message: "slow down", RetryAfter: 2*time.Minute + 1}, 429, false, "rate_limit_exceeded", "", true},
		"a limit forever": {dialect.Refusal{Kind: dialect.Tokens, Message: "slow down", Never: true}, 429, false, "rate_limit_exceeded", anthropic.ErrorTypeRateLimitError, false},
		"a quota":         {dialect.Refusal{Reason: dialect.QuotaUsed, Message: "slow down", RetryAfter: time.Hour}, 429, false, "insufficient_quota", anthropic.ErrorTypeRateLimitError, false},
		"money":           {dialect.Refusal{Reason: dialect.BudgetUsed, Message: "slow down"}, 403, false, "insufficient_quota", anthropic.ErrorTypePermissionError, false},
		"no decision":     {dialect.Refusal{Reason: dialect.Unavailable, Message: "slow down", RetryAfter: time.Millisecond}, 503, true, "", "", false},
	} {
		want := int64(1)
		if c.again {
			want = 2
		}
		address, asked := refusing(t, dialect.OpenAI, c.status, &c.refusal)
		client := openAI(t, address)
		_, err := client.Chat.Completions.New(t.Context(), question())
		var wrong *openai.Error
		switch {
		case asked.Load() != want || (err == nil) != c.again:
			t.Errorf("%s: openai-go has asked %d times: %v", what, asked.Load(), err)
		case err != nil && (!errors.As(err, &wrong) || wrong.StatusCode != c.status || wrong.Code != c.openAI || wrong.Message != "slow down"):
			t.Errorf("%s: openai-go has read %v", what, err)
		}
		if c.openAIOnly {
			continue
		}
		address, asked = refusing(t, dialect.Anthropic, c.status, &c.refusal)
		other := claude(t, address)
		_, err = other.Messages.New(t.Context(), anthropic.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 9, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("?"))}})
		var refused *anthropic.Error
		switch {
		case asked.Load() != want || (err == nil) != c.again:
			t.Errorf("%s: anthropic-sdk-go has asked %d times: %v", what, asked.Load(), err)
		case err != nil && (!errors.As(err, &refused) || refused.StatusCode != c.status || refused.Type() != c.claude || !strings.Contains(err.Error(), "slow down")):
			t.Errorf("%s: anthropic-sdk-go has read %v", what, err)
		}
	}
}
