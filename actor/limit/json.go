package limit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The JSON forms below are those of the HTTP API. Durations are whole milliseconds, rounded up; 64-bit positions are
// strings, because many readers of JSON keep only 53 bits.

type requestJSON struct {
	Key       string `json:"key"`
	Limits    []Ref  `json:"limits"`
	Cost      *int64 `json:"cost"` // absent means 1
	RequestID string `json:"request_id"`
	Receipt   bool   `json:"receipt"`
}

// UnmarshalJSON reads {"key", "limits", "cost", "request_id", "receipt"}, of which the last three are optional. An
// unknown field is an error.
func (r *Request) UnmarshalJSON(data []byte) error {
	var in requestJSON
	if err := DecodeJSON(data, &in); err != nil {
		return err
	}
	*r = Request{Key: in.Key, Limits: in.Limits, Cost: 1, ID: in.RequestID, Receipt: in.Receipt}
	if in.Cost != nil {
		r.Cost = *in.Cost
	}
	return nil
}

// MarshalJSON writes what [Request.UnmarshalJSON] reads.
func (r Request) MarshalJSON() ([]byte, error) {
	return json.Marshal(requestJSON{Key: r.Key, Limits: r.Limits, Cost: &r.Cost, RequestID: r.ID, Receipt: r.Receipt})
}

// UnmarshalJSON reads a string, the name of a stored limit, or an object, a limit in full.
func (r *Ref) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var l Limit
		if err := DecodeJSON(data, &l); err != nil {
			return under("limits", err)
		}
		*r = Inline(l)
		return nil
	}
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return &FieldError{Field: "limits", Problem: "each is the name of a stored limit, or an object that defines one"}
	}
	*r = Named(name)
	return nil
}

// MarshalJSON writes what [Ref.UnmarshalJSON] reads.
func (r Ref) MarshalJSON() ([]byte, error) {
	if r.Inline != nil {
		return json.Marshal(r.Inline)
	}
	return json.Marshal(r.Name)
}

type decisionJSON struct {
	Allowed  bool      `json:"allowed"`
	Limits   []Outcome `json:"limits"`
	Receipts []Receipt `json:"receipts,omitempty"`
}

// MarshalJSON writes {"allowed", "limits", "receipts"}; without receipts the last is left out.
func (d Decision) MarshalJSON() ([]byte, error) { return json.Marshal(decisionJSON(d)) }

// UnmarshalJSON reads what [Decision.MarshalJSON] writes.
func (d *Decision) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*decisionJSON)(d))
}

type outcomeJSON struct {
	Name         string `json:"name"`
	Allowed      bool   `json:"allowed"`
	Never        bool   `json:"never,omitempty"`
	Limit        int64  `json:"limit"`
	Remaining    int64  `json:"remaining"`
	RetryAfterMS int64  `json:"retry_after_ms"`
	ResetAfterMS int64  `json:"reset_after_ms"`
}

// MarshalJSON writes the durations in milliseconds.
func (o Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(outcomeJSON{
		Name: o.Name, Allowed: o.Allowed, Never: o.Never, Limit: o.Limit, Remaining: o.Remaining,
		RetryAfterMS: ceilDiv(o.RetryAfter, time.Millisecond), ResetAfterMS: ceilDiv(o.ResetAfter, time.Millisecond),
	})
}

// UnmarshalJSON reads what [Outcome.MarshalJSON] writes.
func (o *Outcome) UnmarshalJSON(data []byte) error {
	var in outcomeJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*o = Outcome{
		Name: in.Name, Allowed: in.Allowed, Never: in.Never, Limit: in.Limit, Remaining: in.Remaining,
		RetryAfter: time.Duration(in.RetryAfterMS) * time.Millisecond,
		ResetAfter: time.Duration(in.ResetAfterMS) * time.Millisecond,
	}
	return nil
}

// RetryAfterSeconds is the wait that d asks for in whole seconds, rounded up, as the HTTP header Retry-After carries
// it: the longest of its limits' waits. ok is false when d was allowed or when no wait can help.
func (d Decision) RetryAfterSeconds() (seconds int64, ok bool) {
	var longest time.Duration
	for _, o := range d.Limits {
		if o.Never {
			return 0, false
		}
		longest = max(longest, o.RetryAfter)
	}
	return ceilDiv(longest, time.Second), !d.Allowed
}

func ceilDiv(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
}

// DecodeJSON reads one JSON value strictly into v: an unknown field, a value of the wrong type, and anything after the
// value are *FieldErrors.
func DecodeJSON(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return jsonError(err)
	}
	if dec.More() {
		return &FieldError{Field: "body", Problem: "holds more than one JSON value"}
	}
	return nil
}

func jsonError(err error) error {
	var (
		field  *FieldError
		wrong  *json.UnmarshalTypeError
		syntax *json.SyntaxError
	)
	switch {
	case errors.As(err, &field):
		return field
	case errors.As(err, &wrong) && wrong.Field != "":
		return &FieldError{Field: wrong.Field, Problem: fmt.Sprintf("is a JSON %s, not a %s", wrong.Value, kindName(wrong))}
	case errors.As(err, &wrong):
		return &FieldError{Field: "body", Problem: fmt.Sprintf("is a JSON %s, not an object", wrong.Value)}
	case errors.As(err, &syntax):
		return &FieldError{Field: "body", Problem: fmt.Sprintf("is not JSON: %v at byte %d", syntax, syntax.Offset)}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return &FieldError{Field: strings.Trim(name, `"`), Problem: "is not a known field"}
	}
	return &FieldError{Field: "body", Problem: "is not JSON: " + err.Error()}
}

func kindName(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "string":
		return "string"
	case "bool":
		return "boolean"
	case "slice":
		return "list"
	case "int64", "uint64", "ptr":
		return "whole number of 64 bits"
	}
	return "object"
}
