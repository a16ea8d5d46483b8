package answer

import (
	"encoding/json"
)

// problem is a problem document (RFC 9457).
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"` // the same for all problems of a type
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Instance string   `json:"instance,omitempty"`
	Violated []string `json:"violated-policies,omitzero"` // names of limits; there when the type defines it
}

// problemOf is the problem document of r, which is answered with that status.
func problemOf(r *Refusal, status int) []byte {
	t := r.Kind.traits()
	p := problem{Type: t.problem, Title: t.title, Status: status, Detail: r.Detail, Instance: r.instance()}
	if t.limits {
		p.Violated = r.violated()
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return append(text, '\n')
}
