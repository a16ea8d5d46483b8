// Package fakemodel is a language model that knows a few words, for tests and demonstrations. It speaks Chat Completions and Responses of
// OpenAI and Messages of Anthropic, as JSON and as streams, with the usage in the answer, and it can do what goes wrong with
// real ones. The same request always gets the same answer. Start with [New].
package fakemodel

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"time"
)

// The paths of the three APIs.
const (
	ChatPath      = "/v1/chat/completions"
	ResponsesPath = "/v1/responses"
	MessagesPath  = "/v1/messages"
)

// A Config says how the model behaves.
type Config struct {
	// Words is how many words it answers, 0 for 16. A request that allows fewer tokens gets fewer: each word is one token.
	Words int
	// Delay is how long it waits before each event of a stream, and before an answer that is none.
	Delay time.Duration
	// Fault is what goes wrong; the zero value is nothing.
	Fault Fault
	// LongEvent is how many bytes the long event has, 0 for 10 MiB; only for the fault of that name.
	LongEvent int
}

// maxRequest is the most bytes of a request.
const maxRequest = 16 << 20

// New makes the handler of a model. It is safe for concurrent use.
func New(cfg Config) http.Handler {
	if cfg.Words <= 0 {
		cfg.Words = 16
	}
	if cfg.LongEvent <= 0 {
		cfg.LongEvent = 10 << 20
	}
	mux := http.NewServeMux()
	for path, answer := range map[string]func(*call){ChatPath: chat, ResponsesPath: responses, MessagesPath: messages} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { serve(&cfg, answer, w, r) })
	}
	return mux
}

// serve answers one request.
func serve(cfg *Config, answer func(*call), w http.ResponseWriter, r *http.Request) {
	c := &call{cfg: cfg, writer: w, out: w, request: r}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err == nil {
		err = json.Unmarshal(body, &c.asked)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case cfg.Fault == ErrorStatus:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"message":"overloaded","type":"server_error","param":null,"code":null}}`)
	default:
		c.prepare()
		answer(c)
		c.finish()
	}
}

// asked is what the model reads of a request.
type asked struct {
	Model               string          `json:"model"`
	Stream              bool            `json:"stream"`
	Messages            json.RawMessage `json:"messages"`
	Input               json.RawMessage `json:"input"`
	N                   int             `json:"n"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MaxOutputTokens     *int            `json:"max_output_tokens"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

var vocabulary = [...]string{
	"a ", "bucket ", "fills ", "slowly ", "and ", "the ", "tokens ", "wait ", "for ", "größere ", "requests ", "naïve ", "clients ", "日本 ", "retry ", "later ",
}

// prepare decides the answer by the request.
func (c *call) prepare() {
	prompt := slices.Concat(c.asked.Messages, c.asked.Input)
	c.input = max(len(prompt)/4, 1)
	n := c.cfg.Words
	for _, most := range []*int{c.asked.MaxTokens, c.asked.MaxCompletionTokens, c.asked.MaxOutputTokens} {
		if most != nil && *most < n {
			n, c.short = max(*most, 0), true
		}
	}
	hash := fnv.New64a()
	_, _ = hash.Write(prompt)
	seed := hash.Sum64()
	for range n {
		c.words = append(c.words, vocabulary[seed>>60])
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	c.choices = max(c.asked.N, 1)
	c.output = n * c.choices
	c.cached = c.input / 4
}

// text is all the words.
func (c *call) text() string {
	text := make([]byte, 0, 8*len(c.words))
	for _, word := range c.words {
		text = append(text, word...)
	}
	return string(text)
}
