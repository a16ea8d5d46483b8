package llm_test

import (
	"io"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/llm"
)

// again is a body that is the same events without an end.
type again struct{ event string }

func (a again) Read(p []byte) (int, error) { return copy(p, a.event), nil }
func (again) Close() error                 { return nil }

var sample = map[llm.API]string{
	llm.OpenAIChat:        "data: {\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":\"chat.completion.chunk\",\"created\":1741569952,\"model\":\"gpt-5.4\",\"service_tier\":\"default\",\"system_fingerprint\":null,\"choices\":[{\"index\":0,\"delta\":{\"content\":\" hello\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"Zr0aBq\"}\n\n",
	llm.OpenAIResponses:   "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":12,\"item_id\":\"msg_67ca09c5efe0819096d0511c92b8c890\",\"output_index\":0,\"content_index\":0,\"delta\":\" hello\",\"logprobs\":[],\"obfuscation\":\"Zr0aBq\"}\n\n",
	llm.AnthropicMessages: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" hello\"}}\n\n",
}

// BenchmarkEvent is what a stream of events costs more because it is watched; an operation is one event.
func BenchmarkEvent(b *testing.B) {
	for _, api := range []llm.API{llm.OpenAIChat, llm.OpenAIResponses, llm.AnthropicMessages} {
		for _, remove := range []bool{false, true} {
			if remove && api != llm.OpenAIChat {
				continue
			}
			name := api.String()
			if remove {
				name += "-remove-usage"
			}
			b.Run(name, func(b *testing.B) {
				r := answer(stream, again{sample[api]})
				llm.Watch{Format: format(b, api), RemoveUsage: remove, Report: func(llm.Answer) {}}.Wrap(&r)
				defer r.Body.Close()
				b.SetBytes(int64(len(sample[api])))
				b.ReportAllocs()
				p := make([]byte, 4096)
				for b.Loop() {
					if _, err := r.Body.Read(p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestEventsAllocateNothing reads events of content.
func TestEventsAllocateNothing(t *testing.T) {
	for api, event := range sample {
		for _, remove := range []bool{false, true} {
			r := answer(stream, again{event})
			var got llm.Answer
			llm.Watch{Format: format(t, api), RemoveUsage: remove, Report: func(a llm.Answer) { got = a }}.Wrap(&r)
			p := make([]byte, 4096)
			if n := testing.AllocsPerRun(200, func() { _, _ = r.Body.Read(p) }); n >= 1 {
				t.Errorf("%v, remove is %v: %v allocations for an event", api, remove, n)
			}
			r.Body.Close()
			if got.Seen < 200 {
				t.Errorf("%v: %+v", api, got)
			}
		}
	}
}

// BenchmarkStream is a whole answer of 500 events; an operation is one answer.
func BenchmarkStream(b *testing.B) {
	body := strings.Repeat(sample[llm.OpenAIChat], 500) + usageEvent
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := answer(stream, whole(body))
		llm.Watch{Format: format(b, llm.OpenAIChat), RemoveUsage: true, Report: func(llm.Answer) {}}.Wrap(&r)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			b.Fatal(err)
		}
		r.Body.Close()
	}
}

// BenchmarkRequest reads and edits a request of 100 kB.
func BenchmarkRequest(b *testing.B) {
	body := []byte(`{"model":"gpt-5","messages":[{"role":"user","content":"` + strings.Repeat("How long is a piece of string? ", 3300) + `"}],"stream":true,"max_tokens":4096}`)
	f := format(b, llm.OpenAIChat)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := f.ReadRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		r.AskForUsage()
		if err := r.LowerOutput(100); err != nil {
			b.Fatal(err)
		}
		r.Body()
	}
}
