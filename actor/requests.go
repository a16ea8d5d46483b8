package actor

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// rememberFor is how long an actor remembers the answer to a request with an id: as long as the longest deadline of a check,
	// and the time in which its answer comes back.
	rememberFor = int64(31 * time.Second)
	// maxRequests is how many answers it remembers, the newest ones.
	maxRequests = 1024
)

// errReused answers a request whose id was used for another question.
var errReused = &limit.FieldError{
	Field:   "request_id",
	Problem: "was used for another request of this key: an id belongs to one request and its retries",
}

// A request is one whose id is remembered.
type request struct {
	id    string
	asked uint64 // what it asks: see requests.asked

	first *mail // the check that waits for the answer; nil once there is one

	at       int64 // when it was answered
	ends     int64 // when what it asks for does, if it is admitted: a permit, or a hold that is free then; math.MaxInt64 for never
	decision limit.Decision
}

// requests are what one actor remembers, so that a caller who asks again after a timeout is neither charged twice nor
// told something else.
type requests struct {
	byID     map[string]*request
	answered []*request           // in the order of their answers
	attached map[*request][]*mail // repetitions that wait for the same answer; nil if there never was one
	waiting  int                  // how many they are; they and the first ones are bounded by the mailbox
	bytes    int64                // about what all of them take
	seed     maphash.Seed
}

func newRequests() *requests { return &requests{byID: map[string]*request{}, seed: maphash.MakeSeed()} }

// add remembers m, the first check with its id, which is decided now.
func (rs *requests) add(m *mail, now int64) {
	id := strings.Clone(m.id) // it may be a part of something larger
	r := &request{id: id, asked: rs.asked(m), first: m, ends: m.ends(now)}
	rs.byID[id] = r
	rs.bytes += r.bytes()
}

// ends is when the first thing does that m asks for, if it is admitted now: a permit, or a hold that is free then; math.MaxInt64 for never.
func (m *mail) ends(now int64) int64 {
	ends := int64(math.MaxInt64)
	for _, rule := range m.rules {
		switch {
		case rule.Permits():
			ends = min(ends, rule.Ends(now))
		case m.hold > 0 && rule.Holds.OnExpiry == limit.Free:
			ends = min(ends, now+int64(m.hold))
		}
	}
	return ends
}

// asked is the hash of what m asks. It takes the place of the question, of which callers could make the actor keep a lot: 16 limits
// that a request defines are 8 kB. A stored limit is the same by its name: the document may have been replaced since.
func (rs *requests) asked(m *mail) uint64 {
	var h maphash.Hash
	h.SetSeed(rs.seed)
	maphash.WriteComparable(&h, struct {
		plan       string
		cost, wait int64
		hold       time.Duration
		least      int64
		extend     uint64
		receipt    bool
		inline     uint32
		limits     int
	}{m.plan, m.cost, m.wait, m.hold, m.least, m.extend, m.receipt, m.inline, len(m.rules)})
	for i, rule := range m.rules {
		if m.inline&(1<<i) != 0 {
			maphash.WriteComparable(&h, rule.Limit)
		} else {
			maphash.WriteComparable(&h, rule.Name)
		}
	}
	return h.Sum64()
}

// bytes is about how much memory a request takes with its answer. The names of limits are counted for each answer, since it may be
// the last one to hold them.
func (r *request) bytes() int64 {
	n := requestBytes + int64(len(r.id))
	for i := range r.decision.Limits {
		n += outcomeBytes + int64(len(r.decision.Limits[i].Name))
	}
	for i := range r.decision.Receipts {
		n += receiptBytes + int64(len(r.decision.Receipts[i].Reuses))*spanBytes
	}
	if h := r.decision.Hold; h != nil {
		n += holdBytes + int64(len(h.Limits))*heldBytes
	}
	return n
}

// remove forgets r, and says whether it was remembered.
func (rs *requests) remove(r *request) bool {
	if rs.byID[r.id] != r {
		return false
	}
	delete(rs.byID, r.id)
	rs.bytes -= r.bytes()
	return true
}

// forget forgets all answers, and says how many. What waits for one goes on to.
func (rs *requests) forget() (n int) {
	for _, r := range rs.answered {
		if rs.remove(r) {
			n++
		}
	}
	rs.answered = nil
	return n
}

// find is the remembered request with that id, or nil.
func (rs *requests) find(id string, now int64) *request {
	rs.prune(now)
	r := rs.byID[id]
	if r != nil && (r.retryDue(now) || r.over(now)) {
		rs.remove(r)
		return nil
	}
	return r
}

// retryDue says whether the answer was a denial whose wait is over: a caller who retries then is decided anew.
func (r *request) retryDue(now int64) bool {
	if r.first != nil || r.decision.Allowed {
		return false
	}
	wait := time.Duration(0)
	for _, o := range r.decision.Limits {
		if o.Never {
			return false
		}
		wait = max(wait, o.RetryAfter)
	}
	return now-r.at >= int64(wait)
}

// over says whether a permit or a hold of the answer is: others may have got its place, so a repetition is decided anew.
func (r *request) over(now int64) bool {
	return r.first == nil && r.decision.Allowed && now >= r.ends
}

// again is the answer as a repetition at now gets it: of its wait, what is left.
func (r *request) again(now int64) limit.Decision {
	d := copyOf(r.decision)
	d.Wait = max(d.Wait-time.Duration(now-r.at), 0)
	return d
}

// attach makes m wait for the answer to r.
func (rs *requests) attach(r *request, m *mail) {
	if rs.attached == nil {
		rs.attached = map[*request][]*mail{}
	}
	rs.attached[r] = append(rs.attached[r], m)
	rs.waiting++
}

// answer keeps what m is answered, if m is the first with its id, and hands over the repetitions that waited for it. An
// error is no answer: the next request with the id is decided anew.
func (rs *requests) answer(m *mail, d limit.Decision, err error, now int64) (attached []*mail) {
	r := rs.byID[m.id]
	if r == nil || r.first != m {
		return nil
	}
	attached = rs.attached[r]
	delete(rs.attached, r)
	rs.waiting -= len(attached)
	r.first = nil
	if err != nil {
		rs.remove(r)
		return attached
	}
	rs.bytes -= r.bytes()
	r.at, r.decision = now, copyOf(d)
	rs.bytes += r.bytes()
	rs.answered = append(rs.answered, r)
	rs.prune(now)
	return attached
}

// returned forgets the requests that were answered with p: its admission was given back, so they are decided anew.
func (rs *requests) returned(p *limit.Receipt) {
	rs.answered = slices.DeleteFunc(rs.answered, func(r *request) bool {
		given := slices.ContainsFunc(r.decision.Receipts, func(own limit.Receipt) bool {
			return own.Serial == p.Serial && own.Limit == p.Limit && own.Generation == p.Generation
		})
		if given {
			rs.remove(r)
		}
		return given
	})
}

// settled is for a settlement of a hold. The request that was answered with it is forgotten if something came back, and is told the same again for as
// long as the hold lasts now. It is one of the newest as a rule.
func (rs *requests) settled(held limit.Held, now *limit.SettledLimit) {
	for i, r := range slices.Backward(rs.answered) {
		if !r.has(held) {
			continue
		}
		if now.Returned > 0 {
			rs.remove(r)
			rs.answered = slices.Delete(rs.answered, i, i+1)
		} else if r.ends != math.MaxInt64 {
			r.ends = max(r.ends, now.Until)
		}
		return
	}
}

// has says whether the answer is that hold.
func (r *request) has(held limit.Held) bool {
	h := r.decision.Hold
	return h != nil && slices.ContainsFunc(h.Limits, func(own limit.Held) bool {
		return own.ID == held.ID && own.Limit == held.Limit && own.Generation == held.Generation
	})
}

// prune forgets answers that are too old or too many.
func (rs *requests) prune(now int64) {
	for len(rs.answered) > maxRequests || len(rs.answered) > 0 && now-rs.answered[0].at > rememberFor {
		rs.remove(rs.answered[0])
		rs.answered[0] = nil
		rs.answered = rs.answered[1:]
	}
}

// until is when no answer need be remembered any more.
func (rs *requests) until() int64 {
	if len(rs.answered) == 0 {
		return 0
	}
	return rs.answered[len(rs.answered)-1].at + rememberFor
}

// fail answers everything that waits for another's answer.
func (rs *requests) fail(err error) {
	for _, attached := range rs.attached {
		for _, m := range attached {
			m.fail(err)
		}
	}
	rs.attached, rs.waiting = nil, 0
}

// copyOf is d with slices of its own: a caller may do with its decision what it likes.
func copyOf(d limit.Decision) limit.Decision {
	d.Limits, d.Receipts = slices.Clone(d.Limits), slices.Clone(d.Receipts)
	for i := range d.Receipts {
		d.Receipts[i].Reuses = slices.Clone(d.Receipts[i].Reuses)
	}
	if d.Hold != nil {
		h := *d.Hold
		h.Limits = slices.Clone(h.Limits)
		d.Hold = &h
	}
	return d
}

// The sizes of what remembers the ids of a key, in bytes: requestsBytes for all of them, requestBytes for each with its places,
// besides the id itself.
const (
	requestsBytes = int64(unsafe.Sizeof(requests{})) + 300
	requestBytes  = int64(unsafe.Sizeof(request{})) + 40
	receiptBytes  = int64(unsafe.Sizeof(limit.Receipt{}))
	spanBytes     = int64(unsafe.Sizeof(limit.Span{}))
	holdBytes     = int64(unsafe.Sizeof(limit.Hold{}))
	heldBytes     = int64(unsafe.Sizeof(limit.Held{}))
)
