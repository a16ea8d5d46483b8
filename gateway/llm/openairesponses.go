package llm

import (
	"bytes"

	"github.com/jeton-dev/jeton/gateway/llm/dialect"
)

// OpenAIResponses is POST /v1/responses.
const OpenAIResponses API = 2

var openAIResponses = Format{
	api: OpenAIResponses, name: "openai-responses", path: "/responses", dialect: dialect.OpenAI,
	request: requestPaths{
		model: path{"model"}, stream: path{"stream"}, background: path{"background"},
		max: []path{{"max_output_tokens"}},
	},
	answer: answerPaths{model: path{"model"}, usage: path{"usage"}},
	counts: countPaths{at: [kinds]path{
		input: {"input_tokens"}, output: {"output_tokens"},
		cached: {"input_tokens_details", "cached_tokens"}, cacheWrite: {"input_tokens_details", "cache_write_tokens"},
		reasoning: {"output_tokens_details", "reasoning_tokens"},
	}},
	event: readResponseEvent,
}

var (
	delta   = []byte(".delta")
	summary = []byte("response.reasoning_summary_text.delta") // its text is not what the model has generated
	sound   = []byte("response.audio.delta")                  // it is no text
)

// readResponseEvent reads an event of Responses. The usage is that of the response in the last event: response.completed,
// response.incomplete or response.failed.
func readResponseEvent(data []byte, whole span) (has contents) {
	kind, content, response := fields(data, whole, "type", "delta", "response")
	name := unquoted(data, kind)
	if bytes.HasSuffix(name, delta) && !bytes.Equal(name, summary) && filled(data, content) {
		has.output = true
		if !bytes.Equal(name, sound) {
			has.text = textIn(data, content)
		}
	}
	if response.found() && response.opens(data) == '{' {
		has.model = locate(data, response, path{"model"}).span
		has.usage = locate(data, response, path{"usage"}).span
	}
	return has
}
