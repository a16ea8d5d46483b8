package limit

import (
	"encoding/json"
	"fmt"
	"time"
)

// holdTime reads for how long a hold is to last.
func holdTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, &FieldError{Field: "for", Problem: fmt.Sprintf("%s is not a duration, such as 60s or 5m", Quote(text))}
	}
	if d <= 0 {
		return 0, &FieldError{Field: "for", Problem: fmt.Sprintf("%s is not after now: at least %s", Quote(text), durationText(minHold))}
	}
	return d, nil
}

// settlementJSON is what POST /v1/settle takes.
type settlementJSON struct {
	Hold string `json:"hold"`
	Cost *int64 `json:"cost"`
	Open bool   `json:"open,omitempty"`
	For  string `json:"for,omitempty"`
}

// UnmarshalJSON reads {"hold", "cost", "open", "for"}, of which the last two are optional. An unknown field is an error. Its errors are
// *FieldError.
func (s *Settlement) UnmarshalJSON(data []byte) error {
	var in settlementJSON
	if err := DecodeJSON(data, &in); err != nil {
		return err
	}
	h, err := ParseHold(in.Hold)
	if err != nil {
		return err
	}
	*s = Settlement{Hold: h, Open: in.Open}
	if in.Cost == nil {
		return &FieldError{Field: "cost", Problem: "is missing: say how many tokens were used, 0 for none"}
	}
	s.Used = *in.Cost
	if in.For != "" {
		if s.For, err = holdTime(in.For); err != nil {
			return err
		}
	}
	return s.Validate()
}

// MarshalJSON writes what [Settlement.UnmarshalJSON] reads.
func (s Settlement) MarshalJSON() ([]byte, error) {
	out := settlementJSON{Hold: s.Hold.String(), Cost: &s.Used, Open: s.Open}
	if s.For != 0 {
		out.For = s.For.String()
	}
	return json.Marshal(out)
}

// A HoldExtension is what POST /v1/extend takes of a hold that is to last longer.
type HoldExtension struct{ Settlement Settlement }

// UnmarshalJSON reads {"hold", "for", "cost"}, of which the last one is optional: what was used so far. An unknown field is an error. Its
// errors are *FieldError.
func (e *HoldExtension) UnmarshalJSON(data []byte) error {
	var in struct {
		Hold string `json:"hold"`
		For  string `json:"for"`
		Cost int64  `json:"cost"`
	}
	if err := DecodeJSON(data, &in); err != nil {
		return err
	}
	h, err := ParseHold(in.Hold)
	if err != nil {
		return err
	}
	if in.For == "" {
		return ErrNoFor
	}
	e.Settlement = Settlement{Hold: h, Used: in.Cost, Open: true}
	if e.Settlement.For, err = holdTime(in.For); err != nil {
		return err
	}
	return e.Settlement.Validate()
}

// ErrNoFor refuses a hold that does not say how long it is to last.
var ErrNoFor error = &FieldError{Field: "for", Problem: "is missing: say how long to hold, such as 60s"}

type settledJSON struct {
	Charged  int64          `json:"charged"`
	Returned int64          `json:"returned"`
	Debt     int64          `json:"debt"`
	Until    int64          `json:"until_ns,omitempty,string"`
	Limits   []SettledLimit `json:"limits"`
}

// MarshalJSON writes {"charged", "returned", "debt", "until_ns", "limits"}; the time is left out of a hold that is settled for good.
func (s Settled) MarshalJSON() ([]byte, error) {
	return json.Marshal(settledJSON(s))
}

// UnmarshalJSON reads what [Settled.MarshalJSON] writes, and ignores unknown fields.
func (s *Settled) UnmarshalJSON(data []byte) error {
	var in settledJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return jsonError(err)
	}
	*s = Settled(in)
	return nil
}
