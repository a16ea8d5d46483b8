package answer

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// form is one set of limit headers.
type form int

const (
	current     form = iota // draft-ietf-httpapi-ratelimit-headers-11
	threeFields             // draft-ietf-httpapi-ratelimit-headers-03
	xFields                 // X-RateLimit-…, as GitHub sends them
	spoken                  // in the dialect of an API of language models
)

// formsOf parses the names of forms in a configuration.
func formsOf(cfg config.Answer) ([]form, error) {
	var forms []form
	for i, name := range cfg.Forms() {
		wrong := &limit.FieldError{Field: fmt.Sprintf("headers[%d]", i)}
		var f form
		switch name {
		case config.FormRateLimit:
			f = current
		case config.FormRateLimit03:
			f = threeFields
		case config.FormXRateLimit:
			f = xFields
		case config.FormOpenAI, config.FormAnthropic:
			f = spoken
		default:
			wrong.Problem = fmt.Sprintf("%.64q is not known: use %s, or %s alone", name, strings.Join(config.HeaderForms(), ", "), config.FormNone)
			return nil, wrong
		}
		if slices.Contains(forms, f) {
			wrong.Problem = name + " is a duplicate: leave one of them out"
			return nil, wrong
		}
		forms = append(forms, f)
	}
	return forms, nil
}

// fields are the names of the form's headers.
func (f form) fields() []string {
	switch f {
	case threeFields:
		return []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
	case xFields:
		return []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
	default:
		return []string{"RateLimit", "RateLimit-Policy"}
	}
}

// fields are the names of the headers that the Writer may set and a page may want to read.
func (w *Writer) fields() []string {
	var names []string
	for _, f := range w.forms {
		if f == spoken {
			names = append(append(names, w.dialect.Headers()...), w.dialect.RequestID(), "Retry-After-Ms", "X-Should-Retry", "X-Jeton-Exchange")
			continue
		}
		names = append(names, f.fields()...)
	}
	names = append(names, "Retry-After", "WWW-Authenticate")
	if w.debug {
		names = append(names, "X-Jeton-Decision")
	}
	return names
}

// The names of the headers in the canonical form of http.Header.
const (
	policyField = "Ratelimit-Policy"
	limitField  = "Ratelimit"
)

// tellCurrent writes, for example,
//
//	RateLimit-Policy: "login";q=10;w=10, "daily";q=1000;w=86400
//	RateLimit: "login";r=3;t=3
func (w *Writer) tellCurrent(h http.Header, quotas []Quota) {
	values := make([]string, 2) // one allocation for both
	values[0] = w.policyList(quotas)
	values[1] = w.serviceLimit(Nearest(quotas))
	add(h, policyField, values[0:1:1])
	add(h, limitField, values[1:2:2])
}

// add appends values to those that h already has.
func add(h http.Header, name string, values []string) {
	if already := h[name]; len(already) > 0 {
		values = append(already, values...)
	}
	h[name] = values
}

func (w *Writer) policyList(quotas []Quota) string {
	if len(quotas) == 1 {
		return w.policies.of(&quotas[0]).item
	}
	var room [256]byte
	list := room[:0]
	for i := range quotas {
		if isRepeated(quotas, i) {
			continue
		}
		if i > 0 {
			list = append(list, ", "...)
		}
		list = append(list, w.policies.of(&quotas[i]).item...)
	}
	return string(list)
}

// isRepeated reports whether a quota before i is of the same limit: two checks may ask one limit with two keys.
func isRepeated(quotas []Quota, i int) bool {
	for k := range quotas[:i] {
		if quotas[k].Name == quotas[i].Name {
			return true
		}
	}
	return false
}

func (w *Writer) serviceLimit(q *Quota) string {
	var room [128]byte
	item := append(room[:0], w.policies.of(q).name...)
	item = strconv.AppendInt(append(item, ";r="...), integer(q.Remaining), 10)
	if t, ok := q.window(); ok {
		item = strconv.AppendInt(append(item, ";t="...), t, 10)
	}
	return string(item)
}

// tellThree writes, for example,
//
//	RateLimit-Limit: 10
//	RateLimit-Remaining: 3
//	RateLimit-Reset: 3
//
// where Reset is a number of seconds.
func (w *Writer) tellThree(h http.Header, quotas []Quota) {
	q := Nearest(quotas)
	h.Set("RateLimit-Limit", decimal(integer(q.Limit)))
	h.Set("RateLimit-Remaining", decimal(integer(q.Remaining)))
	h.Set("RateLimit-Reset", decimal(q.reset()))
}

// tellX writes the same as X-RateLimit-…, where Reset is a time of day: seconds since the Unix epoch, rounded up.
func (w *Writer) tellX(h http.Header, quotas []Quota) {
	q := Nearest(quotas)
	h.Set("X-RateLimit-Limit", decimal(integer(q.Limit)))
	h.Set("X-RateLimit-Remaining", decimal(integer(q.Remaining)))
	h.Set("X-RateLimit-Reset", decimal(seconds(time.Duration(w.now().UnixNano()))+q.reset()))
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// visible replaces everything in s but printable ASCII with question marks, so that it can stand in a header.
func visible(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}
