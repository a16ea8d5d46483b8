package llm

import (
	"fmt"
	"strings"
)

// Custom is described by [Paths].
const Custom API = 4

// custom is what is known of a Custom API without its paths.
var custom = Format{api: Custom, name: "custom"}

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

// NewFormat is the format of a [Custom] API. Its error names the path that is wrong.
func NewFormat(p Paths) (*Format, error) {
	f := custom
	var most, content path
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
		{"content", p.Content, &content},
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
	f.event, f.anything = readByPath(content), len(content) == 0
	return &f, nil
}

// readByPath reads an event of an API whose content stands at a path.
func readByPath(content path) func([]byte, span) contents {
	return func(data []byte, whole span) (has contents) {
		has.usage = whole
		if value := locate(data, whole, content).span; filled(data, value) {
			has.output, has.text = true, textIn(data, value)
		}
		return has
	}
}

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
