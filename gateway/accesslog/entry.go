package accesslog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// How many bytes of a text a line has at most. What is cut off in the middle of a character, or is not UTF-8 to begin with, ends in
// U+FFFD.
const (
	maxText = 512
	maxLong = 1024 // of a path with its query, a user agent, an error
)

// maxLimits is how many limits a line has at most.
const maxLimits = 32

// An Entry is one request, as a line has it. Texts may be whatever clients send.
type Entry struct {
	Time      time.Time `json:"time"`
	Outcome   string    `json:"outcome"`
	Status    int       `json:"status,omitempty"` // 0: no answer, as the client has gone
	GRPC      string    `json:"grpc_status,omitempty"`
	Method    string    `json:"method"`
	Host      string    `json:"host,omitempty"`
	Path      string    `json:"path"`
	Route     string    `json:"route,omitempty"`
	Client    string    `json:"client,omitempty"`
	RequestID string    `json:"request_id,omitempty"`
	Denial    string    `json:"denial,omitempty"` // the id by which the gateway remembers it
	APIKey    string    `json:"api_key,omitempty"`
	Limits    []Limit   `json:"limits,omitempty"`
	By        string    `json:"by,omitempty"` // what decided
	Node      string    `json:"node,omitempty"`
	Repeated  int64     `json:"repeated,omitempty"` // how many times the denial before was repeated
	Error     string    `json:"error,omitempty"`    // why the cluster did not decide

	Decision Millis `json:"decision_ms"`           // until it was decided
	Held     Millis `json:"held_ms,omitempty"`     // until its tokens were there
	Upstream Millis `json:"upstream_ms,omitempty"` // until the upstream's answer began
	Duration Millis `json:"duration_ms"`           // until all was answered

	TraceID   string `json:"trace_id,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
}

// A Limit is what one limit has said.
type Limit struct {
	Limit      string `json:"limit"`
	Key        string `json:"key,omitempty"`
	Allowed    bool   `json:"allowed"`
	Remaining  int64  `json:"remaining"`
	RetryAfter Millis `json:"retry_after_ms,omitempty"`
}

// Millis is a duration that is written in milliseconds, to the microsecond.
type Millis time.Duration

// MarshalJSON implements [json.Marshaler].
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(m).Microseconds()) / 1000)
}

// clipped is the beginning of a text.
func clipped(s string, most int) string { return s[:min(len(s), most)] }

// line is the entry as a line of JSON. The line has no other line feed than its last byte, and nothing that steers a terminal, whatever the
// texts have in them.
func (e *Entry) line() []byte {
	short := *e
	for _, s := range []*string{
		&short.Outcome, &short.GRPC, &short.Method, &short.Host, &short.Route, &short.Client, &short.RequestID, &short.Denial, &short.APIKey, &short.By,
		&short.Node, &short.TraceID,
	} {
		*s = clipped(*s, maxText)
	}
	for _, s := range []*string{&short.Path, &short.Error, &short.UserAgent} {
		*s = clipped(*s, maxLong)
	}
	short.Limits = nil
	for _, l := range e.Limits[:min(len(e.Limits), maxLimits)] {
		l.Limit, l.Key = clipped(l.Limit, maxText), clipped(l.Key, maxText)
		short.Limits = append(short.Limits, l)
	}
	b, err := json.Marshal(&short)
	if err != nil { // a time beyond the year 9999
		return nil
	}
	return append(escaped(b), '\n')
}

// escaped is a text of JSON in which what cannot be printed is escaped: the encoder leaves DEL, the control characters from U+0080 on and
// those that change the direction of writing as they are.
func escaped(text []byte) []byte {
	var out []byte // nil as long as nothing was escaped
	done := 0      // what of text is in out
	for at := 0; at < len(text); {
		if text[at] < 0x7f { // the encoder has escaped those below a blank
			at++
			continue
		}
		r, n := utf8.DecodeRune(text[at:])
		if !strconv.IsPrint(r) {
			out = append(out, text[done:at]...)
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			done = at + n
		}
		at += n
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}
