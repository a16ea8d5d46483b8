package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A Problem is an error in the form of RFC 9457, application/problem+json.
type Problem struct { //nolint:errname // RFC 9457 calls it a problem
	Name   string // for programs; the last part of the type
	Title  string // the same for all problems of the type
	Status int    // of HTTP
	Detail string // what is wrong this time
	Field  string // of the request that is wrong; empty for none

	Allow     string // the header Allow: the methods that the path takes; empty for none
	Challenge string // the header WWW-Authenticate; empty for none
}

// MethodNotAllowed is the Problem of a request whose path takes these methods only.
func MethodNotAllowed(detail string, takes ...string) *Problem {
	return &Problem{
		Name: "method-not-allowed", Title: "This path does not support this method", Status: http.StatusMethodNotAllowed,
		Detail: detail, Allow: strings.Join(takes, ", "),
	}
}

// The problems that only HTTP has.
var (
	errTooLarge   = tooLarge(fmt.Sprintf("a body may have up to %d bytes", maxBody))
	errLimitsFile = MethodNotAllowed("this node takes its limits from its limits file: edit the file and send the node SIGHUP; "+
		"it applies the whole file, or none of it if anything is wrong", http.MethodGet, http.MethodHead)
)

// tooLarge is the problem of a body that is too large.
func tooLarge(detail string) *Problem {
	return &Problem{Name: "too-large", Title: "The body is too large", Status: http.StatusRequestEntityTooLarge, Detail: detail}
}

// problemOf is err as the JSON API says it.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	class := pb.Classify(err)
	p := &Problem{Name: class.Name, Title: class.Title, Status: class.HTTP, Detail: err.Error()}
	if fe, ok := errors.AsType[*limit.FieldError](err); ok {
		p.Field = fe.Field
	}
	return p
}

func (p *Problem) Error() string { return p.Detail }

// MarshalJSON writes the members of RFC 9457, and "field".
func (p *Problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Field  string `json:"field,omitempty"`
	}{"urn:jeton:problem:" + p.Name, p.Title, p.Status, p.Detail, p.Field})
}

func (p *Problem) reply() reply {
	header := http.Header{"Content-Type": {"application/problem+json"}}
	if p.Allow != "" {
		header.Set("Allow", p.Allow)
	}
	if p.Challenge != "" {
		header.Set("WWW-Authenticate", p.Challenge)
	}
	return reply{status: p.Status, body: p, header: header}
}

// ProblemOf is err as the JSON API says it: a [*Problem] as it is, and any other error as the problem of its class.
func ProblemOf(err error) *Problem { return problemOf(err) }

// WriteProblem answers with err as the JSON API does: a [*Problem] as it is, and any other error as the problem of its class.
func WriteProblem(w http.ResponseWriter, err error) { problemOf(err).reply().write(w) }

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, status int, v any) { reply{status: status, body: v}.write(w) }

// A reply is an answer of the JSON API.
type reply struct {
	status int
	header http.Header // besides what every reply has
	body   any         // written as JSON, unless it is encoded already; nil for none
}

// encoded is JSON.
type encoded []byte

func encode(v any) (encoded, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return text.Bytes(), err
}

func (o reply) write(w http.ResponseWriter) {
	text, is := o.body.(encoded)
	if o.body != nil {
		if !is {
			var err error
			if text, err = encode(o.body); err != nil {
				problemOf(err).reply().write(w)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
	}
	maps.Copy(w.Header(), o.header)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(o.status)
	_, _ = w.Write(text) // an error means that the client has left
}
