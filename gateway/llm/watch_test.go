package llm_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/llm"
)

// pieces is a body that comes in pieces of those sizes, the last of them again and again, and ends with err.
type pieces struct {
	left   []byte
	sizes  []int
	err    error
	closed int
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, p.err
	}
	n := min(p.sizes[0], len(to), len(p.left))
	if len(p.sizes) > 1 {
		p.sizes = p.sizes[1:]
	}
	copy(to, p.left[:n])
	p.left = p.left[n:]
	return n, nil
}

func (p *pieces) Close() error {
	p.closed++
	return nil
}

const (
	stream   = "text/event-stream; charset=utf-8"
	document = "application/json"
)

// answer is an answer of an upstream.
func answer(kind string, body io.ReadCloser) http.Response {
	return http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// pass reads an answer through a Watch, as a client would.
func pass(t *testing.T, w llm.Watch, r http.Response) (passed string, ended llm.Answer) {
	t.Helper()
	reports := 0
	w.Report = func(a llm.Answer) {
		reports++
		ended = a
	}
	w.Wrap(&r)
	all, _ := io.ReadAll(r.Body)
	for range 2 {
		if err := r.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if reports != 1 {
		t.Fatalf("%d reports", reports)
	}
	return string(all), ended
}

// whole is a body that comes at once.
func whole(text string) *pieces {
	return &pieces{left: []byte(text), sizes: []int{1 << 30}, err: io.EOF}
}

// events joins the data of events to a stream.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

func custom(t *testing.T, p llm.Paths) *llm.Format {
	t.Helper()
	f, err := llm.NewFormat(p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestUsage(t *testing.T) {
	chat, responses, messages := format(t, llm.OpenAIChat), format(t, llm.OpenAIResponses), format(t, llm.AnthropicMessages)
	for _, c := range []struct {
		what   string
		format *llm.Format
		kind   string
		body   string
		want   llm.Answer
	}{
		{
			"chat", chat, document,
			`{"choices":[{}],"usage":{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"completion_tokens_details":{"reasoning_tokens":5}}}`,
			llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 7, Cached: 4, CacheWrite: 3, Reasoning: 5}},
		},
		{"chat without details", chat, document, ` {"usage":{"prompt_tokens":10,"completion_tokens":7,"prompt_tokens_details":null}} `, llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 7}}},
		{"parts greater than their wholes", chat, document, `{"usage":{"prompt_tokens":1,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":4}}}`, llm.Answer{Found: true, Usage: llm.Usage{Input: 1, Cached: 1}}},
		{"a usage below 0", chat, document, `{"usage":{"prompt_tokens":10,"completion_tokens":-7}}`, llm.Answer{}},
		{"a usage with a fraction", chat, document, `{"usage":{"prompt_tokens":10,"completion_tokens":7.5}}`, llm.Answer{}},
		{"a usage of text", chat, document, `{"usage":{"prompt_tokens":"10"}}`, llm.Answer{}},
		{"a usage that is a list", chat, document, `{"usage":[1,2]}`, llm.Answer{}},
		{"an empty usage", chat, document, `{"usage":{}}`, llm.Answer{}},
		{"null", chat, document, `{"usage":null}`, llm.Answer{}},
		{"no usage", chat, document, `{"choices":[]}`, llm.Answer{}},
		{"no object", chat, document, `[{"usage":{"prompt_tokens":10}}]`, llm.Answer{}},
		{"half an object", chat, document, `{"usage":{"prompt_tokens":10,"completion_tokens":7}`, llm.Answer{}},
		{"no JSON", chat, document, `}}{{usage`, llm.Answer{}},
		{
			"responses", responses, "application/vnd.x+json",
			`{"usage":{"input_tokens":10,"output_tokens":7,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"output_tokens_details":{"reasoning_tokens":5}}}`,
			llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 7, Cached: 4, CacheWrite: 1, Reasoning: 5}},
		},
		{
			"messages", messages, document,
			`{"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":30,"output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}}`,
			llm.Answer{Found: true, Usage: llm.Usage{Input: 140, Output: 7, Cached: 100, CacheWrite: 30, Reasoning: 2}},
		},
		{
			"custom", generate(t), document, `{"usage":{"in":10,"total":25,"cache":3}}`, llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 15, Cached: 3}},
		},
		{"only a total", custom(t, llm.Paths{Total: "a.b"}), document, `{"a":{"b":25}}`, llm.Answer{Found: true, Usage: llm.Usage{Output: 25}}},
		{"a total and an output", custom(t, llm.Paths{Total: "t", Output: "o"}), document, `{"o":5,"t":25}`, llm.Answer{Found: true, Usage: llm.Usage{Input: 20, Output: 5}}},
		{"a total that is too small", custom(t, llm.Paths{Total: "t", Output: "o"}), document, `{"o":50,"t":25}`, llm.Answer{Found: true, Usage: llm.Usage{Output: 50}}},
		{"a chat stream", chat, stream, events(
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":null}`,
			`{"choices":[{"index":0,"delta":{"content":"a"}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]}}]}`,
			`{"choices":[{"delta":{"content":null,"reasoning_content":"hm"}},{"delta":{"content":"b"}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
			`{"choices":[],"prompt_filter_results":[]}`,
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7}}`, `[DONE]`,
		), llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 7}, Seen: 3, Text: 7}},
		{"a chat stream with a usage in each chunk", chat, stream, events(
			`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`,
			`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`,
		), llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 2}, Seen: 2, Text: 2}},
		{"a chat stream without a usage", chat, stream, events(`{"choices":[{"delta":{"content":"a"}}]}`, `[DONE]`), llm.Answer{Seen: 1, Text: 1}},
		{"a chat stream of nonsense", chat, stream, events(`{`, `{"choices":[`, `{"choices":[{"delta":`, `{"usage":{"prompt_tokens":1}`, `"`, `null`, `{"choices":{"delta":5}}`), llm.Answer{}},
		{
			"a stream of responses", responses, stream, "event: response.created\n" + events(
				`{"type":"response.created","response":{"usage":null}}`,
				`{"type":"response.output_text.delta","delta":"a"}`,
				`{"type":"response.output_text.delta","delta":""}`,
				`{"type":"response.function_call_arguments.delta","delta":"{"}`,
				`{"type":"response.reasoning_summary_text.delta","delta":"thinking"}`,
				`{"type":"response.output_text.done","text":"a"}`,
				`{"type":"response.completed","response":{"output":[{"usage":{"input_tokens":1}}],"usage":{"input_tokens":10,"output_tokens":7}}}`,
			), llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 7}, Seen: 2, Text: 2},
		},
		{"an incomplete response", responses, stream, events(`{"type":"response.incomplete","response":{"usage":{"input_tokens":10,"output_tokens":7}}}`), llm.Answer{Found: true, Usage: llm.Usage{Input: 10, Output: 7}}},
		{"a failed response", responses, stream, events(`{"type":"response.failed","response":{"usage":null}}`), llm.Answer{}},
		{
			"a stream of messages", messages, stream, events(
				`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1}}}`,
				`{"type":"ping"}`,
				`{"type":"content_block_start","content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`,
				`{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}}`,
				`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}`,
				`{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"abc"}}`,
				`{"type":"message_delta","usage":{"output_tokens":5}}`,
				`{"type":"message_delta","usage":{"output_tokens":7,"input_tokens":11}}`,
				`{"type":"message_stop"}`,
			), llm.Answer{Found: true, Usage: llm.Usage{Input: 111, Output: 7, Cached: 100}, Seen: 2, Text: 2},
		},
		{
			"the start of a stream of messages", messages, stream, events(
				`{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}`,
				`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`,
				`{"type":"error","error":{"type":"overloaded_error"}}`,
			), llm.Answer{Found: true, Partial: true, Usage: llm.Usage{Input: 10, Output: 1}, Seen: 1, Text: 1},
		},
		{"a custom stream", generate(t), stream, events(`{"part":{"text":"a"},"usage":{"in":1,"total":2}}`, `{"part":{"text":""},"usage":{"in":1,"total":5}}`, `{"part":null}`), llm.Answer{Found: true, Usage: llm.Usage{Input: 1, Output: 4}, Seen: 1, Text: 1}},
		{"a custom stream of anything", custom(t, llm.Paths{Total: "t"}), stream, events(`{"a":1}`, `words`, `{"t":25}`, `[DONE]`), llm.Answer{Found: true, Usage: llm.Usage{Output: 25}, Seen: 2, Text: 5}},
	} {
		c.want.Status, c.want.Complete = http.StatusOK, true
		passed, got := pass(t, llm.Watch{Format: c.format}, answer(c.kind, whole(c.body)))
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.what, got, c.want)
		}
		if passed != c.body {
			t.Errorf("%s: passed %q", c.what, passed)
		}
		if got.Understated() {
			t.Errorf("%s: is understated", c.what)
		}
	}
}

const usageEvent = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":7}}\n\n"

// TestRemoveUsage takes out the usage event, and nothing else.
func TestRemoveUsage(t *testing.T) {
	chat := format(t, llm.OpenAIChat)
	content := "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n"
	long := "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1},\"x\":\"" + strings.Repeat("x", 2000) + "\"}\n\n"
	crlf := strings.NewReplacer("\n", "\r\n")
	for what, c := range map[string]struct {
		body, want string
	}{
		"in the middle":     {content + usageEvent + "data: [DONE]\n\n", content + "data: [DONE]\n\n"},
		"alone":             {usageEvent, ""},
		"without an end":    {content + strings.TrimSuffix(usageEvent, "\n"), content + strings.TrimSuffix(usageEvent, "\n")},
		"CRLF":              {crlf.Replace(content + usageEvent + content), crlf.Replace(content + content)},
		"CR":                {strings.ReplaceAll(content+usageEvent+content, "\n", "\r"), strings.ReplaceAll(content+content, "\n", "\r")},
		"twice":             {usageEvent + ": ping\n\n" + usageEvent, ": ping\n\n"},
		"not asked for":     {content + "data: [DONE]\n\n", content + "data: [DONE]\n\n"},
		"with a choice":     {"data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":10}}\n\n", "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":10}}\n\n"},
		"longer than read":  {content + long + content, content + long + content},
		"another empty one": {"data: {\"choices\":[],\"usage\":null}\n\n", "data: {\"choices\":[],\"usage\":null}\n\n"},
	} {
		for _, size := range []int{1, 2, 7, 100, 1 << 20} {
			passed, got := pass(t, llm.Watch{Format: chat, RemoveUsage: true, MaxEvent: 1000}, answer(stream, &pieces{left: []byte(c.body), sizes: []int{size}, err: io.EOF}))
			if passed != c.want {
				t.Errorf("%s in pieces of %d: passed %q, want %q; %+v", what, size, passed, c.want, got)
			}
		}
	}
}

// TestPieces cuts streams at random places: what passes and what is seen do not depend on where.
func TestPieces(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	parts := []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"größe 日本\"}}]}\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\r\n\r\n", ": comment\n\n", "\r", "\n",
		"event: x\ndata: {\"choices\":\ndata: []}\n\n", usageEvent, strings.ReplaceAll(usageEvent, "\n", "\r\n"), strings.ReplaceAll(usageEvent, "\n", "\r"),
		"data: [DONE]\n\n", "data: {\"x\":\"" + strings.Repeat("x", 400) + "\"}\n\n", "data: half", "\xEF\xBB\xBF",
		"data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}\n\n", "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n",
	}
	for range 3000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		api := llm.API(1 + random.IntN(3))
		w := llm.Watch{Format: format(t, api), RemoveUsage: random.IntN(2) == 0, MaxEvent: 300}
		err := []error{io.EOF, io.ErrUnexpectedEOF}[random.IntN(2)]
		sizes := make([]int, 1+random.IntN(20))
		for i := range sizes {
			sizes[i] = 1 + random.IntN(90)
		}
		want, wantAnswer := pass(t, w, answer(stream, &pieces{left: []byte(b.String()), sizes: []int{1 << 20}, err: err}))
		got, gotAnswer := pass(t, w, answer(stream, &pieces{left: []byte(b.String()), sizes: sizes, err: err}))
		if got != want || gotAnswer != wantAnswer {
			t.Fatalf("%q in pieces of %v: passed %q with %+v, want %q with %+v", b.String(), sizes, got, gotAnswer, want, wantAnswer)
		}
		if removes := w.RemoveUsage && api == llm.OpenAIChat; !removes && got != b.String() {
			t.Fatalf("%q passed as %q", b.String(), got)
		}
	}
}

// TestNothingWaits reads a stream of which each piece comes only after the one before was passed on.
func TestNothingWaits(t *testing.T) {
	for _, remove := range []bool{false, true} {
		chunks := []string{events(`{"choices":[{"delta":{"content":"a"}}]}`), ": ping\r\n\r", "\n", events(`[DONE]`)}
		from, to := io.Pipe()
		r := answer(stream, from)
		llm.Watch{Format: format(t, llm.OpenAIChat), RemoveUsage: remove, Report: func(llm.Answer) {}}.Wrap(&r)
		wrote := make(chan error)
		got := make([]byte, 1000)
		for _, chunk := range chunks {
			go func() {
				_, err := to.Write([]byte(chunk))
				wrote <- err
			}()
			n, err := r.Body.Read(got)
			if err != nil || string(got[:n]) != chunk {
				t.Errorf("remove is %v: read %q, %v, want %q", remove, got[:n], err, chunk)
			}
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
		}
		r.Body.Close()
	}
}

// TestLongEvent passes an event of 10 MiB, and reads what stands around it.
func TestLongEvent(t *testing.T) {
	long := events(`{"choices":[{"delta":{"content":"`+strings.Repeat("x", 10<<20)+`"}}]}`) + events(`{"choices":[{"delta":{"content":"a"}}]}`) + usageEvent
	for _, remove := range []bool{false, true} {
		passed, got := pass(t, llm.Watch{Format: format(t, llm.OpenAIChat), RemoveUsage: remove}, answer(stream, whole(long)))
		want := llm.Answer{Status: 200, Found: true, Usage: llm.Usage{Input: 10, Output: 7}, Seen: 2, Text: 1, Complete: true}
		removed := 0
		if remove {
			removed = len(usageEvent)
		}
		if got != want || len(passed) != len(long)-removed {
			t.Errorf("remove is %v: got %+v and %d bytes, want %+v", remove, got, len(passed), want)
		}
	}
}

func zipped(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWhatIsNotRead passes answers whose usage cannot be had, byte by byte.
func TestWhatIsNotRead(t *testing.T) {
	told := `{"usage":{"prompt_tokens":10,"completion_tokens":7}}`
	padded := strings.TrimSuffix(told, "}}") + strings.Repeat(" ", 5000) + "}}"
	noise := make([]byte, 5000)
	bomb := strings.Repeat(zipped(t, make([]byte, 1<<20)), 65) // the parts of a gzip file may follow each other
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	for what, c := range map[string]struct {
		kind, encoding, body, missing string
	}{
		"read":               {document, "", told, ""},
		"identity":           {document, "identity", told, ""},
		"gzip":               {document, "gzip", zipped(t, []byte(told)), ""},
		"gzip, a stream":     {stream, "GZIP", zipped(t, []byte(usageEvent)), ""},
		"gzip, cut":          {stream, "gzip", zipped(t, []byte(usageEvent))[:60], ""},
		"too long":           {document, "", padded, "longer than what is kept"},
		"a long member":      {document, "", `{"logprobs":[{"usage":"` + strings.Repeat("x", 5000) + `"}],` + told[1:], ""},
		"gzip, too long":     {stream, "gzip", zipped(t, noise), "longer than what is kept"},
		"no gzip":            {document, "gzip", told, "not compressed with gzip"},
		"gzip, a bomb":       {document, "gzip", zipped(t, make([]byte, 5<<20))[:4000], "longer than what is kept"},
		"two encodings":      {document, "gzip, br", told, "Content-Encoding"},
		"another encoding":   {stream, "br", told, "Content-Encoding"},
		"no type":            {"", "", told, "Content-Type"},
		"another type":       {"text/html", "", told, "neither JSON nor a stream"},
		"a malformed type":   {"text/html; =", "", told, "malformed"},
		"gzip, a whole bomb": {document, "gzip", bomb, "unpacks to more"},
	} {
		w := llm.Watch{Format: format(t, llm.OpenAIChat), RemoveUsage: true, MaxBody: 4096}
		if what == "gzip, a whole bomb" {
			w.MaxBody = 0
		}
		r := answer(c.kind, whole(c.body))
		if c.encoding != "" {
			r.Header.Set("Content-Encoding", c.encoding)
		}
		passed, got := pass(t, w, r)
		if passed != c.body {
			t.Errorf("%s: passed %d bytes of %d", what, len(passed), len(c.body))
		}
		if c.missing == "" && got.Missing != "" || !strings.Contains(got.Missing, c.missing) {
			t.Errorf("%s: missing is %q, want %q", what, got.Missing, c.missing)
		}
		if read := what == "read" || what == "identity" || what == "gzip" || what == "gzip, a stream" || what == "a long member"; got.Found != read {
			t.Errorf("%s: found is %v", what, got.Found)
		}
	}
}

// TestAnswersThatAreLeftAlone passes errors unread, and a switch of protocols untouched.
func TestAnswersThatAreLeftAlone(t *testing.T) {
	chat := format(t, llm.OpenAIChat)
	refused := answer(document, whole(`{"usage":{"prompt_tokens":10,"completion_tokens":7}}`))
	refused.StatusCode = http.StatusTooManyRequests
	if _, got := pass(t, llm.Watch{Format: chat}, refused); got != (llm.Answer{Status: 429, Complete: true}) {
		t.Errorf("an error: %+v", got)
	}
	body := whole("")
	switching := answer("", body)
	switching.StatusCode = http.StatusSwitchingProtocols
	llm.Watch{Format: chat, Report: func(llm.Answer) { t.Error("a switch of protocols is reported") }}.Wrap(&switching)
	if switching.Body != io.ReadCloser(body) {
		t.Error("the body of a switch of protocols is wrapped")
	}
	switching.Body.Close()
}

// TestClientLeaves closes an answer that has not ended.
func TestClientLeaves(t *testing.T) {
	for _, remove := range []bool{false, true} {
		body := &pieces{left: []byte(events(`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"b"}}]}`)), sizes: []int{60}, err: errors.New("not reached")}
		r := answer(stream, body)
		var got llm.Answer
		llm.Watch{Format: format(t, llm.OpenAIChat), RemoveUsage: remove, Report: func(a llm.Answer) { got = a }}.Wrap(&r)
		if n, err := io.ReadAtLeast(r.Body, make([]byte, 50), 1); n == 0 || err != nil {
			t.Fatal(n, err)
		}
		r.Body.Close()
		if got.Complete || got.Seen != 1 || got.Found || body.closed != 1 {
			t.Errorf("remove is %v: %+v, closed %d times", remove, got, body.closed)
		}
		if charge := got.Charge(llm.Usage{Input: 5, Output: 100}); charge != (llm.Charge{Usage: llm.Usage{Input: 5, Output: 1}, Basis: llm.ByEvents}) {
			t.Errorf("remove is %v: charge %+v", remove, charge)
		}
	}
}

// TestRemoveUsageForgetsTheLength removes a Content-Length that will not be true.
func TestRemoveUsageForgetsTheLength(t *testing.T) {
	r := answer(stream, whole(usageEvent))
	r.ContentLength = int64(len(usageEvent))
	r.Header.Set("Content-Length", "1")
	llm.Watch{Format: format(t, llm.OpenAIChat), RemoveUsage: true, Report: func(llm.Answer) {}}.Wrap(&r)
	defer r.Body.Close()
	if r.ContentLength != -1 || r.Header.Get("Content-Length") != "" {
		t.Errorf("the length is %d, %q", r.ContentLength, r.Header.Get("Content-Length"))
	}
}
