package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is how long a line of a file may be, in bytes.
const MaxLine = 1 << 20

// Read reads a history that a [Writer] wrote. An error names the line and the field; nothing is repaired or left out.
func Read(in io.Reader) (*History, error) {
	r := reader{names: map[string]string{}, limits: map[string]bool{}, h: &History{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), MaxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := r.line(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", MaxLine)
		}
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if err := r.h.ordered(); err != nil {
		return nil, err
	}
	return r.h, nil
}

type reader struct {
	h      *History
	limits map[string]bool   // the names of those that were read
	names  map[string]string // strings that occur again and again are kept once
}

func (r *reader) line(text []byte) error {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("ends in the middle of an object: was the file cut off?")
		}
		return errors.New(cleaned(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one object")
	}
	switch l.Kind {
	case "limit":
		return r.limit(&l)
	case "fault":
		return r.fault(&l)
	}
	return r.call(&l)
}

// cleaned is the error of the decoder without its name.
func cleaned(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s: a %s cannot stand here", wrong.Field, wrong.Value)
	}
	text := err.Error()
	if rest, ok := bytes.CutPrefix([]byte(text), []byte("json: ")); ok {
		return string(rest)
	}
	return text
}

func (r *reader) limit(l *line) error {
	limit := Limit{
		Name: r.once(l.Limit), Algorithm: r.once(l.Algorithm), Capacity: l.Capacity, Tokens: l.Tokens, PerNS: l.PerNS, Length: l.Length,
		Holds: r.once(l.Holds), Debt: l.Debt, Leased: l.Leased, At: l.At, By: l.By,
	}
	if err := limit.Validate(); err != nil {
		return err
	}
	r.limits[limit.Name] = true
	r.h.Limits = append(r.h.Limits, limit)
	return nil
}

func (r *reader) fault(l *line) error {
	if l.Start == nil || l.End == nil {
		return errors.New("start and end: a fault needs both")
	}
	f := Fault{Start: *l.Start, End: *l.End, What: l.What, Held: l.Held}
	if err := f.Validate(); err != nil {
		return err
	}
	r.h.Faults = append(r.h.Faults, f)
	return nil
}

func (r *reader) call(l *line) error {
	kind, ok := parse[Kind](kinds(), l.Kind)
	if !ok {
		return fmt.Errorf("kind: %q is none of limit, check, return, reset, extend, hold, settle and fault", l.Kind)
	}
	outcome, ok := parse[Outcome](outcomes(), l.Outcome)
	switch {
	case !ok:
		return fmt.Errorf("outcome: %q is none of admitted, denied, taken, ignored, done and failed", l.Outcome)
	case l.Start == nil || l.End == nil:
		return errors.New("start and end: a call needs both")
	case kind.costs() && l.Cost == nil:
		return fmt.Errorf("cost: a %s needs one", kind)
	case !kind.costs() && l.Cost != nil:
		return fmt.Errorf("cost: a %s has none", kind)
	}
	c := Call{
		Kind: kind, Outcome: outcome, Limit: r.once(l.Limit), Key: r.once(l.Key), Start: *l.Start, End: *l.End,
		Wait: l.Wait, Receipt: l.Receipt, Hold: l.Hold, Via: r.once(l.Via), Error: r.once(l.Error),
	}
	if l.Cost != nil {
		c.Cost = *l.Cost
	}
	if c.Receipt != nil {
		c.Receipt.Owner = r.once(c.Receipt.Owner)
	}
	if err := c.Validate(); err != nil {
		return err
	}
	if !r.limits[c.Limit] {
		return fmt.Errorf("limit: %q is not among the limits above", c.Limit)
	}
	r.h.Calls = append(r.h.Calls, c)
	return nil
}

// once is s, kept once for all calls that have it.
func (r *reader) once(s string) string {
	if kept, ok := r.names[s]; ok {
		return kept
	}
	r.names[s] = s
	return s
}
