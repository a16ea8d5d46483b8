package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jeton-dev/jeton/gateway/llm"
)

func format(tb testing.TB, api llm.API) *llm.Format {
	tb.Helper()
	f, err := llm.FormatOf(api)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// generate is a custom format, of an API whose maximum is in an inner object.
func generate(t *testing.T) *llm.Format {
	t.Helper()
	f, err := llm.NewFormat(llm.Paths{
		Model: "model", Stream: "options.stream", MaxOutput: "config.limits.max", Choices: "config.count",
		Input: "usage.in", Total: "usage.total", Cached: "usage.cache", Content: "part.text",
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAPINames(t *testing.T) {
	for _, api := range []llm.API{llm.OpenAIChat, llm.OpenAIResponses, llm.AnthropicMessages, llm.Custom} {
		if back, err := llm.ParseAPI(api.String()); err != nil || back != api {
			t.Errorf("%v is read as %v, %v", api, back, err)
		}
	}
	for _, name := range []string{"", "openai", "API(9)"} {
		if _, err := llm.ParseAPI(name); err == nil || !strings.Contains(err.Error(), "openai-chat, openai-responses, anthropic-messages, custom") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := llm.API(9).String(); got != "API(9)" {
		t.Error(got)
	}
	for _, api := range []llm.API{0, llm.Custom, 9} {
		if _, err := llm.FormatOf(api); err == nil {
			t.Errorf("%v has a format", api)
		}
	}
}

func TestPaths(t *testing.T) {
	for text, p := range map[string]llm.Paths{
		"total: is missing":                      {Model: "model"},
		`cached: path "a..b": write names`:       {Total: "t", Cached: "a..b"},
		`model: path "a[0]": write names`:        {Total: "t", Model: "a[0]"},
		`content: path ".a": write names`:        {Total: "t", Content: ".a"},
		`total: path "a.b.c.d.e.f.g.h.i" has mo`: {Total: "a.b.c.d.e.f.g.h.i"},
	} {
		if _, err := llm.NewFormat(p); err == nil || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}

func TestReadRequest(t *testing.T) {
	type want struct {
		model            string
		stream           bool
		maxOutput        int64
		limited          bool
		choices          int64
		asked            bool
		estimate, within int64 // with 100 by default; of 1,000 tokens
	}
	for body, c := range map[string]struct {
		api  llm.API
		want want
	}{
		`{"model":"gpt-5","messages":[]}`:                         {llm.OpenAIChat, want{"gpt-5", false, 0, false, 1, true, 108, 992}},
		`{"model":"m","max_tokens":7,"n":3}`:                      {llm.OpenAIChat, want{"m", false, 7, true, 3, true, 30, 330}},
		`{"max_tokens":7,"max_completion_tokens":9}`:              {llm.OpenAIChat, want{"", false, 9, true, 1, true, 20, 989}},
		`{"max_tokens":null,"n":null,"model":null,"stream":null}`: {llm.OpenAIChat, want{"", false, 0, false, 1, true, 114, 986}},

		`{"stream":true}`:                                            {llm.OpenAIChat, want{"", true, 0, false, 1, false, 104, 996}},
		`{"stream":true,"stream_options":{}}`:                        {llm.OpenAIChat, want{"", true, 0, false, 1, false, 109, 991}},
		`{"stream":true,"stream_options":{"include_usage":true}}`:    {llm.OpenAIChat, want{"", true, 0, false, 1, true, 114, 986}},
		`{ "max_output_tokens" : 5 , "stream":true, "max_tokens":9}`: {llm.OpenAIResponses, want{"", true, 5, true, 1, true, 20, 985}},
		`{"\u006dodel":"a\"b","max_\u0074okens":0,"n":5}`:            {llm.AnthropicMessages, want{`a"b`, false, 0, true, 1, true, 12, 988}},
		`{"config":{"limits":{"max":8},"count":2,"max":1}}`:          {llm.Custom, want{"", false, 8, true, 2, true, 29, 493}},
		`{"n":0,"other":{"n":-1},"max_tokens":9223372036854775807}`:  {llm.OpenAIChat, want{"", false, math.MaxInt64, true, 1, true, math.MaxInt64, 985}},
		`{"n":9223372036854775807,"max_tokens":2}`:                   {llm.OpenAIChat, want{"", false, 2, true, math.MaxInt64, true, math.MaxInt64, 0}},
	} {
		f := generate(t)
		if c.api != llm.Custom {
			f = format(t, c.api)
		}
		r, err := f.ReadRequest([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got := want{r.Model, r.Stream, r.MaxOutput, r.Limited, r.Choices, r.UsageAsked, r.Estimate(100).Total(), r.OutputWithin(1000, llm.EqualRates(), 1000)}
		if got != c.want {
			t.Errorf("%v %s: got %+v, want %+v", c.api, body, got, c.want)
		}
		if got := bodyOf(r); !bytes.Equal(got, []byte(body)) {
			t.Errorf("%s became %s", body, got)
		}
		if r.OutputWithin(0, llm.EqualRates(), 1000) != 0 || r.OutputWithin(-1, llm.EqualRates(), math.MaxInt64) != 0 {
			t.Errorf("%s: there is room in nothing", body)
		}
	}
}

// TestOutputWithin holds what is granted against what the output costs: one token more in each choice would cost too much.
func TestOutputWithin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		r, err := format(t, llm.OpenAIChat).ReadRequest(fmt.Appendf(nil, `{"n":%d}`, 1+draw.IntN(5)))
		if err != nil {
			t.Fatal(err)
		}
		rates := llm.Rates{Input: llm.Decimal(draw.Int64N(5e6)), Output: llm.Decimal(draw.Int64N(5e6))}
		cost, most := draw.Int64N(1<<draw.IntN(40)), draw.Int64N(1<<draw.IntN(40))
		if draw.IntN(10) == 0 {
			most = math.MaxInt64
		}
		of := func(output int64) int64 {
			return rates.Cost(llm.Usage{Input: r.Input, Output: output * r.Choices})
		}
		got := r.OutputWithin(cost, rates, most)
		if got < 0 || got > most || got > 0 && of(got) > cost || got < most && got < 1<<60 && of(got+1) <= cost {
			t.Fatalf("%d of %d for %+v at %d choices, which cost %d", got, most, rates, r.Choices, cost)
		}
	}
}

func TestRequestThatIsWrong(t *testing.T) {
	chat := format(t, llm.OpenAIChat)
	for body, want := range map[string]string{
		``:                           "body: is not valid JSON",
		`[]`:                         "body: is not a JSON object",
		`{"max_tokens":5`:            "body: is not valid JSON",
		`{"max_tokens":5} x`:         "body: is not valid JSON",
		`{"max_tokens":-5}`:          "max_tokens: -5 is negative",
		`{"max_tokens":1.5}`:         "max_tokens: 1.5 is not a whole number in digits, up to 9223372036854775807",
		`{"max_tokens":1e3}`:         "max_tokens: 1e3 is not a whole number",
		`{"max_tokens":"5"}`:         `max_tokens: "5" is not a whole number`,
		`{"max_tokens":[5]}`:         "max_tokens: [5] is not a whole number",
		`{"n":-0.1}`:                 "n: -0.1 is not a whole number",
		`{"n":-9223372036854775808}`: "n: -9223372036854775808 is not a whole number",
		`{"max_completion_tokens":9223372036854775808}`:                                "max_completion_tokens: 9223372036854775808 is not a whole",
		`{"max_tokens":1,"max_tokens":2}`:                                              "max_tokens: stands there twice",
		`{"max_tokens":null,"max_\u0074okens":2}`:                                      "max_tokens: stands there twice",
		`{"stream":true,"stream_options":{},"stream_options":{"include_usage":true}}`:  "stream_options: stands there twice",
		`{"stream":true,"stream_options":{"include_usage":true,"include_usage":true}}`: "stream_options.include_usage: stands there twice",
		`{"stream":true,"stream_options":[]}`:                                          "stream_options: is not an object",
		`{"stream":true,"stream_options":{"include_usage":1}}`:                         "stream_options.include_usage: is not true or false",
		`{"stream":"true"}`: "stream: is not true or false",
		`{"model":5}`:       "model: is not a text",
		`{"max_tokens":"` + strings.Repeat("x", 99) + `"}`:                  `max_tokens: "` + strings.Repeat("x", 39) + `... is not a whole number`,
		`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: "body: nests deeper than 200 levels",
		strings.Repeat("[", 1_000_000):                                      "body: nests deeper than 200 levels",
	} {
		_, err := chat.ReadRequest([]byte(body))
		var field *llm.FieldError
		if !errors.As(err, &field) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", body, err, want)
		}
	}
	if _, err := chat.ReadRequest([]byte(`{"a":"` + strings.Repeat("[", 500) + `","b":` + strings.Repeat("[", 199) + strings.Repeat("]", 199) + `}`)); err != nil {
		t.Errorf("brackets in a text nest: %v", err)
	}
}

// bodyOf is the body of a request in one piece.
func bodyOf(r *llm.Request) []byte { return bytes.Join(r.Body(), nil) }

func TestReadBody(t *testing.T) {
	for size, want := range map[int]error{0: nil, 9: nil, 10: nil, 11: llm.ErrTooLarge, 1000: llm.ErrTooLarge} {
		body, err := llm.ReadBody(strings.NewReader(strings.Repeat("x", size)), 10, nil)
		if !errors.Is(err, want) || err == nil && len(body) != size {
			t.Errorf("%d bytes: got %d and %v, want %v", size, len(body), err, want)
		}
	}
	for _, size := range []int{0, 1, 8 << 10, 8<<10 + 1, 100_000} {
		for _, bound := range []int64{100_000, 131_072, math.MaxInt64} {
			want := strings.Repeat("x", size)
			for what, r := range map[string]io.Reader{
				"at once": strings.NewReader(want), "byte by byte": iotest.OneByteReader(strings.NewReader(want)), "with its end": iotest.DataErrReader(strings.NewReader(want)),
			} {
				var taken int64
				body, err := llm.ReadBody(r, bound, func(bytes int64) error {
					taken += bytes
					return nil
				})
				if err != nil || string(body) != want || taken < int64(size) || taken > min(max(8<<10, 2*int64(size)), bound) {
					t.Errorf("%d of %d bytes %s: got %d, which take %d, %v", size, bound, what, len(body), taken, err)
				}
			}
		}
	}
	full := errors.New("full")
	if body, err := llm.ReadBody(strings.NewReader(strings.Repeat("x", 100_000)), 1<<20, func(bytes int64) error {
		if bytes > 8<<10 {
			return full
		}
		return nil
	}); !errors.Is(err, full) || body != nil {
		t.Errorf("there is no room: got %d bytes and %v", len(body), err)
	}
	if _, err := llm.ReadBody(iotest.ErrReader(io.ErrUnexpectedEOF), 10, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body breaks off: %v", err)
	}
	if body, err := llm.ReadBody(strings.NewReader("abc"), math.MaxInt64, nil); err != nil || string(body) != "abc" {
		t.Errorf("without a bound: %s, %v", body, err)
	}
}

func TestLowerOutput(t *testing.T) {
	for _, c := range []struct {
		api        llm.API
		body, want string
	}{
		{llm.OpenAIChat, `{"model":"m"}`, `{"max_completion_tokens":5,"model":"m"}`},
		{llm.OpenAIChat, ` { } `, ` {"max_completion_tokens":5 } `},
		{llm.OpenAIChat, `{"max_tokens" : 100 , "x":1.50}`, `{"max_tokens" : 5 , "x":1.50}`},
		{llm.OpenAIChat, `{"max_tokens":100,"max_completion_tokens":7}`, `{"max_tokens":5,"max_completion_tokens":5}`},
		{llm.OpenAIChat, `{"max_tokens":100,"max_completion_tokens":null}`, `{"max_tokens":5,"max_completion_tokens":null}`},
		{llm.OpenAIChat, `{"max_tokens":null}`, `{"max_completion_tokens":5,"max_tokens":null}`},
		{llm.OpenAIChat, `{"max_tokens":null,"max_completion_tokens":null}`, `{"max_tokens":null,"max_completion_tokens":5}`},
		{llm.OpenAIChat, `{"max_tokens":null,"max_completion_tokens":100}`, `{"max_tokens":null,"max_completion_tokens":5}`},
		{llm.OpenAIChat, `{"max_tokens":100,"max_output_tokens":100}`, `{"max_tokens":5,"max_output_tokens":100}`},
		{llm.OpenAIResponses, `{"max_output_tokens":null}`, `{"max_output_tokens":5}`},
		{llm.OpenAIResponses, `{"max_output_tokens":100}`, `{"max_output_tokens":5}`},
		{llm.OpenAIChat, `{"max_tokens":4}`, `{"max_tokens":4}`},
		{llm.AnthropicMessages, `{"max_tokens":0}`, `{"max_tokens":0}`},
		{llm.AnthropicMessages, `{"max_\u0074okens":99,"system":"max_tokens"}`, `{"max_\u0074okens":5,"system":"max_tokens"}`},
		{llm.OpenAIResponses, `{"max_tokens":9,"a":{"max_output_tokens":9}}`, `{"max_output_tokens":5,"max_tokens":9,"a":{"max_output_tokens":9}}`},
		{llm.Custom, `{"config":{"limits":{"max":9,"x":1}}}`, `{"config":{"limits":{"max":5,"x":1}}}`},
		{llm.Custom, `{"config":{"limits":{"x":1}}}`, `{"config":{"limits":{"max":5,"x":1}}}`},
		{llm.Custom, `{"config":{"limits":null,"count":1}}`, `{"config":{"limits":{"max":5},"count":1}}`},
		{llm.Custom, `{"config":{}}`, `{"config":{"limits":{"max":5}}}`},
		{llm.Custom, `{"a":1}`, `{"config":{"limits":{"max":5}},"a":1}`},
		{llm.Custom, `{}`, `{"config":{"limits":{"max":5}}}`},
	} {
		f := generate(t)
		if c.api != llm.Custom {
			f = format(t, c.api)
		}
		r, err := f.ReadRequest([]byte(c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		if err := r.LowerOutput(3); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		if err := r.LowerOutput(5); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		if got := string(bodyOf(r)); got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s: got %s, want %s", c.body, got, c.want)
		}
		if r.LowerOutput(0) == nil || r.LowerOutput(-1) == nil || string(bodyOf(r)) != c.body {
			t.Errorf("%s is lowered to nothing: %s", c.body, bodyOf(r))
		}
	}
	r, err := generate(t).ReadRequest([]byte(`{"config":5}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.LowerOutput(5); err == nil || err.Error() != "config: is not an object" {
		t.Error(err)
	}
	bare, err := llm.NewFormat(llm.Paths{Total: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = bare.ReadRequest([]byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if err := r.LowerOutput(5); err == nil || r.AskForUsage() {
		t.Error("an API without fields has got some")
	}
}

func TestAskForUsage(t *testing.T) {
	for _, c := range []struct {
		api        llm.API
		body, want string // want is empty where nothing is added
	}{
		{llm.OpenAIChat, `{"stream":true}`, `{"stream_options":{"include_usage":true},"stream":true}`},
		{llm.OpenAIChat, `{"stream":true,"stream_options":null}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		{llm.OpenAIChat, `{"stream":true,"stream_options":{}}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		{llm.OpenAIChat, `{"stream":true,"stream_options":{"x":1}}`, `{"stream":true,"stream_options":{"include_usage":true,"x":1}}`},
		{llm.OpenAIChat, `{"stream":true,"stream_options":{"include_usage":false}}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		{llm.OpenAIChat, `{"stream":true,"stream_options":{"include_usage":null}}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		{llm.OpenAIChat, `{"stream":true,"stream_options":{"include_usage":true}}`, ""},
		{llm.OpenAIChat, `{"stream":false}`, ""},
		{llm.OpenAIChat, `{"stream":false,"stream_options":5}`, ""},
		{llm.OpenAIResponses, `{"stream":true}`, ""},
		{llm.AnthropicMessages, `{"stream":true}`, ""},
	} {
		r, err := format(t, c.api).ReadRequest([]byte(c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		if added := r.AskForUsage(); added != (c.want != "") {
			t.Errorf("%s: added is %v", c.body, added)
		}
		want := c.want
		if want == "" {
			want = c.body
		}
		if got := string(bodyOf(r)); got != want {
			t.Errorf("%s: got %s, want %s", c.body, got, want)
		}
	}
}

// TestBothEdits adds two members in one place, and changes one that stands after it.
func TestBothEdits(t *testing.T) {
	for body, want := range map[string]string{
		`{"stream":true}`:                    `{"max_completion_tokens":5,"stream_options":{"include_usage":true},"stream":true}`,
		`{"stream":true,"max_tokens":70000}`: `{"stream_options":{"include_usage":true},"stream":true,"max_tokens":5}`,
	} {
		r, err := format(t, llm.OpenAIChat).ReadRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if !r.AskForUsage() || r.LowerOutput(5) != nil || string(bodyOf(r)) != want {
			t.Errorf("%s: got %s, want %s", body, r.Body(), want)
		}
	}
}

// TestOtherLetters are refused: services whose decoders take them for the same field, as encoding/json does, would read another request.
func TestOtherLetters(t *testing.T) {
	f, err := llm.FormatOf(llm.OpenAIChat)
	if err != nil {
		t.Fatal(err)
	}
	for body, field := range map[string]string{
		`{"max_tokens":1,"MAX_TOKENS":100000}`:                               "max_tokens",
		`{"max_to\u212aens":100000}`:                                         "max_tokens",
		`{"Max_Completion_Tokens":100000}`:                                   "max_completion_tokens",
		`{"N":100}`:                                                          "n",
		`{"\u017ftream":true}`:                                               "stream",
		`{"Model":"gpt-x"}`:                                                  "model",
		`{"stream":true,"Stream_Options":{"include_usage":false}}`:           "stream_options",
		`{"stream":true,"stream_options":{"Include_Usage":false}}`:           "stream_options.include_usage",
		`{"stream":true,"stream_options":{"\u0049nclude_u\u017fage":false}}`: "stream_options.include_usage",
	} {
		_, err := f.ReadRequest([]byte(body))
		if wrong, ok := errors.AsType[*llm.FieldError](err); !ok || wrong.Field != field {
			t.Errorf("%s: %v, want an error of %s", body, err, field)
		}
	}
	if _, err := f.ReadRequest([]byte(`{"tools":[{"MODEL":1}],"metadata":{"N":"x"},"modelx":1}`)); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}
