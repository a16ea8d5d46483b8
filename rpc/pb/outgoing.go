package pb

import (
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The messages that answer checks are written straight into bytes, without values of the generated types between. The
// bytes are those that protobuf would write for what [EncodeDecision] and the generated types make, as a property test makes
// sure.

// A CheckOut is a CheckResponse as it leaves.
type CheckOut struct {
	Decision limit.Decision
}

// WireRoom is about how many bytes m takes.
func (m *CheckOut) WireRoom() int { return roomOf(&m.Decision) }

// AppendWire appends m to b.
func (m *CheckOut) AppendWire(b []byte) ([]byte, error) {
	b, from := begin(b, tagOnlyDecision)
	return end(appendDecision(b, m.Decision), from), nil
}

// A BatchOut is a CheckBatchResponse as it leaves.
type BatchOut struct {
	Results []limit.Result
}

// WireRoom is about how many bytes m takes.
func (m *BatchOut) WireRoom() (room int) {
	for i := range m.Results {
		room += roomOf(&m.Results[i].Decision)
	}
	return room
}

// AppendWire appends m to b. The error is protobuf's.
func (m *BatchOut) AppendWire(b []byte) ([]byte, error) {
	for i := range m.Results {
		var from int
		var err error
		b, from = begin(b, tagResults)
		if b, err = appendResult(b, &m.Results[i]); err != nil {
			return nil, err
		}
		b = end(b, from)
	}
	return b, nil
}

// An Answer is a StreamResult as it leaves; or a StreamSettled, if Settled is not nil.
type Answer struct {
	ID      uint64 // of the request, or of the settlement
	Result  limit.Result
	Settled *limit.Settled // what a settlement came to, if there is no Result.Err
}

// A StreamOut is a CheckStreamResponse as it leaves.
type StreamOut struct {
	Answers []*Answer
	Table   uint64 // the version of the node's table, if something did not fit it
	Refuses bool   // the node refuses every check
}

// WireRoom is about how many bytes m takes.
func (m *StreamOut) WireRoom() (room int) {
	for _, a := range m.Answers {
		room += roomOf(&a.Result.Decision)
	}
	return room
}

// roomOf is about how many bytes the answer to a check takes.
func roomOf(d *limit.Decision) int {
	room := usual
	if d.Hold != nil {
		room += usualHold
	}
	if d.Lease != nil {
		room += usualLease
	}
	return room
}

// AppendWire appends m to b. The error is protobuf's.
func (m *StreamOut) AppendWire(b []byte) ([]byte, error) {
	for _, a := range m.Answers {
		var answer, result int
		var err error
		if a.Settled != nil {
			b, answer = begin(b, tagSettled)
			b = appendNumber(b, tagSettledID, a.ID)
			if b, err = appendSettledAnswer(b, a.Settled, a.Result.Err); err != nil {
				return nil, err
			}
			b = end(b, answer)
			continue
		}
		b, answer = begin(b, tagResults)
		b = appendNumber(b, tagResultID, a.ID)
		b, result = begin(b, tagResult)
		if b, err = appendResult(b, &a.Result); err != nil {
			return nil, err
		}
		b = end(end(b, result), answer)
	}
	return appendTrue(appendNumber(b, tagTableVersion, m.Table), tagRefuses, m.Refuses), nil
}

// appendResult appends the fields of a CheckResult.
func appendResult(b []byte, r *limit.Result) ([]byte, error) {
	if r.Err == nil {
		b, from := begin(b, tagDecision)
		return end(appendDecision(b, r.Decision), from), nil
	}
	b, from := begin(b, tagError)
	b, err := proto.MarshalOptions{}.MarshalAppend(b, statusOf(r.Err).Proto())
	if err != nil {
		return nil, err
	}
	return end(b, from), nil
}

// appendDecision appends the fields of a Decision.
func appendDecision(b []byte, d limit.Decision) []byte {
	b = appendTrue(b, tagAllowed, d.Allowed)
	var from int
	for i := range d.Limits {
		o := &d.Limits[i]
		b, from = begin(b, tagOutcomes)
		b = appendText(b, tagOutcomeName, o.Name)
		b = appendTrue(b, tagOutcomeAllowed, o.Allowed)
		b = appendTrue(b, tagNever, o.Never)
		b = appendNumber(b, tagLimit, uint64(o.Limit))
		b = appendNumber(b, tagRemaining, uint64(o.Remaining))
		b = appendNumber(b, tagRetryAfter, uint64(o.RetryAfter))
		b = appendNumber(b, tagResetAfter, uint64(o.ResetAfter))
		b = appendText(b, tagOutcomePlan, o.Plan)
		b = appendText(b, tagOverride, o.Override)
		b = appendTrue(b, tagClosed, o.Closed)
		b = appendTrue(b, tagEnded, o.Ended)
		b = appendNumber(b, tagHeldByEdges, uint64(o.Leased))
		b = end(b, from)
	}
	for i := range d.Receipts {
		b, from = begin(b, tagDecided)
		b = end(appendReceipt(b, &d.Receipts[i]), from)
	}
	b = appendNumber(b, tagBegin, uint64(d.Wait))
	if d.Hold != nil {
		b, from = begin(b, tagHold)
		b = end(d.Hold.AppendTo(b), from)
		b = appendNumber(b, tagGranted, uint64(d.Hold.Granted))
	}
	if d.Lease != nil {
		b, from = begin(b, tagLeased)
		b = end(appendLease(b, d.Lease), from)
	}
	if r := d.Reported; r != nil {
		b, from = begin(b, tagReported)
		b = appendNumber(b, tagReportedSpent, uint64(r.Spent))
		b = appendNumber(b, tagReportedNow, uint64(r.Now))
		b = appendNumber(b, tagReportedShare, uint64(r.Share))
		b = end(appendTrue(b, tagScarce, r.Scarce), from)
	}
	return b
}

// appendLease appends the fields of a Lease.
func appendLease(b []byte, l *limit.Lease) []byte {
	b, from := begin(b, tagLeaseReceipt)
	b = end(appendReceipt(b, &l.Receipt), from)
	b = appendNumber(b, tagLeaseUntil, uint64(l.Until))
	return appendNumber(b, tagLeaseNow, uint64(l.Now))
}

// appendReceipt appends the fields of a Receipt.
func appendReceipt(b []byte, r *limit.Receipt) []byte {
	b = appendText(b, tagReceiptLimit, r.Limit)
	b = appendNumber(b, tagReceiptGeneration, uint64(r.Generation))
	b = appendSpan(b, tagSpan, r.Span)
	b = appendBytes(b, tagOwner, r.Owner[:])
	b = appendNumber(b, tagSerial, r.Serial)
	for _, s := range r.Reuses {
		b = appendSpan(b, tagReuses, s)
	}
	return appendNumber(appendTrue(b, tagPermit, r.Permit), tagReturnFrom, uint64(r.From))
}

func appendSpan(b []byte, tag byte, s limit.Span) []byte {
	b, from := begin(b, tag)
	b = appendNumber(b, tagStart, uint64(s.Start))
	b = appendNumber(b, tagEnd, uint64(s.End))
	return end(b, from)
}
