package llm

import "github.com/jeton-dev/jeton/gateway/llm/dialect"

// OpenAIChat is POST /v1/chat/completions.
const OpenAIChat API = 1

var openAIChat = Format{
	api: OpenAIChat, name: "openai-chat", path: "/chat/completions", dialect: dialect.OpenAI,
	request: requestPaths{
		model: path{"model"}, stream: path{"stream"}, choices: path{"n"},
		max:   []path{{"max_completion_tokens"}, {"max_tokens"}},
		asked: path{"stream_options", "include_usage"},
	},
	answer: answerPaths{model: path{"model"}, usage: path{"usage"}},
	counts: countPaths{at: [kinds]path{
		input: {"prompt_tokens"}, output: {"completion_tokens"},
		cached: {"prompt_tokens_details", "cached_tokens"}, cacheWrite: {"prompt_tokens_details", "cache_write_tokens"},
		reasoning: {"completion_tokens_details", "reasoning_tokens"},
	}},
	event: readChunk,
}

// readChunk reads a chunk of Chat Completions. The usage is in the last chunk, or, from some servers, in each. One that is there because
// [Request.AskForUsage] has asked for it has an empty list of choices.
func readChunk(data []byte, whole span) (has contents) {
	var choices span
	for w := walkInto(data, whole); ; {
		key, value, ok := w.member()
		if !ok {
			break
		}
		switch {
		case sameKey(key, "choices"):
			choices = value
		case sameKey(key, "usage"):
			has.usage = value
		case sameKey(key, "model"):
			has.model = value
		}
	}
	has.usageOnly = choices.found() && !choices.null(data)
	if choices.found() && choices.opens(data) == '[' {
		for w := walkInto(data, choices); ; {
			choice, ok := w.element()
			if !ok {
				break
			}
			has.usageOnly = false
			if choice.opens(data) == '{' {
				output, text := contentOf(data, locate(data, choice, path{"delta"}).span)
				has.output, has.text = has.output || output, has.text+text
			}
		}
	}
	return has
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
