package limit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// The JSON forms below are those of the HTTP API. Durations are whole milliseconds, rounded up; 64-bit positions are
// strings, because many JSON decoders keep only 53 bits.

type requestJSON struct {
	Key       string `json:"key"`
	Limits    refs   `json:"limits"`
	Cost      *int64 `json:"cost,omitempty"` // absent means 1
	Look      bool   `json:"look,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Receipt   bool   `json:"receipt,omitempty"`
	Extend    uint64 `json:"extend,omitempty,string"`
	Plan      string `json:"plan,omitempty"`
	WaitMS    int64  `json:"wait_ms,omitempty"`
	For       string `json:"for,omitempty"` // of a hold
	Least     int64  `json:"least,omitempty"`
}

// UnmarshalJSON reads {"key", "limits", "cost", "look", "request_id", "receipt", "extend", "plan", "wait_ms", "for", "least"}, of which the last nine are
// optional; those with "for" are holds. An
// unknown field is an error, and so is a cost of 0 without look. Its errors are *FieldError.
func (r *Request) UnmarshalJSON(data []byte) error {
	var in requestJSON
	if err := DecodeJSON(data, &in); err != nil {
		if isUnquoted(err) {
			return &FieldError{Field: "extend", Problem: "must be a 64-bit integer in quotes, the serial of the permit's receipt"}
		}
		return err
	}
	*r = Request{Key: in.Key, Limits: in.Limits, Look: in.Look, ID: in.RequestID, Receipt: in.Receipt || in.Extend != 0, Extend: in.Extend, Plan: in.Plan}
	if r.Wait = milliseconds(in.WaitMS); in.WaitMS < 0 || r.Wait > LongestWait {
		return &FieldError{Field: "wait_ms", Problem: fmt.Sprintf("%d is not from 0 to %d, the longest deadline in milliseconds", in.WaitMS, LongestWait.Milliseconds())}
	}
	var err error
	if r.Least = in.Least; in.For != "" {
		if r.Hold, err = holdTime(in.For); err != nil {
			return err
		}
	}
	switch {
	case in.Cost == nil:
	case *in.Cost == 0 && !in.Look:
		return &FieldError{Field: "cost", Problem: `0 takes nothing: leave the cost out to take 1 token, or send "look":true to take none`}
	default:
		r.Cost = *in.Cost
	}
	return nil
}

// MarshalJSON writes what [Request.UnmarshalJSON] reads.
func (r Request) MarshalJSON() ([]byte, error) {
	out := requestJSON{Key: r.Key, Limits: r.Limits, Look: r.Look, RequestID: r.ID, Receipt: r.Receipt, Extend: r.Extend, Plan: r.Plan, WaitMS: ceilDiv(r.Wait, time.Millisecond), Least: r.Least}
	if r.Hold != 0 {
		out.For = r.Hold.String()
	}
	if r.Cost != 0 {
		out.Cost = &r.Cost
	}
	return json.Marshal(out)
}

// refs are the limits of a request. An error in one of them names its place.
type refs []Ref

func (rs *refs) UnmarshalJSON(data []byte) error {
	if *rs != nil {
		return standsTwice("limits")
	}
	if hasMore(data, MaxLimits) {
		return &FieldError{Field: "limits", Problem: fmt.Sprintf("more than %d limits are too many", MaxLimits)}
	}
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return &FieldError{Field: "limits", Problem: `is not a list, as in ["login"]`}
	}
	*rs = make(refs, len(all))
	for i, one := range all {
		if err := (*rs)[i].decode(one, fmt.Sprintf("limits[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// UnmarshalJSON reads a string, the name of a stored limit, or an object, a limit in full.
func (r *Ref) UnmarshalJSON(data []byte) error { return r.decode(data, "limit") }

// decode reads r. Errors name it by path.
func (r *Ref) decode(data []byte, path string) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var (
			in limitJSON
			l  Limit
		)
		if err := DecodeJSON(data, &in); err != nil {
			return under(path, err)
		}
		if err := l.take(&in); err != nil {
			return under(path, err)
		}
		*r = Inline(l)
		return nil
	}
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return &FieldError{Field: path, Problem: "is neither the name of a stored limit nor an object that defines one"}
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

// An Extension is what POST /v1/extend takes: a permit that is to last longer.
type Extension struct {
	Key     string
	Receipt Receipt // of a check, or of the last extension
}

// UnmarshalJSON reads {"key", "receipt"}. An unknown field is an error. Its errors are *FieldError.
func (e *Extension) UnmarshalJSON(data []byte) error {
	var in struct {
		Key     string   `json:"key"`
		Receipt *Receipt `json:"receipt"`
	}
	if err := DecodeJSON(data, &in); err != nil {
		if isUnquoted(err) {
			return &FieldError{Field: "receipt", Problem: errUnquoted.Problem}
		}
		return err
	}
	if in.Receipt == nil || in.Receipt.Serial == 0 {
		return &FieldError{Field: "receipt", Problem: "is missing: send the receipt of the permit, as it was answered"}
	}
	*e = Extension{Key: in.Key, Receipt: *in.Receipt}
	return nil
}

// Request is the check that extends the permit.
func (e *Extension) Request() Request {
	return Request{Key: e.Key, Limits: []Ref{Named(e.Receipt.Limit)}, Extend: e.Receipt.Serial, Receipt: true}
}

// A Return is what POST /v1/return takes.
type Return struct {
	Key      string
	Receipts []Receipt // at most MaxReturn, without their Reuses
}

// UnmarshalJSON reads {"key", "receipts"}. An unknown field is an error. Its errors are *FieldError.
func (r *Return) UnmarshalJSON(data []byte) error {
	var in struct {
		Key      string   `json:"key"`
		Receipts receipts `json:"receipts"`
	}
	if err := DecodeJSON(data, &in); err != nil {
		return err
	}
	*r = Return{Key: in.Key, Receipts: in.Receipts}
	return nil
}

// receipts are those of a Return. They are counted before they are decoded: a receipt takes 96 bytes in memory, and may be three
// bytes of JSON.
type receipts []Receipt

func (rs *receipts) UnmarshalJSON(data []byte) error {
	if *rs != nil {
		return standsTwice("receipts")
	}
	if hasMore(data, MaxReturn) {
		return &FieldError{Field: "receipts", Problem: fmt.Sprintf("more than %d receipts are too many", MaxReturn)}
	}
	var all []struct {
		Receipt
		Reuses json.RawMessage `json:"reuses"` // not decoded: the owner knows them
	}
	err := DecodeJSON(data, &all)
	var fe *FieldError
	switch {
	case err == nil:
	case !errors.As(err, &fe) || fe.Field == "receipts":
		return err
	case fe.Field == "body":
		return &FieldError{Field: "receipts", Problem: fe.Problem}
	default:
		return under("receipts", err)
	}
	*rs = make(receipts, len(all))
	for i := range all {
		(*rs)[i] = all[i].Receipt
	}
	return nil
}

// hasMore says whether data is a list of more than n values. It keeps none of them.
func hasMore(data []byte, n int) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('[') {
		return false
	}
	var one json.RawMessage
	for range n {
		if !dec.More() || dec.Decode(&one) != nil {
			return false
		}
	}
	return dec.More()
}

type decisionJSON struct {
	Allowed  bool      `json:"allowed"`
	WaitMS   int64     `json:"wait_ms,omitempty"`
	Limits   []Outcome `json:"limits"`
	Receipts []Receipt `json:"receipts,omitempty"`
	Hold     string    `json:"hold,omitempty"`
	Granted  int64     `json:"granted,omitempty"`
}

// MarshalJSON writes {"allowed", "wait_ms", "limits", "receipts", "hold", "granted"}; those are left out that the decision does not have.
func (d Decision) MarshalJSON() ([]byte, error) {
	out := decisionJSON{Allowed: d.Allowed, WaitMS: ceilDiv(d.Wait, time.Millisecond), Limits: d.Limits, Receipts: d.Receipts}
	if d.Hold != nil {
		out.Hold, out.Granted = d.Hold.String(), d.Hold.Granted
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what [Decision.MarshalJSON] writes, and ignores unknown fields: the node may be newer than the client. Its
// errors are *FieldError.
func (d *Decision) UnmarshalJSON(data []byte) error {
	var in decisionJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return jsonError(err)
	}
	*d = Decision{Allowed: in.Allowed, Wait: milliseconds(in.WaitMS), Limits: in.Limits, Receipts: in.Receipts}
	if in.Hold != "" {
		h, err := ParseHold(in.Hold)
		if err != nil {
			return err
		}
		d.Hold = &h
	}
	return nil
}

type outcomeJSON struct {
	Name         string `json:"name"`
	Plan         string `json:"plan,omitempty"`
	Override     string `json:"override,omitempty"`
	Allowed      bool   `json:"allowed"`
	Never        bool   `json:"never,omitempty"`
	Closed       bool   `json:"closed,omitempty"`
	Ended        bool   `json:"ended,omitempty"`
	Limit        int64  `json:"limit"`
	Remaining    int64  `json:"remaining"`
	Leased       int64  `json:"leased,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms"`
	ResetAfterMS int64  `json:"reset_after_ms"`
}

// MarshalJSON writes the durations in milliseconds.
func (o Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(outcomeJSON{
		Name: o.Name, Plan: o.Plan, Override: o.Override, Allowed: o.Allowed, Never: o.Never, Ended: o.Ended, Closed: o.Closed, Limit: o.Limit, Remaining: o.Remaining, Leased: o.Leased,
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
		Name: in.Name, Plan: in.Plan, Override: in.Override, Allowed: in.Allowed, Never: in.Never, Ended: in.Ended, Closed: in.Closed, Limit: in.Limit, Remaining: in.Remaining, Leased: in.Leased,
		RetryAfter: milliseconds(in.RetryAfterMS), ResetAfter: milliseconds(in.ResetAfterMS),
	}
	return nil
}

// milliseconds is the duration nearest to n milliseconds and not below 0.
func milliseconds(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(max(n, 0)) * time.Millisecond
}

// RetryAfterSeconds is the value of the HTTP header Retry-After for d: the longest wait of its limits, in seconds, rounded up. ok is
// false when d was allowed or when no wait can help.
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
