package pb

import (
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// EncodeDecision is d as a message.
func EncodeDecision(d limit.Decision) *Decision {
	out := &Decision{Allowed: d.Allowed, Limits: make([]*Outcome, len(d.Limits)), Receipts: EncodeReceipts(d.Receipts)}
	for i, o := range d.Limits {
		out.Limits[i] = &Outcome{
			Name: o.Name, Allowed: o.Allowed, Never: o.Never, Limit: o.Limit, Remaining: o.Remaining,
			RetryAfterNs: int64(o.RetryAfter), ResetAfterNs: int64(o.ResetAfter),
		}
	}
	return out
}

// DecodeDecision reads a message.
func DecodeDecision(m *Decision) (limit.Decision, error) {
	if m == nil {
		return limit.Decision{}, errNoResult
	}
	d := limit.Decision{Allowed: m.GetAllowed()}
	if n := len(m.GetLimits()); n > 0 {
		d.Limits = make([]limit.Outcome, n)
	}
	for i, o := range m.GetLimits() {
		d.Limits[i] = limit.Outcome{
			Name: o.GetName(), Allowed: o.GetAllowed(), Never: o.GetNever(),
			Limit: o.GetLimit(), Remaining: o.GetRemaining(),
			RetryAfter: time.Duration(o.GetRetryAfterNs()), ResetAfter: time.Duration(o.GetResetAfterNs()),
		}
	}
	var err error
	if d.Receipts, err = DecodeReceipts(m.GetReceipts()); err != nil {
		return limit.Decision{}, unreadable(err)
	}
	return d, nil
}

// unreadable is the error of an answer that cannot be read. It is no *limit.FieldError: the caller did nothing wrong.
func unreadable(err error) error {
	return errors.New("the node's answer is malformed: " + err.Error())
}

// EncodeReceipts are rs as messages.
func EncodeReceipts(rs []limit.Receipt) []*Receipt {
	if len(rs) == 0 {
		return nil
	}
	out := make([]*Receipt, len(rs))
	for i, r := range rs {
		out[i] = &Receipt{
			Limit: r.Limit, Generation: r.Generation, Span: encodeSpan(r.Span),
			Owner: encodeOwner(r.Owner), Serial: r.Serial,
		}
		for _, s := range r.Reuses {
			out[i].Reuses = append(out[i].Reuses, encodeSpan(s))
		}
	}
	return out
}

// DecodeReceipts reads messages. Its errors name the receipt, as in "receipts[2].owner".
func DecodeReceipts(ms []*Receipt) ([]limit.Receipt, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	rs := make([]limit.Receipt, len(ms))
	for i, m := range ms {
		owner, err := decodeOwner(m.GetOwner())
		if err != nil {
			return nil, within(fmt.Sprintf("receipts[%d]", i), err)
		}
		rs[i] = limit.Receipt{
			Limit: m.GetLimit(), Generation: m.GetGeneration(), Span: decodeSpan(m.GetSpan()),
			Owner: owner, Serial: m.GetSerial(),
		}
		for _, s := range m.GetReuses() {
			rs[i].Reuses = append(rs[i].Reuses, decodeSpan(s))
		}
	}
	return rs, nil
}

// within puts the path of the enclosing value in front of the field of err.
func within(path string, err error) error {
	fe, ok := errors.AsType[*limit.FieldError](err)
	if !ok {
		return fmt.Errorf("%s: %w", path, err)
	}
	return &limit.FieldError{Field: path + "." + fe.Field, Problem: fe.Problem, Line: fe.Line}
}

func encodeSpan(s limit.Span) *Span { return &Span{StartNs: s.Start, EndNs: s.End} }

func decodeSpan(m *Span) limit.Span { return limit.Span{Start: m.GetStartNs(), End: m.GetEndNs()} }

// DecodeResult reads a message. One that holds neither a decision nor an error is an error.
func DecodeResult(m *CheckResult) limit.Result {
	switch result := m.GetResult().(type) {
	case *CheckResult_Decision:
		d, err := DecodeDecision(result.Decision)
		if err != nil {
			return limit.Result{Err: err}
		}
		return limit.Result{Decision: d}
	case *CheckResult_Error:
		return limit.Result{Err: decodeStatus(result.Error)}
	}
	return limit.Result{Err: errNoResult}
}
