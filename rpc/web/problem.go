package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A problem is an error of the JSON API in the form of RFC 9457, application/problem+json.
type problem struct {
	Name   string // for programs; the last part of the type
	Title  string // the same for all problems of the type
	Status int    // of HTTP
	Detail string // what is wrong this time
	Field  string // of the request that is wrong; empty when none is
	allow  string // the methods that the path takes, when the problem is the method

	challenge string // what the header WWW-Authenticate says, when the problem is who asks
}

// The problems that only HTTP has.
var (
	errTooLarge = &problem{
		Name: "too-large", Title: "The body is too large", Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("a body may have up to %d bytes", maxBody),
	}
	errLimitsFile = &problem{
		Name: "method-not-allowed", Title: "This path does not support this method", Status: http.StatusMethodNotAllowed,
		Detail: "this node takes its limits from its limits file: edit the file and send the node SIGHUP; " +
			"it applies the whole file, or none of it if anything is wrong",
		allow: "GET, HEAD",
	}
)

// notFound is the problem of a request whose path a door does not have.
func notFound(at access.Door) *problem {
	return &problem{
		Name: "not-found", Title: "No route matches this path", Status: http.StatusNotFound,
		Detail: "use " + access.Calls(at, apiPrefix) + "; GET / lists all paths",
	}
}

// problemOf is err as the JSON API says it.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	class := pb.Classify(err)
	p := &problem{Name: class.Name, Title: class.Title, Status: class.HTTP, Detail: err.Error()}
	if fe, ok := errors.AsType[*limit.FieldError](err); ok {
		p.Field = fe.Field
	}
	return p
}

func (p *problem) Error() string { return p.Detail }

// MarshalJSON writes the members of RFC 9457, and "field".
func (p *problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Field  string `json:"field,omitempty"`
	}{"urn:jeton:problem:" + p.Name, p.Title, p.Status, p.Detail, p.Field})
}

func (p *problem) reply() reply {
	header := http.Header{"Content-Type": {"application/problem+json"}}
	if p.allow != "" {
		header.Set("Allow", p.allow)
	}
	if p.challenge != "" {
		header.Set("WWW-Authenticate", p.challenge)
	}
	return reply{status: p.Status, body: p, header: header}
}

// WriteProblem answers with err as the JSON API does.
func WriteProblem(w http.ResponseWriter, err error) { problemOf(err).reply().write(w) }

// A reply is an answer of the JSON API.
type reply struct {
	status int
	header http.Header // besides what every reply has
	body   any         // written as JSON; nil for none
}

func (o reply) write(w http.ResponseWriter) {
	var text bytes.Buffer
	if o.body != nil {
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(o.body); err != nil {
			problemOf(err).reply().write(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
	}
	maps.Copy(w.Header(), o.header)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(o.status)
	_, _ = w.Write(text.Bytes()) // the caller is gone: there is nobody to tell
}
