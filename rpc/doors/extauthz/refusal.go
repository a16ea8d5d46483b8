package extauthz

import (
	"encoding/json"
	"net/http"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
)

// A refusal is the answer to a request that the door itself does not let pass: the handler cannot be asked about it. It is a denial and
// no error of the call, since a client can cause it.
type refusal struct {
	status int
	detail string // a sentence for the client
}

// Error implements error.
func (r *refusal) Error() string { return r.detail }

// response is the refusal with a problem document (RFC 9457), like those of a gateway.
func (r *refusal) response() *authv3.CheckResponse {
	w := newRecorder()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(r.status)
	if _, err := w.Write(r.problem()); err != nil {
		panic(err) // it is short
	}
	return w.response(nil)
}

// problem is the problem document.
func (r *refusal) problem() []byte {
	text, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(r.status), r.status, r.detail})
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return append(text, '\n')
}
