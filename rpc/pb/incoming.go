package pb

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The messages with which checks arrive are read straight from their bytes into requests. The generated types would
// cost five allocations a check, more than the decision itself; these cost a few a message. What is read is the same to
// the last bit, as a fuzz test makes sure: unknown fields are passed over, of a field that stands there twice the last
// one counts, and messages that do are merged.
//
// The strings of all requests of a message are pieces of one copy of it. Code that keeps one of them for longer than
// the call, as an actor keeps its key, must clone it: else it keeps all of them in memory.

// A CheckIn is a CheckRequest as it arrives.
type CheckIn struct {
	Request limit.Request

	one [1]limit.Ref // room for the usual single limit
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too.
func (m *CheckIn) UnmarshalWire(data []byte) error {
	r := newReader(data)
	m.Request = limit.Request{}
	refs := r.request(&m.Request, m.one[:0], len(data))
	m.Request.Limits = piece(refs, 0)
	return r.err()
}

// A BatchIn is a CheckBatchRequest as it arrives.
type BatchIn struct {
	// Requests are what is asked; nil when that is more than limit.MaxBatch.
	Requests []limit.Request
	// Len is how many there are in the message.
	Len int
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too.
func (m *BatchIn) UnmarshalWire(data []byte) error {
	r := newReader(data)
	m.Len = r.count(tagChecks)
	m.Requests = r.requests(m.Len, func(_ int, request *limit.Request, refs []limit.Ref, end int) []limit.Ref {
		return r.request(request, refs, end)
	})
	return r.err()
}

// A StreamIn is a CheckStreamRequest as it arrives.
type StreamIn struct {
	// Requests are what is asked; nil when that is more than limit.MaxBatch.
	Requests []limit.Request
	// IDs are the numbers of the requests, which their answers repeat.
	IDs []uint64
	// Traces are the spans that wait for the requests, as texts; nil if no request has one.
	Traces []string
	// Settlements are those of the message; nil when with the requests they are more than limit.MaxBatch.
	Settlements []SettlementIn
	// Len is how many requests and settlements there are in the message.
	Len int
	// Within is how long their answers are waited for; 0 does not say.
	Within time.Duration
	// GivenUp are ids of earlier messages. Of more than limit.MaxBatch, so many and one are read: the message will be refused.
	GivenUp []uint64
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too.
func (m *StreamIn) UnmarshalWire(data []byte) error {
	r := newReader(data)
	checks, settlements := m.survey(&r)
	m.Len = checks + settlements
	m.IDs = make([]uint64, min(checks, limit.MaxBatch))
	m.Requests = r.requests(checks, func(i int, request *limit.Request, refs []limit.Ref, end int) []limit.Ref {
		return m.numbered(&r, i, request, refs, end)
	})
	if m.Len > limit.MaxBatch { // it will be refused
		m.Requests, m.Traces = nil, nil
	}
	if r.at != failed {
		r.at = 0
	}
	if settlements > 0 {
		m.Settlements = r.settlements(settlements, m.Len <= limit.MaxBatch)
	}
	return r.err()
}

// trace keeps the trace of the request in place i.
func (m *StreamIn) trace(i int, text string) {
	if m.Traces == nil && text != "" {
		m.Traces = make([]string, len(m.IDs))
	}
	if m.Traces != nil {
		m.Traces[i] = text
	}
}

// survey counts the requests and settlements of m, and reads what m says besides. The reader must stand at its beginning, and stands there
// again afterwards, or has failed.
func (m *StreamIn) survey(r *reader) (checks, settlements int) {
	for end := len(r.data); r.at < end; {
		switch tag := r.varint(end); tag {
		case tagChecks:
			r.at = r.enter(end)
			checks++
		case tagSettlements:
			r.at = r.enter(end)
			settlements++
		case tagWithin:
			m.Within = time.Duration(r.varint(end))
		case tagGivenUp:
			m.giveUp(r.varint(end))
		case tagAllGivenUp:
			for stop := r.enter(end); r.at < stop && r.at != failed; {
				m.giveUp(r.varint(stop))
			}
		default:
			r.skip(tag, end)
		}
	}
	if r.at != failed {
		r.at = 0
	}
	return checks, settlements
}

// giveUp keeps an id of what is given up.
func (m *StreamIn) giveUp(id uint64) {
	if len(m.GivenUp) <= limit.MaxBatch {
		m.GivenUp = append(m.GivenUp, id)
	}
}

// requests reads the n requests of a message. The one with index i is read by read, which appends its limits to refs.
// Of more than limit.MaxBatch there are none: they are only looked through, each thousand in the place of the one
// before.
func (r *reader) requests(n int, read func(i int, m *limit.Request, refs []limit.Ref, end int) []limit.Ref) []limit.Request {
	requests := make([]limit.Request, min(n, limit.MaxBatch))
	refs := make([]limit.Ref, 0, len(requests)) // usually there is one limit for each; more make it grow
	end := len(r.data)
	for i := 0; r.at < end; {
		if tag := r.varint(end); tag != tagChecks {
			r.skip(tag, end)
			continue
		}
		if i == limit.MaxBatch {
			i, refs = 0, refs[:0]
		}
		m, from := &requests[i], len(refs)
		r.refs = from
		refs = read(i, m, refs, r.enter(end))
		m.Limits = piece(refs, from)
		i++
	}
	if n > limit.MaxBatch {
		return nil
	}
	return requests
}

// piece is the end of a slab, nil when it is empty. Appending to it leaves the slab alone.
func piece(refs []limit.Ref, from int) []limit.Ref {
	if from == len(refs) {
		return nil
	}
	return refs[from:len(refs):len(refs)]
}

// numbered reads the StreamCheck in place i into m and request, all but the limits, which it appends to refs.
func (m *StreamIn) numbered(r *reader, i int, request *limit.Request, refs []limit.Ref, end int) []limit.Ref {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagID:
			m.IDs[i] = r.varint(end)
		case tagCheck:
			refs = r.request(request, refs, r.enter(end))
		case tagTrace:
			m.trace(i, r.string(end))
		default:
			r.skip(tag, end)
		}
	}
	return refs
}

// request reads a CheckRequest into m, all but the limits, which it appends to refs: one more than a request may have at most.
func (r *reader) request(m *limit.Request, refs []limit.Ref, end int) []limit.Ref {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagKey:
			m.Key = r.string(end)
		case tagLimits:
			if len(refs)-r.refs > limit.MaxLimits { // it will be refused: there need be no more of them
				r.skip(tag, end)
				continue
			}
			refs = append(refs, r.ref(r.enter(end)))
		case tagCost:
			m.Cost = int64(r.varint(end))
		case tagRequestID:
			m.ID = r.string(end)
		case tagReceipt:
			m.Receipt = r.varint(end) != 0
		case tagLook:
			m.Look = r.varint(end) != 0
		case tagExtend:
			m.Extend = r.varint(end)
		case tagPlan:
			m.Plan = r.string(end)
		case tagWait:
			m.Wait = time.Duration(r.varint(end))
		case tagHoldFor:
			m.Hold = time.Duration(r.varint(end))
		case tagLeast:
			m.Least = int64(r.varint(end))
		case tagLeaseAsk:
			if m.Lease == nil {
				m.Lease = new(limit.LeaseAsk)
			}
			r.leaseAsk(m.Lease, r.enter(end))
		case tagCharge:
			m.Charge = r.varint(end) != 0
		case tagReport:
			if m.Report == nil {
				m.Report = new(limit.Report)
			}
			r.report(m.Report, r.enter(end))
		default:
			r.skip(tag, end)
		}
	}
	return refs
}

// leaseAsk reads a LeaseRequest.
func (r *reader) leaseAsk(a *limit.LeaseAsk, end int) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagLife:
			a.Life = time.Duration(r.varint(end))
		case tagEdgeNow:
			a.Now = int64(r.varint(end))
		case tagTerms:
			a.Terms = r.varint(end)
		case tagEdgeName:
			a.Edge = r.string(end)
		case tagEdgeHas:
			a.Held = int64(r.varint(end))
		case tagEdgeID:
			a.ID = r.varint(end)
		case tagAfter:
			a.After = time.Duration(r.varint(end))
		default:
			r.skip(tag, end)
		}
	}
}

// report reads a ReportRequest.
func (r *reader) report(p *limit.Report, end int) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagReportEdge:
			p.Edge = r.varint(end)
		case tagReportNumber:
			p.Number = r.varint(end)
		case tagReportAge:
			p.Age = time.Duration(r.varint(end))
		case tagReportAsked:
			p.Asked = int64(r.varint(end))
		default:
			r.skip(tag, end)
		}
	}
}

// ref reads a LimitRef. Its fields are a oneof: each takes the place of the other.
func (r *reader) ref(end int) (ref limit.Ref) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagName:
			ref = limit.Named(r.string(end))
		case tagInline:
			if ref.Inline == nil {
				ref.Inline = new(limit.Limit)
			}
			r.limit(ref.Inline, r.enter(end))
			ref.Name = ref.Inline.Name
		default:
			r.skip(tag, end)
		}
	}
	return ref
}

func (r *reader) limit(l *limit.Limit, end int) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagLimitName:
			l.Name = r.string(end)
		case tagAlgorithm:
			l.Algorithm = r.string(end)
		case tagCapacity:
			l.Capacity = int64(r.varint(end))
		case tagRefill:
			r.refill(&l.Refill, r.enter(end))
		case tagOnUnavailable:
			l.OnUnavailable = limit.Policy(r.string(end))
		case tagWindow:
			l.Window = time.Duration(r.varint(end))
		case tagPer:
			l.Per = r.string(end)
		case tagTimezone:
			l.Timezone = r.string(end)
		case tagAnchor:
			l.Anchor = r.string(end)
		case tagWeighted:
			l.Weighted = r.varint(end) != 0
		case tagLease:
			l.Lease = time.Duration(r.varint(end))
		case tagMaxWait:
			l.MaxWait = time.Duration(r.varint(end))
		case tagPenaltyAfter:
			l.Penalty.After = int64(r.varint(end))
		case tagPenaltyFor:
			l.Penalty.For = time.Duration(r.varint(end))
		case tagPenaltyMax:
			l.Penalty.Max = time.Duration(r.varint(end))
		case tagLongestHold:
			l.Holds.Longest = time.Duration(r.varint(end))
		case tagOnExpiry:
			l.Holds.OnExpiry = limit.Expiry(r.string(end))
		case tagMaxDebt:
			l.Holds.MaxDebt = int64(r.varint(end))
		case tagReserve:
			l.Reserve = limit.Reserve(int32(r.varint(end)))
		case tagConsistency:
			l.Consistency = limit.Consistency(r.string(end))
		case tagSync:
			l.Sync = time.Duration(r.varint(end))
		case tagShare:
			l.Share = limit.Share(r.string(end))
		case tagHot:
			l.Hot = limit.Hot(r.string(end))
		case tagGauges:
			l.Gauges = int(int32(r.varint(end)))
		default:
			r.skip(tag, end)
		}
	}
}

func (r *reader) refill(f *limit.Refill, end int) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagTokens:
			f.Tokens = int64(r.varint(end))
		case tagPerNs:
			f.Per = time.Duration(r.varint(end))
		default:
			r.skip(tag, end)
		}
	}
}
