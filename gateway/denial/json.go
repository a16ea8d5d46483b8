package denial

import (
	"encoding/json"
	"fmt"
	"time"
)

// layout is RFC 3339 in UTC with milliseconds.
const layout = "2006-01-02T15:04:05.000Z"

// recordJSON is a [Record] as JSON has it.
type recordJSON struct {
	ID        string  `json:"id"`
	Gateway   string  `json:"gateway"`
	At        string  `json:"at"`
	Route     string  `json:"route,omitempty"`
	Method    string  `json:"method,omitempty"`
	Path      string  `json:"path,omitempty"`
	Status    int     `json:"status"`
	Reason    string  `json:"reason"`
	Key       string  `json:"key,omitempty"`
	APIKey    string  `json:"api_key,omitempty"`
	Flaw      *Flaw   `json:"flaw,omitempty"`
	Cost      int64   `json:"cost"`
	Counts    string  `json:"counts,omitempty"`
	Wait      int64   `json:"wait_ms,omitempty"`
	Node      string  `json:"node,omitempty"`
	Source    string  `json:"source,omitempty"`
	Known     string  `json:"known_since,omitempty"`
	Upstream  string  `json:"upstream,omitempty"`
	Why       string  `json:"why,omitempty"`
	Undecided string  `json:"undecided,omitempty"`
	Limits    []Limit `json:"limits"`
	PassesAt  string  `json:"passes_at,omitempty"`

	Exchange *ModelRequest `json:"exchange,omitempty"`
}

// MarshalJSON writes {"id", "gateway", "at", "route", "method", "path", "status", "reason", "key", "api_key", "flaw": {"credential", "check"}, "cost", "counts",
// "wait_ms", "node", "source", "known_since", "upstream", "why", "undecided", "limits": [{"rule", "outcome", "counts", "earlier"}], "passes_at", "exchange"}. Times are RFC 3339 in UTC with milliseconds; what is empty is
// left out.
func (r Record) MarshalJSON() ([]byte, error) {
	out := recordJSON{
		ID: r.ID, Gateway: r.Gateway, At: r.At.UTC().Format(layout), Route: r.Route, Method: r.Method, Path: r.Path,
		Status: r.Status, Reason: r.Reason, Key: r.Key, APIKey: r.APIKey, Flaw: r.Flaw, Cost: r.Cost, Node: r.Node, Source: r.Source, Limits: r.Limits,
	}
	out.Exchange, out.Counts, out.Undecided = r.Exchange, r.Counts, r.Undecided
	out.Upstream, out.Why, out.Wait = r.Upstream, r.Why, r.Wait.Milliseconds()
	if out.Limits == nil {
		out.Limits = []Limit{}
	}
	if !r.KnownSince.IsZero() {
		out.Known = r.KnownSince.UTC().Format(layout)
	}
	if !r.PassesAt.IsZero() {
		out.PassesAt = up(r.PassesAt).UTC().Format(layout)
	}
	return json.Marshal(out)
}

// up is the first whole millisecond that is not before t.
func up(t time.Time) time.Time {
	down := t.Truncate(time.Millisecond)
	if down.Before(t) {
		return down.Add(time.Millisecond)
	}
	return down
}

// UnmarshalJSON reads what [Record.MarshalJSON] writes, and skips fields that it does not know: the gateway may be newer
// than its reader.
func (r *Record) UnmarshalJSON(text []byte) error {
	var in recordJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("denial: %w", err)
	}
	at, err := readTime("at", in.At)
	if err != nil {
		return err
	}
	passes, err := readTime("passes_at", in.PassesAt)
	if err != nil {
		return err
	}
	known, err := readTime("known_since", in.Known)
	if err != nil {
		return err
	}
	*r = Record{
		ID: in.ID, Gateway: in.Gateway, At: at, Route: in.Route, Method: in.Method, Path: in.Path, Status: in.Status,
		Reason: in.Reason, Key: in.Key, APIKey: in.APIKey, Flaw: in.Flaw, Cost: in.Cost, Node: in.Node, Source: in.Source, KnownSince: known, Limits: in.Limits, PassesAt: passes,
	}
	r.Exchange, r.Counts, r.Undecided = in.Exchange, in.Counts, in.Undecided
	r.Upstream, r.Why, r.Wait = in.Upstream, in.Why, time.Duration(in.Wait)*time.Millisecond
	return nil
}

// readTime reads a field that may be missing.
func readTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("denial: %s: %.64q is not a time as in RFC 3339, such as 2026-01-02T15:04:05.000Z", field, text)
	}
	return t.UTC(), nil
}
