package limit

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// limitJSON is a [Limit] as JSON has it: with the fields of its algorithm. The texts are those of a document.
type limitJSON struct {
	Name          string      `json:"name,omitempty"`
	Algorithm     string      `json:"algorithm,omitempty"`
	Capacity      *int64      `json:"capacity,omitempty"`
	Limit         *int64      `json:"limit,omitempty"`
	Refill        *Refill     `json:"refill,omitempty"`
	Window        *timeText   `json:"window,omitempty"`
	Per           string      `json:"per,omitempty"`
	Timezone      string      `json:"timezone,omitempty"`
	Anchor        anchorText  `json:"anchor,omitempty"`
	Weighted      *bool       `json:"weighted,omitempty"`
	Lease         *timeText   `json:"lease,omitempty"`
	Wait          *timeText   `json:"wait,omitempty"`
	Hold          *timeText   `json:"hold,omitempty"`
	OnExpiry      Expiry      `json:"on_expiry,omitempty"`
	MaxDebt       *int64      `json:"max_debt,omitempty"`
	Reserve       *string     `json:"reserve,omitempty"`
	PenaltyAfter  *int64      `json:"penalty_after,omitempty"`
	PenaltyFor    *timeText   `json:"penalty_for,omitempty"`
	PenaltyMax    *timeText   `json:"penalty_max,omitempty"`
	Consistency   Consistency `json:"consistency,omitempty"`
	Sync          *timeText   `json:"sync,omitempty"`
	Share         Share       `json:"share,omitempty"`
	Hot           Hot         `json:"hot,omitempty"`
	Gauges        *int        `json:"gauges,omitempty"`
	OnUnavailable Policy      `json:"on_unavailable,omitempty"`
}

// anchorText is an anchor: a text, or a number that is read as one.
type anchorText string

func (a *anchorText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] >= '0' && data[0] <= '9' || len(data) > 1 && data[0] == '-' {
		*a = anchorText(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

// timeText is a duration as text.
type timeText string

func (d *timeText) UnmarshalText(text []byte) error {
	*d = timeText(text)
	return nil
}

// timeOf is the text of a duration; nil for none.
func timeOf(text string) *timeText {
	if text == "" {
		return nil
	}
	return (*timeText)(&text)
}

// form is l as JSON has it.
func (l *Limit) form() limitJSON {
	out := limitJSON{
		Name: l.Name, Algorithm: l.Algorithm, Per: l.Per, Timezone: l.Timezone, Anchor: anchorText(l.Anchor),
		Consistency: l.Consistency, Sync: timeOf(l.syncText()), Share: l.Share, Hot: l.Hot, OnUnavailable: l.OnUnavailable,
	}
	count := &out.Capacity
	if l.countName() == "limit" {
		count = &out.Limit
	}
	*count = &l.Capacity
	if l.Refill != (Refill{}) {
		out.Refill = &l.Refill
	}
	out.Window, out.Lease, out.Wait = timeOf(l.windowText()), timeOf(l.leaseText()), timeOf(l.maxWaitText())
	if l.Reserve != 0 {
		out.Reserve = new(l.Reserve.String())
	}
	if l.Penalty != (Penalty{}) {
		out.PenaltyAfter, out.PenaltyFor, out.PenaltyMax = &l.Penalty.After, timeOf(durationText(l.Penalty.For)), timeOf(durationText(l.Penalty.Max))
	}
	out.Hold, out.OnExpiry = timeOf(l.holdText()), l.Holds.OnExpiry
	if l.Holds.MaxDebt != 0 {
		out.MaxDebt = new(max(l.Holds.MaxDebt, 0))
	}
	if l.Weighted {
		out.Weighted = &l.Weighted
	}
	if l.Gauges != 0 {
		out.Gauges = &l.Gauges
	}
	return out
}

// MarshalJSON writes the fields that limits of the algorithm have, such as {"name", "algorithm", "limit", "window"}.
func (l Limit) MarshalJSON() ([]byte, error) { return json.Marshal(l.form()) }

// UnmarshalJSON reads what [Limit.MarshalJSON] writes, and ignores unknown fields. Its errors are *FieldError.
func (l *Limit) UnmarshalJSON(data []byte) error {
	var in limitJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return jsonError(err)
	}
	return l.take(&in)
}

// take is the limit that in describes. A field that does not fit the algorithm is a *FieldError.
func (l *Limit) take(in *limitJSON) error {
	*l = Limit{
		Name: in.Name, Algorithm: in.Algorithm, Per: in.Per, Timezone: in.Timezone, Anchor: string(in.Anchor),
		Consistency: in.Consistency, Share: in.Share, Hot: in.Hot, OnUnavailable: in.OnUnavailable,
	}
	var has given
	for name, text := range map[string]string{"per": in.Per, "timezone": in.Timezone, "anchor": string(in.Anchor)} {
		has[fieldCalled(name)] = text != ""
	}
	for name, n := range map[string]*int64{"capacity": in.Capacity, "limit": in.Limit} {
		if n != nil {
			l.Capacity, has[fieldCalled(name)] = *n, true
		}
	}
	if in.Refill != nil {
		l.Refill, has[fieldCalled("refill")] = *in.Refill, true
	}
	if in.Weighted != nil {
		l.Weighted, has[fieldCalled("weighted")] = *in.Weighted, true
	}
	if in.Gauges != nil {
		l.Gauges, has[fieldCalled("gauges")] = *in.Gauges, true
	}
	if in.OnExpiry != "" {
		l.Holds.OnExpiry, has[fieldCalled("on_expiry")] = in.OnExpiry, true
	}
	if in.MaxDebt != nil {
		if has[fieldCalled("max_debt")] = true; readMaxDebt(l, strconv.FormatInt(*in.MaxDebt, 10)) != nil {
			return &FieldError{Field: "max_debt", Problem: fmt.Sprintf("%d is not from 0 to %d tokens", *in.MaxDebt, MaxCount)}
		}
	}
	if in.Reserve != nil {
		has[fieldCalled("reserve")] = true
		if err := readReserve(l, *in.Reserve); err != nil {
			return err
		}
	}
	if in.PenaltyAfter != nil {
		l.Penalty.After, has[fieldCalled("penalty_after")] = *in.PenaltyAfter, true
	}
	times := map[string]*timeText{
		"window": in.Window, "lease": in.Lease, "wait": in.Wait, "hold": in.Hold, "penalty_for": in.PenaltyFor, "penalty_max": in.PenaltyMax,
		"sync": in.Sync,
	}
	for i := range fields {
		text := times[fields[i].name]
		if text == nil {
			continue
		}
		has[i] = true
		if err := fields[i].read(l, string(*text)); err != nil {
			return err
		}
	}
	return l.fitsGiven(has)
}
