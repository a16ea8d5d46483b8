package pb

import (
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// EncodeDecision is d as a message.
func EncodeDecision(d limit.Decision) *Decision {
	out := &Decision{Allowed: d.Allowed, WaitNs: int64(d.Wait), Limits: make([]*Outcome, len(d.Limits)), Receipts: EncodeReceipts(d.Receipts)}
	for i, o := range d.Limits {
		out.Limits[i] = &Outcome{
			Name: o.Name, Allowed: o.Allowed, Never: o.Never, Closed: o.Closed, Limit: o.Limit, Remaining: o.Remaining,
			RetryAfterNs: int64(o.RetryAfter), ResetAfterNs: int64(o.ResetAfter), Plan: o.Plan, Override: o.Override, Ended: o.Ended, Leased: o.Leased,
		}
	}
	if d.Hold != nil {
		out.Hold, out.Granted = textOf(d.Hold), d.Hold.Granted
	}
	if l := d.Lease; l != nil {
		out.Lease = &Lease{Receipt: EncodeReceipts([]limit.Receipt{l.Receipt})[0], UntilNs: l.Until, NowNs: l.Now}
	}
	if r := d.Reported; r != nil {
		out.Reported = &Reported{SpentNs: r.Spent, NowNs: r.Now, Share: r.Share, Scarce: r.Scarce}
	}
	return out
}

// DecodeDecision reads a message.
func DecodeDecision(m *Decision) (limit.Decision, error) {
	if m == nil {
		return limit.Decision{}, errNoResult
	}
	d := limit.Decision{Allowed: m.GetAllowed(), Wait: time.Duration(m.GetWaitNs())}
	if n := len(m.GetLimits()); n > 0 {
		d.Limits = make([]limit.Outcome, n)
	}
	for i, o := range m.GetLimits() {
		d.Limits[i] = limit.Outcome{
			Name: o.GetName(), Allowed: o.GetAllowed(), Never: o.GetNever(), Closed: o.GetClosed(),
			Limit: o.GetLimit(), Remaining: o.GetRemaining(),
			RetryAfter: time.Duration(o.GetRetryAfterNs()), ResetAfter: time.Duration(o.GetResetAfterNs()),
			Plan: o.GetPlan(), Override: o.GetOverride(), Ended: o.GetEnded(), Leased: o.GetLeased(),
		}
	}
	var err error
	if d.Receipts, err = DecodeReceipts(m.GetReceipts()); err != nil {
		return limit.Decision{}, unreadable(err)
	}
	if m.GetHold() != "" {
		h := &struct {
			limit.Hold
			held [1]limit.Held // room for the usual single limit
		}{}
		if h.Hold, err = readHold(m.GetHold(), h.held[:0]); err != nil { // it says too how much was granted
			return limit.Decision{}, unreadable(err)
		}
		d.Hold = &h.Hold
	}
	if l := m.GetLease(); l != nil {
		rs, err := DecodeReceipts([]*Receipt{l.GetReceipt()})
		if err != nil {
			return limit.Decision{}, unreadable(err)
		}
		d.Lease = &limit.Lease{Receipt: rs[0], Until: l.GetUntilNs(), Now: l.GetNowNs()}
	}
	if r := m.GetReported(); r != nil {
		d.Reported = &limit.Reported{Spent: r.GetSpentNs(), Now: r.GetNowNs(), Share: r.GetShare(), Scarce: r.GetScarce()}
	}
	return d, nil
}

// EncodeAllDecision is a as a message.
func EncodeAllDecision(a limit.AllDecision) *CheckAllResponse {
	out := &CheckAllResponse{Allowed: a.Allowed, WaitNs: int64(a.Wait), Decisions: make([]*Decision, len(a.Decisions))}
	if d := a.Denied; d != nil {
		out.Denied = &Denial{Check: int32(min(d.Check, limit.MaxAll)), Key: d.Key, Limit: d.Limit}
	}
	for i, d := range a.Decisions {
		out.Decisions[i] = EncodeDecision(d)
	}
	return out
}

// DecodeAllDecision reads a message.
func DecodeAllDecision(m *CheckAllResponse) (limit.AllDecision, error) {
	a := limit.AllDecision{Allowed: m.GetAllowed(), Wait: time.Duration(m.GetWaitNs()), Decisions: make([]limit.Decision, len(m.GetDecisions()))}
	if d := m.GetDenied(); d != nil {
		a.Denied = &limit.Denial{Check: int(d.GetCheck()), Key: d.GetKey(), Limit: d.GetLimit()}
	}
	for i, d := range m.GetDecisions() {
		var err error
		if a.Decisions[i], err = DecodeDecision(d); err != nil {
			return limit.AllDecision{}, err
		}
	}
	return a, nil
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
			Owner: encodeOwner(r.Owner), Serial: r.Serial, Permit: r.Permit, FromNs: r.From,
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
			Owner: owner, Serial: m.GetSerial(), Permit: m.GetPermit(), From: m.GetFromNs(),
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
