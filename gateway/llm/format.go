package llm

import "github.com/jeton-dev/jeton/gateway/llm/dialect"

// A Format is how one API writes requests and answers. It never changes, and is safe for concurrent use.
type Format struct {
	api     API
	name    string          // as a configuration has it
	path    string          // how the paths end at which the API is asked; empty if that is not known
	dialect dialect.Dialect // in which its clients are told about their limits; 0 if they know none

	request  requestPaths
	answer   answerPaths
	counts   countPaths
	event    func(data []byte, whole span) contents // reads an event of a stream: the object that its data is
	anything bool                                   // every event with data brings output that has no usage and is not [DONE]
}

// requestPaths are where a request has what is read of it.
type requestPaths struct {
	model, stream, choices path
	background             path   // whether the answer is made after the response; empty if that is no choice
	max                    []path // the first one, which all models take, is written where the request has none
	asked                  path   // whether a stream ends with its usage; empty if that is no choice
}

// answerPaths are where an answer that is one JSON object has what is read of it. Without them it has no model, and is itself the usage object.
type answerPaths struct{ model, usage path }

// countPaths are where a usage object has its counts.
type countPaths struct {
	at    [kinds]path
	apart bool // the input does not include what was read from and written to the cache
}

// API is the API that the format is of.
func (f *Format) API() API { return f.api }

// Path is how the paths end at which the API is asked; empty for [Custom].
func (f *Format) Path() string { return f.path }

// The counts of a usage object.
const (
	input = iota
	output
	total
	cached
	cacheWrite
	reasoning

	kinds
)
