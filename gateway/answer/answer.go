// Package answer writes what a gateway tells clients: the limit headers of every answer, and the whole answer to a refused
// request. It follows draft-ietf-httpapi-ratelimit-headers-11, RFC 9651 (structured fields) and RFC 9457 (problem details), and
// two rules of its own: no number invites a client to ask for more than the limit gives, and a client that waits as long as an
// answer says is admitted, unless other clients spend the tokens meanwhile. Start with [New].
package answer

import (
	"fmt"
	"net/http"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/llm/dialect"
)

// A Writer writes answers as one [config.Answer] says. It is safe for concurrent use.
type Writer struct {
	forms    []form // empty: no limit headers
	status   int    // of a denial
	redirect redirect
	body     *body // of a denial; nil for problem+json
	debug    bool
	dialect  dialect.Dialect // in whose words refusals are written; 0 for problem+json
	sharing  *sharing        // which origins may read answers; nil for none
	now      func() time.Time
	policies policies
}

// An Option changes how a Writer is made.
type Option func(*Writer)

// Clock replaces [time.Now] with now. Only X-RateLimit-Reset holds a time of day.
func Clock(now func() time.Time) Option { return func(w *Writer) { w.now = now } }

// Sharing lets pages of other origins read what the Writer writes (CORS), as the configuration says; with nil, none may.
func Sharing(cfg *config.CORS) Option {
	return func(w *Writer) {
		if cfg != nil {
			w.sharing = newSharing(cfg, w.fields())
		}
	}
}

// New makes a Writer. Its errors are *limit.FieldError, whose Field is one of cfg.
func New(cfg config.Answer, options ...Option) (*Writer, error) {
	w := &Writer{status: cfg.StatusCode(), debug: cfg.Debug, now: time.Now}
	if w.status < 400 || w.status > 599 {
		return nil, &limit.FieldError{Field: "status", Problem: fmt.Sprintf("%d is out of range: 400 to 599", cfg.Status)}
	}
	var err error
	if w.forms, err = formsOf(cfg); err != nil {
		return nil, err
	}
	if form := cfg.Dialect(); form != "" {
		if w.dialect, err = dialect.Parse(form); err != nil {
			return nil, err
		}
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

// Tell adds the limit headers to h, in the forms of the configuration. RateLimit-Policy lists all quotas, each name once.
// RateLimit and the older forms show the [Nearest] one. Members of RateLimit and RateLimit-Policy that h already has stay; the
// older forms hold one limit only, so Tell replaces them. Without quotas, h does not change. [Writer.Refuse] calls Tell itself.
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
		case spoken:
			w.speak(h, quotas)
		}
	}
}

// Explains says whether Explain does anything.
func (w *Writer) Explains() bool { return w.debug }

// Explain sets X-Jeton-Decision in h if the configuration has debug set. by says what made the decision, or why there is none.
// Everything but printable ASCII becomes question marks.
func (w *Writer) Explain(h http.Header, by string) {
	if w.debug {
		h.Set("X-Jeton-Decision", visible(by))
	}
}
