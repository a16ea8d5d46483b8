package llm

import "fmt"

// An Answer is what a [Watch] has seen of an answer when it ended.
type Answer struct {
	// Status is the HTTP status of the upstream.
	Status int
	// Model is the model that the answer says it is of, which may be another one than the request asks for; empty if it does not say, or in a name
	// of more than 256 bytes. It is empty for a [Custom] API.
	Model string
	// Usage is what the answer says that it used. It counts only if Found.
	Usage Usage
	// Found says whether the answer has a usage at all. A usage that is not there is missing, and is not 0.
	Found bool
	// Partial says that Usage is of the start of the answer: its input is right, its output is not known yet. An Anthropic
	// stream starts so.
	Partial bool
	// Seen is how many events brought output; each has at least one token. It is 0 for an answer that is no stream.
	Seen int64
	// Text is how many bytes of text these events brought, in UTF-8: of answers, of reasoning that the model shows, and of the arguments of tools.
	Text int64
	// Complete says whether the answer was read up to its end. It is false if the upstream broke off or the client left.
	Complete bool
	// Missing is why the usage was not looked for, such as an encoding that cannot be read; empty otherwise.
	Missing string
}

// Unknown says why an answer is charged [ByEstimate].
func (a *Answer) Unknown() string {
	switch {
	case a.Missing != "":
		return a.Missing
	case !a.Complete:
		return "it broke off, or its client left, before its usage"
	}
	return "it has no usage to be read"
}

// Understated says that the usage is a lie: it has less output than there were events with output.
func (a *Answer) Understated() bool { return a.Found && !a.Partial && a.Usage.Output < a.Seen }

// A Basis says what a [Charge] goes by.
type Basis uint8

const (
	// ByNothing is for an answer whose status is not 200 to 299: it costs nothing.
	ByNothing Basis = iota
	// ByUsage is for an answer that has a usage.
	ByUsage
	// ByEvents is for a stream without a usage, or with that of its start only: its input, and a quarter of the bytes of its text, or one token
	// for each event with output where that is more.
	ByEvents
	// ByEstimate is for an answer of which nothing is known.
	ByEstimate
)

var bases = [...]string{ByNothing: "none", ByUsage: "usage", ByEvents: "events", ByEstimate: "estimate"}

// String is a word for metrics and logs: none, usage, events or estimate.
func (b Basis) String() string {
	if int(b) >= len(bases) {
		return fmt.Sprintf("Basis(%d)", uint8(b))
	}
	return bases[b]
}

// A Charge is what a request is charged.
type Charge struct {
	// Usage is what it has used. [Rates.Cost] makes a cost of it.
	Usage Usage
	// Basis is how Usage is known.
	Basis Basis
}

// Charge decides what to charge for the answer to a request of that estimate, see [Request.Estimate]. It goes by the best that is
// known: the usage, even one that is Understated; or else the events that brought output; or else the estimate. An answer that broke off is
// charged in the same way, by what was seen of it.
func (a *Answer) Charge(estimate Usage) Charge {
	switch {
	case a.Status < 200 || a.Status > 299:
		return Charge{Basis: ByNothing}
	case a.Found && !a.Partial:
		return Charge{a.Usage, ByUsage}
	case a.Found && (a.Seen > 0 || a.Usage.Output > 0):
		started := a.Usage
		started.Output = max(started.Output, a.streamed(estimate.Output))
		return Charge{started, ByEvents}
	case a.Seen > 0:
		return Charge{Usage{Input: estimate.Input, Output: a.streamed(estimate.Output)}, ByEvents}
	default:
		return Charge{estimate, ByEstimate}
	}
}

// streamed is how many tokens of output a stream had, as far as its events tell. An event has one token at least, which is certain, and from some
// servers many. How many is told by their text, as it is of a prompt: at most the estimate, since a model does not go beyond its maximum.
func (a *Answer) streamed(estimate int64) int64 {
	return max(a.Seen, min(tokensOf(a.Text), estimate))
}
