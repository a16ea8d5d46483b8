package llm

import "github.com/jeton-dev/jeton/gateway/llm/dialect"

// AnthropicMessages is POST /v1/messages.
const AnthropicMessages API = 3

var anthropicMessages = Format{
	api: AnthropicMessages, name: "anthropic-messages", path: "/messages", dialect: dialect.Anthropic,
	request: requestPaths{model: path{"model"}, stream: path{"stream"}, max: []path{{"max_tokens"}}},
	answer:  answerPaths{model: path{"model"}, usage: path{"usage"}},
	counts: countPaths{apart: true, at: [kinds]path{
		input: {"input_tokens"}, output: {"output_tokens"},
		cached: {"cache_read_input_tokens"}, cacheWrite: {"cache_creation_input_tokens"},
		reasoning: {"output_tokens_details", "thinking_tokens"},
	}},
	event: readMessageEvent,
}

// readMessageEvent reads an event of Messages. message_start has the input, and the first tokens of the output; each message_delta has the
// numbers up to then.
func readMessageEvent(data []byte, whole span) (has contents) {
	kind, change, message := fields(data, whole, "type", "delta", "message")
	switch string(unquoted(data, kind)) {
	case "message_start":
		if message.found() && message.opens(data) == '{' {
			has.model = locate(data, message, path{"model"}).span
			has.usage, has.partial = locate(data, message, path{"usage"}).span, true
		}
	case "message_delta":
		has.usage = locate(data, whole, path{"usage"}).span
	case "content_block_delta":
		if !change.found() || change.opens(data) != '{' {
			return has
		}
		text, arguments, thinking := fields(data, change, "text", "partial_json", "thinking")
		has.output = filled(data, text) || filled(data, arguments) || filled(data, thinking)
		has.text = textIn(data, text) + textIn(data, arguments) + textIn(data, thinking)
	}
	return has
}
