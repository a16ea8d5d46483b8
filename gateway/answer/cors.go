package answer

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
)

// The fields by which browsers are told what pages of other origins may do (https://fetch.spec.whatwg.org/#http-cors-protocol).
const (
	allowOrigin      = "Access-Control-Allow-Origin"
	allowCredentials = "Access-Control-Allow-Credentials"
	allowMethods     = "Access-Control-Allow-Methods"
	allowHeaders     = "Access-Control-Allow-Headers"
	exposeHeaders    = "Access-Control-Expose-Headers"
	maxAge           = "Access-Control-Max-Age"
	requestMethod    = "Access-Control-Request-Method"
	requestHeaders   = "Access-Control-Request-Headers"
)

// sharing is which pages of other origins may read answers; nil is none.
type sharing struct {
	any         bool            // every origin
	origins     map[string]bool // these
	below       []originsBelow  // and those of every name below these
	credentials bool
	methods     string // empty for what is asked for
	headers     string // empty for what is asked for
	maxAge      string // seconds
	exposed     string // what the Writer may set
}

// originsBelow are those of a scheme and of all names below one: https:// and .example.com.
type originsBelow struct{ scheme, name string }

// Sharing lets pages of other origins read what the Writer writes, as the configuration says; nil lets none.
func Sharing(cfg *config.CORS) Option {
	return func(w *Writer) {
		if cfg == nil {
			return
		}
		s := &sharing{
			origins: make(map[string]bool, len(cfg.Origins)), credentials: cfg.Credentials, methods: strings.Join(cfg.Methods, ", "),
			headers: strings.Join(cfg.Headers, ", "), maxAge: decimal(int64(cfg.Remembered() / time.Second)),
		}
		for _, origin := range cfg.Origins {
			scheme, name, below := strings.Cut(origin, "*")
			switch {
			case origin == "*":
				s.any = true
			case below:
				s.below = append(s.below, originsBelow{scheme, name})
			default:
				s.origins[origin] = true
			}
		}
		s.exposed = strings.Join(w.fields(), ", ")
		w.sharing = s
	}
}

// fields are the names of those that the Writer may set and a page may want to read.
func (w *Writer) fields() []string {
	var names []string
	for _, f := range w.forms {
		names = append(names, f.fields()...)
	}
	names = append(names, "Retry-After", "WWW-Authenticate")
	if w.debug {
		names = append(names, "X-Jeton-Decision")
	}
	return names
}

// allows says whether pages of an origin may read answers.
func (s *sharing) allows(origin string) bool {
	if s.any || s.origins[origin] {
		return origin != ""
	}
	for _, b := range s.below {
		rest, scheme := strings.CutPrefix(origin, b.scheme)
		if name, below := strings.CutSuffix(rest, b.name); scheme && below && name != "" && !strings.ContainsFunc(name, notOfHost) {
			return true
		}
	}
	return false
}

// notOfHost says whether a character stands in no name of a host as browsers send it.
func notOfHost(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
}

// Shares says whether pages of other origins may read any answers.
func (w *Writer) Shares() bool { return w.sharing != nil }

// Share puts into h what lets a page of that origin read an answer of the gateway's own. Origin is empty for a request that does
// not come from a page of another origin. Without sharing h stays as it is.
func (w *Writer) Share(h http.Header, origin string) {
	s := w.sharing
	if s == nil {
		return
	}
	if !s.any {
		h.Add("Vary", "Origin") // last, where Unshare finds it
	}
	if s.allows(origin) {
		s.allow(h, origin)
		h.Set(exposeHeaders, s.exposed)
	}
}

func (s *sharing) allow(h http.Header, origin string) {
	if s.any {
		origin = "*"
	}
	h.Set(allowOrigin, origin)
	if s.credentials {
		h.Set(allowCredentials, "true")
	}
}

// Unshare takes out of h what Share has put there: somebody else answers, and says who may read it.
func (w *Writer) Unshare(h http.Header) {
	s := w.sharing
	if s == nil {
		return
	}
	h.Del(allowOrigin)
	h.Del(allowCredentials)
	h.Del(exposeHeaders)
	if vary := h["Vary"]; !s.any && len(vary) > 0 && vary[len(vary)-1] == "Origin" {
		if h["Vary"] = vary[:len(vary)-1]; len(vary) == 1 {
			h.Del("Vary")
		}
	}
}

// Expose lets pages read the limits that are told in h, beside the answer of somebody else, who says whose pages may read that.
func (w *Writer) Expose(h http.Header) {
	if w.sharing == nil {
		return
	}
	names := slices.DeleteFunc(w.fields(), func(name string) bool { return h.Get(name) == "" })
	if len(names) > 0 {
		h.Add(exposeHeaders, strings.Join(names, ", "))
	}
}

// IsPreflight says whether a browser asks, before a request of a page of another origin, whether that may be sent.
func IsPreflight(method string, h http.Header) bool {
	return method == http.MethodOptions && h.Get("Origin") != "" && h.Get(requestMethod) != ""
}

// Preflighted is the method of the request that a preflight is about.
func Preflighted(h http.Header) string { return h.Get(requestMethod) }

// Preflight answers a preflight with this header: 204, and what the page may send, if it may send anything. What Share has put
// there is taken out.
func (w *Writer) Preflight(rw http.ResponseWriter, from http.Header) {
	h := rw.Header()
	w.Unshare(h)
	h.Add("Vary", "Origin, "+requestMethod+", "+requestHeaders)
	if s, origin := w.sharing, from.Get("Origin"); s != nil && s.allows(origin) {
		s.allow(h, origin)
		set := func(name, value, asked string) {
			if value == "" {
				value = visible(asked)
			}
			if value != "" {
				h.Set(name, value)
			}
		}
		set(allowMethods, s.methods, from.Get(requestMethod))
		set(allowHeaders, s.headers, strings.Join(from.Values(requestHeaders), ", "))
		h.Set(maxAge, s.maxAge)
	}
	rw.WriteHeader(http.StatusNoContent)
}
