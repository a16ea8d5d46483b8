package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// LowerOutput lowers the maximum of output to granted tokens for each choice, where the request names a greater one or none: in the fields that
// the client has sent, or else in the one that the API takes for all models, which is max_completion_tokens of Chat Completions. It shows in
// [Request.Body]. A later call replaces an earlier one. Its errors are *FieldError: granted is less than 1, the API has no
// such field, or it has no place in the body because what should be an object around it is none.
func (r *Request) LowerOutput(granted int64) error {
	r.lowered = nil
	fields := r.format.request.max
	if len(fields) == 0 {
		return &FieldError{"max_output", "this API has no field for it"}
	}
	if granted < 1 {
		return &FieldError{fields[0].String(), fmt.Sprintf("cannot be lowered to %d: the least is 1", granted)}
	}
	digits := strconv.FormatInt(granted, 10)
	if !r.Limited {
		e, err := r.set(fields[0], digits)
		if err != nil {
			return err
		}
		r.lowered = []edit{e}
		return nil
	}
	for _, p := range fields {
		s := r.find(p)
		if !s.found() {
			continue
		}
		if n, _ := s.number(r.body); n > granted {
			r.lowered = append(r.lowered, edit{s.start, s.end, digits})
		}
	}
	return nil
}

// AskForUsage makes a Chat Completions stream end with its usage (stream_options.include_usage), and says whether it had to: whether
// the client has not asked for it, so that the event should be taken out again, see [Watch]. It does nothing and returns false for
// other APIs, and for a request that asks for no stream. It shows in [Request.Body].
func (r *Request) AskForUsage() (added bool) {
	if r.UsageAsked || !r.Stream {
		return false
	}
	e, err := r.set(r.format.request.asked, "true")
	if err != nil {
		return false // read has seen that there is room
	}
	r.asked = []edit{e}
	return true
}

// set writes a field that has no value: over its null, or else as a new member.
func (r *Request) set(p path, value string) (edit, error) {
	if s := r.stands(p); s.found() {
		return edit{s.start, s.end, value}, nil
	}
	above := root(r.body)
	for n := 1; n < len(p); n++ {
		s := r.stands(p[:n])
		switch {
		case !s.found():
			return insert(r.body, above, p[n-1:], value), nil
		case s.null(r.body):
			return edit{s.start, s.end, object(p[n:], value)}, nil
		case s.opens(r.body) != '{':
			return edit{}, &FieldError{p[:n].String(), "is not an object"}
		}
		above = s
	}
	return insert(r.body, above, p[len(p)-1:], value), nil
}

// insert makes a value, and the objects on the path to it, the first member of the object at s.
func insert(body []byte, s span, p path, value string) edit {
	member := strings.TrimSuffix(strings.TrimPrefix(object(p, value), "{"), "}")
	w := walkInto(body, s)
	if _, _, ok := w.member(); ok {
		member += ","
	}
	return edit{s.start + 1, s.start + 1, member}
}

// object is the text of the object in which a path leads to a value.
func object(p path, value string) string {
	var b strings.Builder
	for _, name := range p {
		b.WriteString(`{"` + name + `":`)
	}
	b.WriteString(value + strings.Repeat("}", len(p)))
	return b.String()
}

// Body is the body with what [Request.LowerOutput] and [Request.AskForUsage] have changed, in pieces: those of the body that was read, which
// are not copied, and between them what was changed. Everything else is as it was, byte for byte.
func (r *Request) Body() (pieces [][]byte) {
	edits := slices.Concat(r.lowered, r.asked)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	at := 0
	for _, e := range edits {
		pieces = append(pieces, r.body[at:e.start:e.start], []byte(e.text))
		at = e.end
	}
	return append(pieces, r.body[at:])
}
