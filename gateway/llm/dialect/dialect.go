// Package dialect tells clients of language models about their limits in the words that their SDKs know: the headers and the error
// bodies of the OpenAI API reference ("Rate limits in headers", "Error codes") and of the Anthropic API reference ("Rate limits",
// "Errors"). Start with [Dialect].
//
// What the SDKs make of an answer, read in openai-go v3 and anthropic-sdk-go v1 (internal/requestconfig): they ask again after 408,
// 409, 429 and every 5xx, twice by default, unless x-should-retry says otherwise. They wait as long as retry-after-ms says, or else retry-after, in seconds or as
// a date; without both they back off by themselves. openai-go gives up at once where the wait is longer than two minutes;
// anthropic-sdk-go waits however long it is. So the answer to a used-up quota says x-should-retry: false.
package dialect

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// A Dialect is whose words are used.
type Dialect uint8

const (
	// OpenAI is for clients of Chat Completions and Responses.
	OpenAI Dialect = iota + 1
	// Anthropic is for clients of Messages.
	Anthropic
)

// Parse is the dialect of that name: openai or anthropic.
func Parse(name string) (Dialect, error) {
	switch name {
	case "openai":
		return OpenAI, nil
	case "anthropic":
		return Anthropic, nil
	default:
		return 0, fmt.Errorf("unknown dialect %q: use openai or anthropic", name)
	}
}

// String is the name of the dialect.
func (d Dialect) String() string {
	switch d {
	case OpenAI:
		return "openai"
	case Anthropic:
		return "anthropic"
	default:
		return fmt.Sprintf("Dialect(%d)", uint8(d))
	}
}

// RequestID is the name of the header in which SDKs look for the id of a request.
func (d Dialect) RequestID() string {
	if d == Anthropic {
		return "Request-Id"
	}
	return "X-Request-Id"
}

// A Kind is what a limit counts.
type Kind uint8

const (
	// Requests are calls.
	Requests Kind = iota
	// Tokens are those of the input and the output.
	Tokens
	// InputTokens are those of the prompt.
	InputTokens
	// OutputTokens are those that are generated.
	OutputTokens

	kinds
)

// A Limit is the state of one limit of a client.
type Limit struct {
	// Kind is what it counts.
	Kind Kind
	// Limit is the most that it admits at once, Remaining is what it would admit now. Below 0 counts as 0.
	Limit, Remaining int64
	// Reset is how long it takes until the limit is full again, if nothing is used meanwhile.
	Reset time.Duration
}

// tighter says whether l leaves less than m.
func (l Limit) tighter(m Limit) bool {
	return l.Remaining < m.Remaining || l.Remaining == m.Remaining && l.Reset > m.Reset
}

// SetHeaders sets the limit headers of an answer. Of several limits of a kind, the one with the least remaining is shown. now is for
// Anthropic, whose headers have the time of the reset; OpenAI's have the wait. OpenAI has no limits of input or of output
// alone: they show as limits of tokens.
func (d Dialect) SetHeaders(h http.Header, limits []Limit, now time.Time) {
	var shown [kinds]*Limit
	for i := range limits {
		l := &limits[i]
		kind := min(l.Kind, kinds-1)
		if d == OpenAI && kind != Requests {
			kind = Tokens
		}
		if shown[kind] == nil || l.tighter(*shown[kind]) {
			shown[kind] = l
		}
	}
	for kind, l := range shown {
		if l != nil {
			d.set(h, Kind(kind), l, now)
		}
	}
}

// Headers are the names of all headers that SetHeaders may set.
func (d Dialect) Headers() (names []string) {
	h := http.Header{}
	for kind := range kinds {
		if d == Anthropic || kind <= Tokens {
			d.set(h, kind, &Limit{}, time.Time{})
		}
	}
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// set sets the three headers of a limit.
func (d Dialect) set(h http.Header, kind Kind, l *Limit, now time.Time) {
	limit, remaining := strconv.FormatInt(max(l.Limit, 0), 10), strconv.FormatInt(max(l.Remaining, 0), 10)
	reset := max(l.Reset, 0)
	switch d {
	case OpenAI:
		name := [...]string{"Requests", "Tokens"}[kind]
		h.Set("X-Ratelimit-Limit-"+name, limit)
		h.Set("X-Ratelimit-Remaining-"+name, remaining)
		h.Set("X-Ratelimit-Reset-"+name, up(reset, time.Millisecond).String())
	case Anthropic:
		name := "Anthropic-Ratelimit-" + [...]string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"}[kind]
		h.Set(name+"-Limit", limit)
		h.Set(name+"-Remaining", remaining)
		h.Set(name+"-Reset", upTo(now.Add(reset)).Format(time.RFC3339))
	}
}

// up is d rounded up to whole units.
func up(d, unit time.Duration) time.Duration {
	if rest := d % unit; rest > 0 && d <= 1<<63-1-unit {
		d += unit - rest
	}
	return d
}

// upTo is t in UTC, rounded up to the second.
func upTo(t time.Time) time.Time {
	whole := t.UTC().Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return whole
}
