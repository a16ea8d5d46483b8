package llm

import (
	"errors"
	"fmt"
	"strings"
)

// A path leads through objects by the names of their members.
type path []string

// String is the path as a configuration has it.
func (p path) String() string { return strings.Join(p, ".") }

// maxPath is how many names a path may have.
const maxPath = 8

// parsePath reads names with dots between them, such as usage.total. An empty text is an empty path.
func parsePath(text string) (path, error) {
	if text == "" {
		return nil, nil
	}
	p := path(strings.Split(text, "."))
	if len(p) > maxPath {
		return nil, fmt.Errorf("path %q has more than %d names", text, maxPath)
	}
	for _, name := range p {
		if name == "" || strings.ContainsAny(name, "\"\\[]*$ \t\r\n") {
			return nil, fmt.Errorf("path %q: write names of members with dots between them, such as usage.total", text)
		}
	}
	return p, nil
}

// Paths name the fields of a [Custom] API. A path is names of members with dots between them, such as usage.total; it cannot lead
// into an array. Every path is optional, except that one of Input, Output and Total is required.
type Paths struct {
	// Model, Stream, MaxOutput and Choices are fields of the request: a text, a boolean, and two whole numbers.
	Model, Stream, MaxOutput, Choices string
	// Input and Output are the numbers of tokens in the answer, or in the data of an event; the last event that has them counts.
	Input, Output string
	// Total is the sum of both. With Input, the output is what is left; alone, all of it counts as output. Output goes before it.
	Total string
	// Cached and CacheWrite are parts of Input, Reasoning is a part of Output.
	Cached, CacheWrite, Reasoning string
	// Content is what an event has that brings output. Without it, every event with data counts that has no usage and is not [DONE].
	Content string
}

// A Format is how one API writes requests and answers. It never changes, and is safe for concurrent use.
type Format struct {
	api     API
	request requestPaths
	counts  countPaths
	content path // of events of a Custom API
}

// requestPaths are where a request has what is read of it.
type requestPaths struct {
	model, stream, choices path
	background             path   // whether the answer is made after the response; empty if that is no choice
	max                    []path // the first one, which all models take, is written where the request has none
	asked                  path   // whether a stream ends with its usage; empty if that is no choice
}

// countPaths are where a usage object has its counts.
type countPaths struct {
	at    [kinds]path
	apart bool // the input does not include what was read from and written to the cache
}

// FormatOf is the format of an API other than [Custom].
func FormatOf(api API) (*Format, error) {
	request := requestPaths{model: path{"model"}, stream: path{"stream"}}
	switch api {
	case OpenAIChat:
		request.choices, request.max = path{"n"}, []path{{"max_completion_tokens"}, {"max_tokens"}}
		request.asked = path{"stream_options", "include_usage"}
		return &Format{api: api, request: request, counts: countPaths{at: [kinds]path{
			input: {"prompt_tokens"}, output: {"completion_tokens"},
			cached: {"prompt_tokens_details", "cached_tokens"}, cacheWrite: {"prompt_tokens_details", "cache_write_tokens"},
			reasoning: {"completion_tokens_details", "reasoning_tokens"},
		}}}, nil
	case OpenAIResponses:
		request.max, request.background = []path{{"max_output_tokens"}}, path{"background"}
		return &Format{api: api, request: request, counts: countPaths{at: [kinds]path{
			input: {"input_tokens"}, output: {"output_tokens"},
			cached: {"input_tokens_details", "cached_tokens"}, cacheWrite: {"input_tokens_details", "cache_write_tokens"},
			reasoning: {"output_tokens_details", "reasoning_tokens"},
		}}}, nil
	case AnthropicMessages:
		request.max = []path{{"max_tokens"}}
		return &Format{api: api, request: request, counts: countPaths{apart: true, at: [kinds]path{
			input: {"input_tokens"}, output: {"output_tokens"},
			cached: {"cache_read_input_tokens"}, cacheWrite: {"cache_creation_input_tokens"},
			reasoning: {"output_tokens_details", "thinking_tokens"},
		}}}, nil
	case Custom:
		return nil, errors.New("a custom API needs its paths: use NewFormat")
	default:
		return nil, fmt.Errorf("unknown API %v", api)
	}
}

// NewFormat is the format of a [Custom] API. Its error names the path that is wrong.
func NewFormat(p Paths) (*Format, error) {
	f := &Format{api: Custom}
	var most path
	for _, field := range []struct {
		name, text string
		to         *path
	}{
		{"model", p.Model, &f.request.model},
		{"stream", p.Stream, &f.request.stream},
		{"max_output", p.MaxOutput, &most},
		{"choices", p.Choices, &f.request.choices},
		{"input", p.Input, &f.counts.at[input]},
		{"output", p.Output, &f.counts.at[output]},
		{"total", p.Total, &f.counts.at[total]},
		{"cached", p.Cached, &f.counts.at[cached]},
		{"cache_write", p.CacheWrite, &f.counts.at[cacheWrite]},
		{"reasoning", p.Reasoning, &f.counts.at[reasoning]},
		{"content", p.Content, &f.content},
	} {
		var err error
		if *field.to, err = parsePath(field.text); err != nil {
			return nil, &FieldError{field.name, err.Error()}
		}
	}
	if p.Input == "" && p.Output == "" && p.Total == "" {
		return nil, &FieldError{"total", "is missing: name where an answer has its input, its output or its total"}
	}
	if len(most) > 0 {
		f.request.max = []path{most}
	}
	return f, nil
}

// API is the API that the format is of.
func (f *Format) API() API { return f.api }

// The counts of a usage object.
const (
	input = iota
	output
	total
	cached
	cacheWrite
	reasoning

	kinds
)
