// Package fakemodel is a language model that knows a few words, for tests and demonstrations. It speaks Chat Completions and Responses of
// OpenAI and Messages of Anthropic, as JSON and as streams, with the usage in the answer, and it can do what goes wrong with
// real ones. The same request always gets the same answer. Start with [New].
package fakemodel

import (
	"encoding/json"
	"io"
	"net/http"
)

// The paths of the three APIs.
const (
	ChatPath      = "/v1/chat/completions"
	ResponsesPath = "/v1/responses"
	MessagesPath  = "/v1/messages"
)

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
