// Package llm reads the requests to language models and their answers, so that a gateway can count tokens. It knows four formats: Chat
// Completions and Responses of the OpenAI API reference, Messages of the Anthropic API reference, and one whose fields are named by
// JSON paths. It knows nothing of limits.
//
// The way of one request:
//
//	ReadBody ─ Format.ReadRequest ─ Request.Estimate      how many tokens the request may use
//	                              └ Request.LowerOutput, Request.AskForUsage, Request.Body      what is forwarded
//	RequestIdentity ─ upstream ─ Watch.Wrap      passes the answer to the client, and reads it
//	Answer.Charge ─ Rates.Cost      what the request has used, and what that costs
//
// It promises that an answer reaches the client byte by byte as it comes, except for a usage event that the gateway asked for; that
// memory is bounded however long an answer or an event is; and that all arithmetic is of integers, which saturate and do not overflow.
// Start with [Format] and [Watch].
package llm

import (
	"fmt"
	"strings"
)

// An API is the shape of requests and answers.
type API uint8

const (
	// OpenAIChat is POST /v1/chat/completions.
	OpenAIChat API = iota + 1
	// OpenAIResponses is POST /v1/responses.
	OpenAIResponses
	// AnthropicMessages is POST /v1/messages.
	AnthropicMessages
	// Custom is described by [Paths].
	Custom
)

var apiNames = [...]string{OpenAIChat: "openai-chat", OpenAIResponses: "openai-responses", AnthropicMessages: "anthropic-messages", Custom: "custom"}

// String is the name of the API as a configuration has it.
func (a API) String() string {
	if a == 0 || int(a) >= len(apiNames) {
		return fmt.Sprintf("API(%d)", uint8(a))
	}
	return apiNames[a]
}

// Path is how the paths end at which the API is asked; empty for [Custom].
func (a API) Path() string {
	switch a {
	case OpenAIChat:
		return "/chat/completions"
	case OpenAIResponses:
		return "/responses"
	case AnthropicMessages:
		return "/messages"
	default:
		return ""
	}
}

// APIs are the names of all APIs.
func APIs() []string { return append([]string(nil), apiNames[1:]...) }

// ParseAPI is the API of that name. Its error lists all names.
func ParseAPI(name string) (API, error) {
	for a, n := range apiNames {
		if n == name && name != "" {
			return API(a), nil
		}
	}
	return 0, fmt.Errorf("unknown API %q: use %s", name, strings.Join(apiNames[1:], ", "))
}

// A FieldError says which field of a document is wrong, and how.
type FieldError struct {
	// Field is the path of the field, such as stream_options.include_usage; "body" for the whole document.
	Field string
	// Problem is the rest of the sentence.
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }
