package answer

import (
	"net/http"
	"net/url"

	"google.golang.org/grpc/codes"
)

// Kind is why a request is refused. The zero Kind is Exceeded.
type Kind int

// The kinds of refusals.
const (
	Exceeded          Kind = iota // denied by a limit: 429, or as the configuration says
	Unavailable                   // no decision could be had, and the policy is to deny: 503
	Overloaded                    // more requests are under way than may be: 503
	TooManyConcurrent             // more requests of one client are under way than may be: 429
	Forbidden                     // on the deny list: 403
	Unidentified                  // it is not known who is asking: 401
	BadCredentials                // the token or API key that is shown does not count: 401
	NotFound                      // no route, and so nobody to pass it to: 404
	BadRequest                    // servers might read it differently, or it is malformed: 400
	TooLarge                      // the body is larger than allowed: 413
	BodyTimeout                   // the body came too slowly: 408
	BadGateway                    // the upstream could not be reached, or its answer not be read: 502
	GatewayTimeout                // the upstream took too long: 504
)

// String is the kind in one word, for logs and metrics.
func (k Kind) String() string { return k.traits().word }

// A Refusal is everything that is told to a client whose request does not pass.
type Refusal struct {
	Kind   Kind
	Quotas []Quota // what the limits said, denying or not; none if they were not asked
	ID     string  // of the denial; empty for none
	Route  string  // its name
	Detail string  // one sentence for people; empty for none
	// Challenge is the WWW-Authenticate of a 401, such as "Bearer"; empty for none.
	Challenge string
	// Head says that the request's method is HEAD: the answer has the headers of the body and not the body.
	Head bool
	// Call is the status of gRPC, if it is a call of gRPC that is refused; codes.OK if it is anything else.
	Call codes.Code
}

// RetryAfter is how long the client is asked to wait, in whole seconds, at least 1: the longest wait of the limits that
// deny, rounded up, and not less than any t of theirs in RateLimit. ok is false when no wait helps: a cost is above a
// capacity, or it is not the load or a limit that the request was refused for.
func (r *Refusal) RetryAfter() (seconds int64, ok bool) {
	switch r.Kind {
	case Unavailable, Overloaded, TooManyConcurrent:
		return 1, true
	case Exceeded:
	default:
		return 0, false
	}
	for i := range r.Quotas {
		q := &r.Quotas[i]
		if q.Never {
			return 0, false
		}
		if !q.Allowed {
			seconds = max(seconds, q.wait())
		}
	}
	return seconds, seconds > 0
}

// violated are the names of the limits that deny, each once.
func (r *Refusal) violated() []string {
	names := []string{}
	for i := range r.Quotas {
		if !r.Quotas[i].Allowed && !r.violatedBefore(i) {
			names = append(names, r.Quotas[i].Name)
		}
	}
	return names
}

func (r *Refusal) violatedBefore(i int) bool {
	for k := range r.Quotas[:i] {
		if !r.Quotas[k].Allowed && r.Quotas[k].Name == r.Quotas[i].Name {
			return true
		}
	}
	return false
}

// Status is the status with which the Writer refuses requests for that reason.
func (w *Writer) Status(k Kind) int {
	if k != Exceeded {
		return k.traits().status
	}
	if w.redirect.to != "" {
		return http.StatusSeeOther
	}
	return w.status
}

// Refuse answers with r: the limit headers, Retry-After, the status and the body. A redirect has neither limit headers
// nor Retry-After, which would ask the client to wait before it follows (RFC 9110, section 10.2.3). A call of gRPC is answered
// by a status of gRPC.
func (w *Writer) Refuse(rw http.ResponseWriter, r *Refusal) {
	h := rw.Header()
	for _, ofAnother := range []string{"Content-Encoding", "Etag", "Last-Modified", "Retry-After", "Transfer-Encoding"} {
		h.Del(ofAnother)
	}
	h.Set("Cache-Control", "no-store")
	if r.Call != codes.OK {
		w.refuseCall(rw, r)
		return
	}
	status := w.Status(r.Kind)
	if status == http.StatusSeeOther {
		h.Del("Content-Type")
		h.Set("Location", w.redirect.fill(r))
		write(rw, status, nil, true)
		return
	}
	w.Tell(h, r.Quotas)
	if s, ok := r.RetryAfter(); ok {
		h.Set("Retry-After", decimal(s))
	}
	if status == http.StatusUnauthorized && r.Challenge != "" {
		h.Set("WWW-Authenticate", visible(r.Challenge))
	}
	contentType, text := w.text(r, status)
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	write(rw, status, text, r.Head)
}

// text is the body of r and its type.
func (w *Writer) text(r *Refusal, status int) (contentType string, text []byte) {
	if w.body != nil && r.Kind == Exceeded {
		if text, err := w.body.of(r, status); err == nil {
			return w.body.contentType, text
		}
		// The template could do it with the values that it was tried on, and cannot with these: the problem says it too.
	}
	return "application/problem+json", problemOf(r, status)
}

func write(rw http.ResponseWriter, status int, text []byte, head bool) {
	rw.Header().Set("Content-Length", decimal(int64(len(text))))
	rw.WriteHeader(status)
	if !head {
		_, _ = rw.Write(text) // the client is gone: there is nobody to tell
	}
}

// instance is the URN of the denial, or empty.
func (r *Refusal) instance() string {
	if r.ID == "" {
		return ""
	}
	return "urn:jeton:denial:" + url.PathEscape(r.ID)
}
