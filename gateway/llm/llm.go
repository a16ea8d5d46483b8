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

// An API is the shape of requests and answers.
type API uint8

// A FieldError says which field of a document is wrong, and how.
type FieldError struct {
	// Field is the path of the field, such as stream_options.include_usage; "body" for the whole document.
	Field string
	// Problem is the rest of the sentence.
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }
