package fakemodel

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Fault is something that goes wrong with an answer.
type Fault uint8

const (
	// NoFault is an answer as it should be.
	NoFault Fault = iota
	// Break cuts the connection in the middle of an event, after half of the words; an answer that is no stream breaks in its middle.
	Break
	// NoUsage leaves out the usage.
	NoUsage
	// LyingUsage tells one token of output.
	LyingUsage
	// LongEvent sends a word of 10 MiB in the middle.
	LongEvent
	// Gzip compresses the answer, whatever the client accepts.
	Gzip
	// ErrorStatus answers 503.
	ErrorStatus
	// Silent sends the header of an answer, and nothing more until the client leaves.
	Silent
)

// A call is one request and its answer.
type call struct {
	cfg     *Config
	writer  http.ResponseWriter
	out     io.Writer // of the answer's body
	zip     *gzip.Writer
	request *http.Request
	asked   asked

	words                          []string
	choices, input, cached, output int
	short                          bool // the request allowed fewer words than there are
}

// begin sends the header.
func (c *call) begin(contentType string) {
	h := c.writer.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	if c.cfg.Fault == Gzip {
		h.Set("Content-Encoding", "gzip")
		c.zip = gzip.NewWriter(c.writer)
		c.out = c.zip
	}
	c.writer.WriteHeader(http.StatusOK)
	c.flush()
	if c.cfg.Fault == Silent {
		<-c.request.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// flush sends what was written.
func (c *call) flush() {
	if c.zip != nil {
		_ = c.zip.Flush() // an answer to a client that is gone
	}
	_ = http.NewResponseController(c.writer).Flush()
}

// finish ends the body.
func (c *call) finish() {
	if c.zip != nil {
		_ = c.zip.Close()
	}
}

// wait waits for the delay, or ends the call if the client leaves.
func (c *call) wait() {
	if c.cfg.Delay <= 0 {
		return
	}
	timer := time.NewTimer(c.cfg.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.request.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// event sends an event with the JSON of data; name is empty for none.
func (c *call) event(name string, data any) {
	c.wait()
	_, _ = io.WriteString(c.out, eventText(name, data))
	c.flush()
}

// brokenEvent sends half of an event, and cuts the connection.
func (c *call) brokenEvent(name string, data any) {
	text := eventText(name, data)
	_, _ = io.WriteString(c.out, text[:len(text)/2])
	c.flush()
	panic(http.ErrAbortHandler)
}

func eventText(name string, data any) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // all that is sent is made here
	}
	if name != "" {
		return fmt.Sprintf("event: %s\ndata: %s\n\n", name, text)
	}
	return fmt.Sprintf("data: %s\n\n", text)
}

// stream sends the events that bring the words, one by one, with the fault in their middle.
func (c *call) stream(name string, data func(word string) any) {
	for i, word := range c.words {
		if i == len(c.words)/2 {
			switch c.cfg.Fault {
			case Break:
				c.brokenEvent(name, data(word))
			case LongEvent:
				word = strings.Repeat("x", c.cfg.LongEvent)
			default:
			}
		}
		c.event(name, data(word))
	}
}

// document sends an answer that is no stream.
func (c *call) document(data any) {
	c.wait()
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // all that is sent is made here
	}
	c.begin("application/json")
	if c.cfg.Fault == Break {
		_, _ = c.out.Write(text[:len(text)/2])
		c.flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = c.out.Write(text)
}

// told is how many tokens of output the usage tells.
func (c *call) told() int {
	if c.cfg.Fault == LyingUsage {
		return 1
	}
	return c.output
}

// usage is what to send as the usage: null if it is left out.
func (c *call) usage(u object) any {
	if c.cfg.Fault == NoUsage {
		return nil
	}
	return u
}

// An object is a JSON object.
type object = map[string]any

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
