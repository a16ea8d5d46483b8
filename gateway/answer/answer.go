// Package answer writes what clients are told: the limit headers of every answer, and the whole answer of a refusal. It
// keeps the rules of draft-ietf-httpapi-ratelimit-headers-11, RFC 9651 (structured fields) and RFC 9457 (problems), and
// two of its own: no number that it tells invites a client to more than the limit gives, and whoever waits as long as it
// says is admitted, if nobody else spends meanwhile. Start with [New].
package answer

import (
	"fmt"
	"net/http"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// A Writer writes answers as one part of the configuration says. It is safe for concurrent use.
type Writer struct {
	forms    []form // none: no limit headers
	status   int    // of a denial
	redirect redirect
	body     *body // nil: a problem
	debug    bool
	sharing  *sharing // with pages of other origins; nil for none
	now      func() time.Time
	policies policies
}

// An Option changes how a Writer is made.
type Option func(*Writer)

// Clock makes the Writer take the time from now instead of [time.Now]. Only X-RateLimit-Reset has a time of day in it.
func Clock(now func() time.Time) Option { return func(w *Writer) { w.now = now } }

// New makes a Writer. Its errors are *limit.FieldError with the names of the fields of cfg.
func New(cfg config.Answer, options ...Option) (*Writer, error) {
	w := &Writer{status: cfg.StatusCode(), debug: cfg.Debug, now: time.Now}
	if w.status < 400 || w.status > 599 {
		return nil, &limit.FieldError{Field: "status", Problem: fmt.Sprintf("%d is out of range: 400 to 599", cfg.Status)}
	}
	var err error
	if w.forms, err = formsOf(cfg); err != nil {
		return nil, err
	}
	if w.redirect, err = newRedirect(cfg.Redirect); err != nil {
		return nil, err
	}
	if w.body, err = newBody(cfg); err != nil {
		return nil, err
	}
	for _, o := range options {
		o(w)
	}
	return w, nil
}

// Tell puts the limit headers of every answer into h, in the forms of the configuration. All quotas stand in
// RateLimit-Policy, a name once; the one that is nearest to exhaustion stands in RateLimit and in the older forms: one
// that denies before one that does not, of those that deny the one with the longest wait, else the one with the fewest
// tokens. Members of RateLimit and RateLimit-Policy that are in h are kept; the older forms have room for one limit only,
// so theirs are replaced. Without quotas h stays as it is. [Writer.Refuse] does all of this itself.
func (w *Writer) Tell(h http.Header, quotas []Quota) {
	if len(quotas) == 0 {
		return
	}
	for _, f := range w.forms {
		switch f {
		case current:
			w.tellCurrent(h, quotas)
		case threeFields:
			w.tellThree(h, quotas)
		case xFields:
			w.tellX(h, quotas)
		}
	}
}

// Explains says whether Explain does anything.
func (w *Writer) Explains() bool { return w.debug }

// Explain puts X-Jeton-Decision into h, if the configuration asks for it: by says who decided, or why nobody did. What
// does not belong in a header is left out of it.
func (w *Writer) Explain(h http.Header, by string) {
	if w.debug {
		h.Set("X-Jeton-Decision", visible(by))
	}
}

// visible is s without what does not belong in a header: everything but printable ASCII becomes a question mark.
func visible(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}
