package llm

import (
	"bytes"
	"encoding/json"

	"github.com/jeton-dev/jeton/gateway/llm/sse"
)

// A tally counts the events of one stream, and reads the usage of those that have it.
type tally struct {
	format *Format
	counts counts
	model  string // of the answer, once it is known
	found  bool
	final  bool // the usage is of the whole answer
	seen   int64
	text   int64 // bytes
}

// event counts one event. It says whether it is the event that [Request.AskForUsage] adds: it has a usage, and an empty list of choices.
func (t *tally) event(e sse.Event) (usageOnly bool) {
	if e.Long {
		t.seen++ // what is so long has output
		return false
	}
	if len(e.Data) == 0 {
		return false
	}
	whole := root(e.Data)
	if !whole.found() { // [DONE], or no JSON
		if t.format.api == Custom && len(t.format.content) == 0 && string(e.Data) != "[DONE]" {
			t.brought(int64(len(e.Data)))
		}
		return false
	}
	switch t.format.api {
	case OpenAIChat:
		return t.chat(e.Data, whole)
	case OpenAIResponses:
		t.responses(e.Data, whole)
	case AnthropicMessages:
		t.anthropic(e.Data, whole)
	default:
		t.custom(e.Data, whole)
	}
	return false
}

// usage takes over the counts of the object at s, if it is one.
func (t *tally) usage(data []byte, s span, final bool) bool {
	if !s.found() || s.opens(data) != '{' || !json.Valid(data) || !t.counts.read(data, s, &t.format.counts) {
		return false
	}
	t.found, t.final = true, t.final || final
	return true
}

// longestModel is how many bytes the name of a model may have to be read.
const longestModel = 256

// named takes over the name of the model at s, unless one is known.
func (t *tally) named(data []byte, s span) {
	if t.model == "" && s.found() && s.opens(data) == '"' && s.end-s.start <= longestModel+len(`""`) {
		_ = json.Unmarshal(s.of(data), &t.model) // of what is no text, nothing is taken over
	}
}

// chat reads a chunk of Chat Completions. The usage is in the last chunk, or, from some servers, in each.
func (t *tally) chat(data []byte, whole span) (usageOnly bool) {
	var choices, usage span
	for w := walkInto(data, whole); ; {
		key, value, ok := w.member()
		if !ok {
			break
		}
		switch {
		case sameKey(key, "choices"):
			choices = value
		case sameKey(key, "usage"):
			usage = value
		case sameKey(key, "model"):
			t.named(data, value)
		}
	}
	empty := true
	if choices.found() && choices.opens(data) == '[' {
		content, bytes := false, int64(0)
		for w := walkInto(data, choices); ; {
			choice, ok := w.element()
			if !ok {
				break
			}
			empty = false
			if choice.opens(data) == '{' {
				has, more := contentOf(data, locate(data, choice, path{"delta"}).span)
				content, bytes = content || has, bytes+more
			}
		}
		if content {
			t.brought(bytes)
		}
	}
	return t.usage(data, usage, true) && empty && choices.found() && !choices.null(data)
}

// brought notes an event that brought output, with so many bytes of text.
func (t *tally) brought(text int64) {
	t.seen++
	t.text += text
}

// contentOf says whether a delta of a chat has any member with a value, other than the role, and how many bytes of text they have.
func contentOf(data []byte, delta span) (has bool, text int64) {
	if !delta.found() || delta.opens(data) != '{' {
		return false, 0
	}
	for w := walkInto(data, delta); ; {
		key, value, ok := w.member()
		if !ok {
			return has, text
		}
		if !sameKey(key, "role") && filled(data, value) {
			has, text = true, text+textIn(data, value)
		}
	}
}

// filled says whether a value is there: no null, nothing empty.
func filled(data []byte, value span) bool {
	if !value.found() {
		return false
	}
	switch string(value.of(data)) {
	case "null", `""`, "[]", "{}", "false":
		return false
	}
	return true
}

var (
	delta   = []byte(".delta")
	summary = []byte("response.reasoning_summary_text.delta") // its text is not what the model has generated
	sound   = []byte("response.audio.delta")                  // it is no text
)

// responses reads an event of Responses. The usage is that of the response in the last event: response.completed, response.incomplete
// or response.failed.
func (t *tally) responses(data []byte, whole span) {
	kind, content, response := fields(data, whole, "type", "delta", "response")
	name := unquoted(data, kind)
	if bytes.HasSuffix(name, delta) && !bytes.Equal(name, summary) && filled(data, content) {
		text := textIn(data, content)
		if bytes.Equal(name, sound) {
			text = 0
		}
		t.brought(text)
	}
	if response.found() && response.opens(data) == '{' {
		t.named(data, locate(data, response, path{"model"}).span)
		t.usage(data, locate(data, response, path{"usage"}).span, true)
	}
}

// anthropic reads an event of Messages. message_start has the input, and the first tokens of the output; each message_delta has the
// numbers up to then.
func (t *tally) anthropic(data []byte, whole span) {
	kind, change, rest := fields(data, whole, "type", "delta", "message")
	switch string(unquoted(data, kind)) {
	case "message_start":
		if rest.found() && rest.opens(data) == '{' {
			t.named(data, locate(data, rest, path{"model"}).span)
			t.usage(data, locate(data, rest, path{"usage"}).span, false)
		}
	case "message_delta":
		t.usage(data, locate(data, whole, path{"usage"}).span, true)
	case "content_block_delta":
		if !change.found() || change.opens(data) != '{' {
			return
		}
		text, partial, thinking := fields(data, change, "text", "partial_json", "thinking")
		if filled(data, text) || filled(data, partial) || filled(data, thinking) {
			t.brought(textIn(data, text) + textIn(data, partial) + textIn(data, thinking))
		}
	}
}

// custom reads an event by its paths.
func (t *tally) custom(data []byte, whole span) {
	usage := t.usage(data, whole, true)
	if len(t.format.content) == 0 {
		if !usage {
			t.brought(0) // what is text in it is not known
		}
		return
	}
	if content := locate(data, whole, t.format.content).span; filled(data, content) {
		t.brought(textIn(data, content))
	}
}

// fields are three members of the object at s.
func fields(data []byte, s span, first, second, third string) (a, b, c span) {
	for w := walkInto(data, s); ; {
		key, value, ok := w.member()
		switch {
		case !ok:
			return a, b, c
		case sameKey(key, first):
			a = value
		case sameKey(key, second):
			b = value
		case sameKey(key, third):
			c = value
		}
	}
}

// unquoted is what stands between the quotes of a text without escapes.
func unquoted(data []byte, s span) []byte {
	if !s.found() || s.opens(data) != '"' {
		return nil
	}
	return data[s.start+1 : s.end-1]
}

// wants says whether a member of an answer that is one JSON object is read: whether it is the model, or the usage is in it.
func (t *tally) wants(key []byte) bool {
	if t.format.api != Custom {
		return sameKey(key, "usage") || sameKey(key, "model")
	}
	for _, p := range t.format.counts.at {
		if len(p) > 0 && sameKey(key, p[0]) {
			return true
		}
	}
	return false
}

// whole reads the usage of an answer that is one JSON object.
func (t *tally) whole(body []byte) {
	whole := root(body)
	if !whole.found() {
		return
	}
	if t.format.api != Custom {
		t.named(body, locate(body, whole, path{"model"}).span)
		whole = locate(body, whole, path{"usage"}).span
	}
	t.usage(body, whole, true)
}

// result writes what was counted into an answer.
func (t *tally) result(a *Answer) {
	a.Model = t.model
	a.Found, a.Partial = t.found, t.found && !t.final
	if t.found {
		a.Usage = t.counts.usage(t.format.counts.apart)
	}
	a.Seen, a.Text = t.seen, t.text
}
