package limit

import (
	"encoding/json"
	"fmt"
	"time"
)

// AllRequest is what POST /v1/check-all takes.
type AllRequest struct {
	Checks []Request // at most MaxAll
}

// UnmarshalJSON reads {"checks"}, a list of what [Request.UnmarshalJSON] reads. An unknown field is an error. Its errors are
// *FieldErrors.
func (a *AllRequest) UnmarshalJSON(data []byte) error {
	var in struct {
		Checks allChecks `json:"checks"`
	}
	if err := DecodeJSON(data, &in); err != nil {
		return err
	}
	a.Checks = in.Checks
	return nil
}

// allChecks are those of an AllRequest. They are counted before they are decoded.
type allChecks []Request

func (cs *allChecks) UnmarshalJSON(data []byte) error {
	if *cs != nil {
		return standsTwice("checks")
	}
	if hasMore(data, MaxAll) {
		return &FieldError{Field: "checks", Problem: fmt.Sprintf("more than %d checks are too many", MaxAll)}
	}
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return &FieldError{Field: "checks", Problem: `is not a list, as in [{"key":"user:42","limits":["login"]}]`}
	}
	*cs = make(allChecks, len(all)) // not nil, though it may be empty
	for i, one := range all {
		if err := DecodeJSON(one, &(*cs)[i]); err != nil {
			return under(checkName(i), err)
		}
	}
	return nil
}

type allDecisionJSON struct {
	Allowed bool        `json:"allowed"`
	WaitMS  int64       `json:"wait_ms,omitempty"`
	Denied  *Denial     `json:"denied,omitempty"`
	Checks  []*Decision `json:"checks"`
}

// MarshalJSON writes {"allowed", "wait_ms", "denied", "checks"}. Those of the checks that were not asked are null.
func (a AllDecision) MarshalJSON() ([]byte, error) {
	out := allDecisionJSON{Allowed: a.Allowed, WaitMS: ceilDiv(a.Wait, time.Millisecond), Denied: a.Denied, Checks: make([]*Decision, len(a.Decisions))}
	for i := range a.Decisions {
		if len(a.Decisions[i].Limits) > 0 {
			out.Checks[i] = &a.Decisions[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what [AllDecision.MarshalJSON] writes, and ignores unknown fields. Its errors are *FieldErrors.
func (a *AllDecision) UnmarshalJSON(data []byte) error {
	var in allDecisionJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return jsonError(err)
	}
	*a = AllDecision{Allowed: in.Allowed, Wait: milliseconds(in.WaitMS), Denied: in.Denied, Decisions: make([]Decision, len(in.Checks))}
	for i, d := range in.Checks {
		if d != nil {
			a.Decisions[i] = *d
		}
	}
	return nil
}
