package answer

import (
	"fmt"
	"net/http"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// Shown is the status and the headers that a gateway answers with to a request whose check about a key was decided so, as long as its
// document says nothing else. The document has the limits, and may be nil. A request that is admitted is answered by what is behind the
// gateway: its status stands as 200.
func Shown(d limit.Decision, doc *limit.Document, key string) (status int, header http.Header, err error) {
	w, err := New(config.Answer{})
	if err != nil {
		return 0, nil, fmt.Errorf("the answer of a gateway without settings: %w", err)
	}
	quotas := make([]Quota, len(d.Limits))
	for i, o := range d.Limits {
		quotas[i].Outcome = o
		if doc != nil {
			quotas[i].Rule = doc.DecidedBy(&o, key)
		}
	}
	out := headerOnly{status: http.StatusOK, header: http.Header{}}
	if d.Allowed {
		w.Tell(out.header, quotas)
	} else {
		w.Refuse(&out, &Refusal{Kind: Exceeded, Quotas: quotas})
	}
	return out.status, out.header, nil
}

// A headerOnly keeps the status and the header of an answer.
type headerOnly struct {
	status int
	header http.Header
}

// Header implements [http.ResponseWriter].
func (h *headerOnly) Header() http.Header { return h.header }

// WriteHeader implements [http.ResponseWriter].
func (h *headerOnly) WriteHeader(status int) { h.status = status }

// Write implements [http.ResponseWriter].
func (h *headerOnly) Write(b []byte) (int, error) { return len(b), nil }
