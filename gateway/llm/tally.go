package llm

import (
	"encoding/json"
	"slices"

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
		if t.format.anything && string(e.Data) != "[DONE]" {
			t.brought(int64(len(e.Data)))
		}
		return false
	}
	has := t.format.event(e.Data, whole)
	t.named(e.Data, has.model)
	usage := t.usage(e.Data, has.usage, !has.partial)
	if has.output || t.format.anything && !usage {
		t.brought(has.text) // 0 where it is not known what is text in it
	}
	return usage && has.usageOnly
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

// brought notes an event that brought output, with so many bytes of text.
func (t *tally) brought(text int64) {
	t.seen++
	t.text += text
}

// wants says whether a member of an answer that is one JSON object is read: whether it is the model, or the usage is in it.
func (t *tally) wants(key []byte) bool {
	at := t.format.answer
	if len(at.usage) > 0 {
		return at.usage.begins(key) || at.model.begins(key)
	}
	return slices.ContainsFunc(t.format.counts.at[:], func(p path) bool { return p.begins(key) })
}

// whole reads the usage of an answer that is one JSON object.
func (t *tally) whole(body []byte) {
	usage := root(body)
	if !usage.found() {
		return
	}
	if at := t.format.answer; len(at.usage) > 0 {
		t.named(body, locate(body, usage, at.model).span)
		usage = locate(body, usage, at.usage).span
	}
	t.usage(body, usage, true)
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
