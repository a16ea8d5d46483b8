package answer

import (
	"net/http"

	"google.golang.org/grpc/codes"
)

// Status is the HTTP status with which the Writer refuses requests for that reason.
func (w *Writer) Status(k Kind) int {
	if k != Exceeded || w.dialect != 0 {
		return k.traits().status
	}
	if w.redirect.to != "" {
		return http.StatusSeeOther
	}
	return w.status
}

// Refuse answers with r: the limit headers, Retry-After, the status and the body. A redirect has neither limit headers
// nor Retry-After, which would ask the client to wait before it follows (RFC 9110, section 10.2.3). A gRPC call is answered with
// a gRPC status.
func (w *Writer) Refuse(rw http.ResponseWriter, r *Refusal) {
	h := rw.Header()
	for _, stale := range []string{"Content-Encoding", "Etag", "Last-Modified", "Retry-After", "Transfer-Encoding"} {
		h.Del(stale) // describes another answer
	}
	h.Set("Cache-Control", "no-store")
	if r.Call != codes.OK {
		w.refuseCall(rw, r)
		return
	}
	if w.dialect != 0 {
		w.refuseSpoken(rw, r)
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

// refuseCall answers a gRPC call with a gRPC status in a header without a body (a Trailers-Only response). The status, body and
// redirect of the configuration are for other clients.
func (w *Writer) refuseCall(rw http.ResponseWriter, r *Refusal) {
	h := rw.Header()
	h.Del("Trailer")
	w.Tell(h, r.Quotas)
	r.Pushback(h)
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", decimal(int64(r.Call)))
	h.Set("Grpc-Message", percentEncoded(r.Message()))
	r.setDetails(h)
	rw.WriteHeader(http.StatusOK)
}

// refuseSpoken answers in the dialect.
func (w *Writer) refuseSpoken(rw http.ResponseWriter, r *Refusal) {
	status, spoken := w.Status(r.Kind), r.spoken()
	h := rw.Header()
	w.Tell(h, r.Quotas)
	if r.Challenge != "" && status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", visible(r.Challenge))
	}
	w.dialect.SetRefusal(h, &spoken)
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	write(rw, status, w.dialect.Body(&spoken), r.Head)
}

// text is the body of r and its content type.
func (w *Writer) text(r *Refusal, status int) (contentType string, text []byte) {
	if w.body != nil && r.Kind == Exceeded {
		if text, err := w.body.render(r, status); err == nil {
			return w.body.contentType, text
		}
		// newBody executed the template with other values; it fails with these. problem+json says the same.
	}
	return "application/problem+json", problemOf(r, status)
}

func write(rw http.ResponseWriter, status int, text []byte, head bool) {
	rw.Header().Set("Content-Length", decimal(int64(len(text))))
	rw.WriteHeader(status)
	if !head {
		_, _ = rw.Write(text) // it fails only if the client is gone
	}
}
