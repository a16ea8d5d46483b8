package llm

import (
	"mime"
	"net/http"
	"strings"

	"github.com/jeton-dev/jeton/gateway/llm/sse"
)

// The bounds of a Watch by default.
const (
	defaultMaxEvent = 1 << 20
	defaultMaxBody  = 8 << 20
)

// A Watch says how answers are watched on their way to the client.
type Watch struct {
	// Format is how the answer is written; required.
	Format *Format
	// RemoveUsage takes the usage event of Chat Completions, which [Request.AskForUsage] has added, out of the stream. Then each event
	// is held back until its end has come, or until it is longer than MaxEvent; otherwise no byte ever waits. Other events of the stream keep
	// their "usage":null. A compressed stream keeps its usage event.
	RemoveUsage bool
	// MaxEvent is the most bytes of an event that are kept to read it, 0 for 1 MiB. A longer event is passed on unread.
	MaxEvent int
	// MaxBody is the most bytes that are kept of an answer that is compressed, or of what is read in one that is a JSON document, 0 for 8 MiB.
	// Of a longer one the usage is missing; it is passed on.
	MaxBody int
	// Report is called once, with what was seen, when the body of the answer is closed, by the goroutine that closes it; required.
	Report func(Answer)
}

// RequestIdentity asks the upstream for an answer that is not compressed. Without it, an [http.Transport] or the client asks for gzip.
func RequestIdentity(h http.Header) { h.Set("Accept-Encoding", "identity") }

// Wrap replaces the body of an upstream's answer, such as in ModifyResponse of [net/http/httputil.ReverseProxy]. The body
// must be closed: that reports. One goroutine may read and close it at a time. Wrap leaves alone an answer that switches protocols, and then
// reports nothing.
func (w Watch) Wrap(r *http.Response) {
	if r.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	if w.MaxEvent <= 0 {
		w.MaxEvent = defaultMaxEvent
	}
	if w.MaxBody <= 0 {
		w.MaxBody = defaultMaxBody
	}
	b := body{upstream: r.Body, report: w.Report, answer: Answer{Status: r.StatusCode}}
	plain, o := w.observer(r)
	b.observer = o
	if s, ok := o.(*events); ok && plain && w.RemoveUsage && len(w.Format.request.asked) > 0 {
		r.Header.Del("Content-Length")
		r.ContentLength = -1
		r.Body = &filter{body: b, events: s}
		return
	}
	r.Body = &b
}

// observer chooses how an answer is read; plain says that it is not compressed.
func (w Watch) observer(r *http.Response) (plain bool, o observer) {
	if r.StatusCode < 200 || r.StatusCode > 299 {
		return false, unread{}
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	count := tally{format: w.Format}
	switch {
	case err != nil:
		return false, unread{"its Content-Type is missing or malformed"}
	case kind == "text/event-stream":
		o = &events{tally: count, scanner: sse.NewScanner(w.MaxEvent)}
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		o = newDocument(count, w.MaxBody)
	default:
		return false, unread{"its Content-Type is neither JSON nor a stream of events"}
	}
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ","))); encoding {
	case "", "identity":
		return true, o
	case "gzip", "x-gzip":
		return false, &compressed{inner: o, max: w.MaxBody}
	default:
		return false, unread{"its Content-Encoding cannot be read"}
	}
}
