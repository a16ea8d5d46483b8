package answer

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
)

// The headers of CORS (https://fetch.spec.whatwg.org/#http-cors-protocol).
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

// sharing says pages of which origins may read answers; nil means none.
type sharing struct {
	any         bool            // every origin
	origins     map[string]bool // exact origins
	below       []originsBelow  // wildcards, such as https://*.example.com
	credentials bool
	methods     string // allowed; empty: those that the preflight asks for
	headers     string // allowed; empty: those that the preflight asks for
	maxAge      string // seconds
	exposed     string // the headers that the Writer may set
}

// originsBelow are the origins with a scheme and any subdomain of a name, such as https:// and .example.com.
type originsBelow struct{ scheme, name string }

// newSharing compiles a configuration. exposed are the names of the headers that pages may read.
func newSharing(cfg *config.CORS, exposed []string) *sharing {
	s := &sharing{
		origins: make(map[string]bool, len(cfg.Origins)), credentials: cfg.Credentials, methods: strings.Join(cfg.Methods, ", "),
		headers: strings.Join(cfg.Headers, ", "), maxAge: decimal(int64(cfg.Remembered() / time.Second)), exposed: strings.Join(exposed, ", "),
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
	return s
}

// allows reports whether pages of an origin may read answers.
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

// notOfHost reports whether browsers never send this character in a host name.
func notOfHost(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
}

// Shares reports whether pages of any other origins may read answers.
func (w *Writer) Shares() bool { return w.sharing != nil }

// Share sets the headers in h that let a page of that origin read an answer of the gateway itself. Origin is empty for a request
// that does not come from a page of another origin. Without sharing, h does not change.
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

// Unshare removes from h what Share has set: the upstream answers, and says itself which origins may read its answer.
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

// Expose lets pages read the limit headers in h when the upstream answers, which says itself pages of which origins may read it.
func (w *Writer) Expose(h http.Header) {
	if w.sharing == nil {
		return
	}
	names := slices.DeleteFunc(w.fields(), func(name string) bool { return h.Get(name) == "" })
	if len(names) > 0 {
		h.Add(exposeHeaders, strings.Join(names, ", "))
	}
}

// IsPreflight reports whether this is a CORS preflight: a browser asks whether a page of another origin may send a request.
func IsPreflight(method string, h http.Header) bool {
	return method == http.MethodOptions && h.Get("Origin") != "" && h.Get(requestMethod) != ""
}

// Preflighted is the method of the request that a preflight asks about.
func Preflighted(h http.Header) string { return h.Get(requestMethod) }

// Preflight answers the preflight whose header is from: 204 and, if the origin is allowed, which methods and headers the page
// may send. It removes what Share has set.
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
