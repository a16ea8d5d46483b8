package fakemodel

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
