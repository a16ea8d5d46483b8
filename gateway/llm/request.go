package llm

import (
	"encoding/json"
	"fmt"
	"math"
)

// maxDepth is how deep the objects and arrays of a request may stand in each other.
const maxDepth = 200

// tokensOf estimates the tokens of so many bytes. English text has about four bytes in a token; an image in base64 has far more, so that its
// estimate is high.
func tokensOf(bytes int64) int64 {
	const each = 4
	return bytes/each + min(bytes%each, 1)
}

// A Request is what a request asks of a model. One goroutine may use it at a time.
type Request struct {
	// Model is the name of the model; empty if the request has none.
	Model string
	// Stream says whether the answer is to be a stream of events.
	Stream bool
	// Background says whether the response comes before the answer is made, and so tells no usage.
	Background bool
	// MaxOutput is the most tokens that each choice may have. It is 0 where Limited is false; an Anthropic request may also ask for 0.
	MaxOutput int64
	// Limited says whether the request names a maximum. Of two (max_tokens and max_completion_tokens), the greater one counts.
	Limited bool
	// Choices is how many answers are generated, each with its own output; at least 1.
	Choices int64
	// Input is the estimated number of tokens of the prompt: a quarter of the body's bytes, rounded up.
	Input int64
	// UsageAsked says that the client asked for the usage event at the end of a stream, or gets it without asking.
	UsageAsked bool

	format  *Format
	body    []byte
	at      []place // of every path in paths
	paths   []path
	lowered []edit
	asked   []edit
}

// ReadRequest reads the body of a request, which it keeps and does not change. Fields that it does not need may be anything. Its errors
// are *FieldError: the body is no JSON object, or nests deeper than 200 levels; or a field that it needs stands there
// twice or in other letters, or is no whole number in digits, negative, or of a wrong type.
func (f *Format) ReadRequest(body []byte) (*Request, error) {
	if deeperThan(body, maxDepth) {
		return nil, &FieldError{"body", fmt.Sprintf("nests deeper than %d levels", maxDepth)}
	}
	if !json.Valid(body) {
		return nil, &FieldError{"body", "is not valid JSON"}
	}
	whole := root(body)
	if !whole.found() {
		return nil, &FieldError{"body", "is not a JSON object"}
	}
	r := &Request{format: f, body: body, Choices: 1, Input: tokensOf(int64(len(body)))}
	for _, p := range append([]path{f.request.model, f.request.stream, f.request.choices, f.request.background, f.request.asked}, f.request.max...) {
		for n := range p { // the objects on the way, too: none of them may stand there twice
			r.paths = append(r.paths, p[:n+1])
		}
	}
	r.at = locateAll(body, whole, r.paths)
	for i, p := range r.paths {
		if r.at[i].twice {
			return nil, &FieldError{p.String(), "stands there twice"}
		}
		if r.at[i].another {
			return nil, &FieldError{p.String(), "stands there in other letters: write it just so"}
		}
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r, nil
}

// read reads the fields.
func (r *Request) read() error {
	paths := r.format.request
	var err error
	if r.Model, err = r.text(paths.model); err != nil {
		return err
	}
	if r.Stream, err = r.boolean(paths.stream); err != nil {
		return err
	}
	if r.Background, err = r.boolean(paths.background); err != nil {
		return err
	}
	if n, ok, err := r.count(paths.choices); err != nil {
		return err
	} else if ok {
		r.Choices = max(n, 1)
	}
	for _, p := range paths.max {
		n, ok, err := r.count(p)
		if err != nil {
			return err
		}
		r.MaxOutput, r.Limited = max(r.MaxOutput, n), r.Limited || ok
	}
	r.UsageAsked = true
	if len(paths.asked) > 0 && r.Stream {
		if above := r.find(paths.asked[:1]); above.found() && above.opens(r.body) != '{' {
			return &FieldError{paths.asked[:1].String(), "is not an object"}
		}
		r.UsageAsked, err = r.boolean(paths.asked)
	}
	return err
}

// find is where a path leads; not found also for null, which means the same.
func (r *Request) find(p path) span {
	s := r.stands(p)
	if !s.found() || s.null(r.body) {
		return span{}
	}
	return s
}

// stands is where a path leads, even to null.
func (r *Request) stands(p path) span {
	text := p.String()
	for i, known := range r.paths {
		if len(p) == len(known) && known.String() == text {
			return r.at[i].span
		}
	}
	return span{}
}

// text is a field that is a text.
func (r *Request) text(p path) (text string, err error) {
	s := r.find(p)
	if !s.found() {
		return "", nil
	}
	if s.opens(r.body) != '"' || json.Unmarshal(s.of(r.body), &text) != nil {
		return "", &FieldError{p.String(), "is not a text"}
	}
	return text, nil
}

// boolean is a field that is true or false; false if it is missing.
func (r *Request) boolean(p path) (bool, error) {
	s := r.find(p)
	switch text := s.of(r.body); {
	case !s.found():
		return false, nil
	case string(text) == "true", string(text) == "false":
		return text[0] == 't', nil
	default:
		return false, &FieldError{p.String(), "is not true or false"}
	}
}

// count is a field that is a whole number of at least 0.
func (r *Request) count(p path) (n int64, ok bool, err error) {
	s := r.find(p)
	if !s.found() {
		return 0, false, nil
	}
	n, ok = s.number(r.body)
	switch {
	case !ok:
		return 0, false, &FieldError{p.String(), fmt.Sprintf("%s is not a whole number in digits, up to %d", clip(s.of(r.body)), int64(math.MaxInt64))}
	case n < 0:
		return 0, false, &FieldError{p.String(), fmt.Sprintf("%d is negative", n)}
	}
	return n, true, nil
}

// clip shortens a value for a message.
func clip(value []byte) []byte {
	const shown = 40
	if len(value) > shown {
		return append(value[:shown:shown], "..."...)
	}
	return value
}

// Estimate is the most that the request may use: its input, and its maximum of output for each choice, or defaultOutput for each
// choice if it names none. Sums saturate.
func (r *Request) Estimate(defaultOutput int64) Usage {
	output := defaultOutput
	if r.Limited {
		output = r.MaxOutput
	}
	return Usage{Input: r.Input, Output: times(max(output, 0), r.Choices)}
}

// OutputWithin is the most output, in tokens for each choice and up to most, with which the request costs no more than that by the rates; 0
// if there is no room for any.
func (r *Request) OutputWithin(cost int64, rates Rates, most int64) int64 {
	low, high := int64(0), max(most, 0) // low is always within
	for low < high {
		middle := high - (high-low)/2
		if rates.Cost(Usage{Input: r.Input, Output: times(middle, r.Choices)}) <= cost {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// times is the product of two numbers of at least 0, or the greatest number.
func times(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// An edit replaces what stands from start up to end of a body.
type edit struct {
	start, end int
	text       string
}
