package llm_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/jeton-dev/jeton/gateway/llm"
)

// members is an object as encoding/json reads it, with numbers as they are spelled.
func members(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return m
}

// FuzzRequest edits a request: the result is valid JSON, and everything but the edited fields is as it was. A request that is read is
// read again from what was made of it, with the maximum that it was lowered to.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"hi \"there\" \\"}],"max_tokens":100,"stream":true}`), int64(5))
	f.Add([]byte(`{"stream":true,"stream_options":{"include_usage":false,"x":[1,{}]},"max_completion_tokens":null,"\u006e":2}`), int64(1))
	f.Add([]byte(" { } "), int64(1<<62))
	f.Fuzz(func(t *testing.T, body []byte, most int64) {
		for _, api := range []llm.API{llm.OpenAIChat, llm.OpenAIResponses, llm.AnthropicMessages} {
			check(t, format(t, api), body, most)
		}
	})
}

// FuzzEvent shows every format an answer with any data, as an event and as a document: it passes, and is no panic. What is no JSON has no usage; of
// a document only the members count that are kept to read them, and what stands in the others may be anything.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a\\"}}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":2}},"delta":{"text":"`))
	f.Add([]byte(`{"type":"response.output_text.delta","delta":"","response":{"usage":[`))
	f.Add([]byte("}{\"usage\":{\"in\":\n\ndata: {\"usage\":{\"total\":-1}"))
	f.Add([]byte(`{"":,"usage":{"prompt_tokens":0}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := "data: " + string(data) + "\n\n"
		oneEvent := !bytes.ContainsAny(data, "\r\n")
		for _, at := range []*llm.Format{format(t, llm.OpenAIChat), format(t, llm.OpenAIResponses), format(t, llm.AnthropicMessages), generate(t)} {
			passed, seen := pass(t, llm.Watch{Format: at}, answer(stream, whole(text)))
			if passed != text || seen.Usage.Input < 0 || seen.Usage.Output < 0 || seen.Found && oneEvent && !json.Valid(data) {
				t.Fatalf("%q passed as %q: %+v", text, passed, seen)
			}
			passed, seen = pass(t, llm.Watch{Format: at}, answer(document, whole(string(data))))
			if passed != string(data) || seen.Usage.Input < 0 || seen.Usage.Output < 0 {
				t.Fatalf("%q passed as %q: %+v", data, passed, seen)
			}
		}
	})
}

func check(t *testing.T, f *llm.Format, body []byte, most int64) {
	t.Helper()
	before := bytes.Clone(body)
	r, err := f.ReadRequest(body)
	if err != nil {
		return
	}
	added := r.AskForUsage()
	lowered := r.LowerOutput(most)
	if (most < 1) != (lowered != nil) {
		t.Fatalf("%s is lowered to %d: %v", body, most, lowered)
	}
	after := bodyOf(r)
	if !bytes.Equal(body, before) {
		t.Fatalf("the body that was read has changed:\n%s\n%s", before, body)
	}
	if !json.Valid(after) {
		t.Fatalf("%s became %s", body, after)
	}
	again, err := f.ReadRequest(after)
	if err != nil {
		t.Fatalf("%s became %s: %v", body, after, err)
	}
	if again.Model != r.Model || again.Stream != r.Stream || again.Choices != r.Choices || again.UsageAsked != (r.UsageAsked || added) {
		t.Fatalf("%s became %s", body, after)
	}
	if lowered == nil && (!again.Limited || again.MaxOutput > most || r.Limited && again.MaxOutput != min(r.MaxOutput, most)) {
		t.Fatalf("%s became %s, with a maximum of %d instead of %d", body, after, again.MaxOutput, most)
	}
	old, changed := members(t, before), members(t, after)
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		delete(old, name)
		delete(changed, name)
	}
	for _, m := range []map[string]any{old, changed} {
		options, _ := m["stream_options"].(map[string]any)
		delete(options, "include_usage")
		if len(options) == 0 && added {
			delete(m, "stream_options")
		}
	}
	if !reflect.DeepEqual(old, changed) {
		t.Fatalf("%s became %s", body, after)
	}
}
