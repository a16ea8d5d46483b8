package actor

import (
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// rememberFor is how long an actor remembers the answer to a request with an id.
	rememberFor = int64(10 * time.Second)
	// maxRequests is how many answers it remembers, the newest ones.
	maxRequests = 256
)

// errReused answers a request whose id was used for another question.
var errReused = &limit.FieldError{
	Field:   "request_id",
	Problem: "was used for another request of this key: an id belongs to one request and its retries",
}

// A request is one whose id is remembered.
type request struct {
	id      string
	rules   []*limit.Rule
	inline  uint32
	cost    int64
	receipt bool

	first    *mail   // the check that waits for the answer; nil once there is one
	attached []*mail // repetitions that wait for it too

	at       int64 // when it was answered
	decision limit.Decision
}

// requests are what one actor remembers, so that a caller who asks again after a timeout is neither charged twice nor
// told something else.
type requests struct {
	byID     map[string]*request
	answered []*request // in the order of their answers
	attached int        // repetitions that wait; they and the first ones are bounded by the mailbox
	bytes    int64      // about what all of them take
}

func newRequests() *requests { return &requests{byID: map[string]*request{}} }

// add remembers m, the first check with its id.
func (rs *requests) add(m *mail) {
	id := strings.Clone(m.id) // it may be a part of something larger
	r := &request{
		id: id, rules: slices.Clone(m.rules), inline: m.inline, cost: m.cost, receipt: m.receipt, first: m,
	}
	rs.byID[id] = r
	rs.bytes += r.bytes()
}

// bytes is about how much memory a request takes with its answer.
func (r *request) bytes() int64 {
	n := requestBytes + int64(len(r.id)) + int64(len(r.rules))*(outcomeBytes+8)
	if r.receipt {
		n += int64(len(r.rules)) * receiptBytes
	}
	for _, receipt := range r.decision.Receipts {
		n += int64(len(receipt.Reuses)) * spanBytes
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
	if r != nil && r.retryDue(now) {
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

// same says whether m asks the same as r. A stored limit is the same by its name: the document may have been replaced
// since.
func (r *request) same(m *mail) bool {
	if r.cost != m.cost || r.receipt != m.receipt || r.inline != m.inline || len(r.rules) != len(m.rules) {
		return false
	}
	for i, rule := range r.rules {
		if rule.Name != m.rules[i].Name || r.inline&(1<<i) != 0 && *rule != *m.rules[i] {
			return false
		}
	}
	return true
}

// attach makes m wait for the answer to r.
func (rs *requests) attach(r *request, m *mail) {
	r.attached = append(r.attached, m)
	rs.attached++
}

// answer keeps what m is answered, if m is the first with its id, and hands over the repetitions that waited for it. An
// error is no answer: the next request with the id is decided anew.
func (rs *requests) answer(m *mail, d limit.Decision, err error, now int64) (attached []*mail) {
	r := rs.byID[m.id]
	if r == nil || r.first != m {
		return nil
	}
	attached = r.attached
	rs.attached -= len(attached)
	r.first, r.attached = nil, nil
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

// returned forgets the request that was answered with r: its admission was given back, so it is decided anew.
func (rs *requests) returned(r *limit.Receipt) {
	i := slices.IndexFunc(rs.answered, func(q *request) bool {
		return slices.ContainsFunc(q.decision.Receipts, func(own limit.Receipt) bool {
			return own.Serial == r.Serial && own.Limit == r.Limit && own.Generation == r.Generation
		})
	})
	if i < 0 {
		return
	}
	rs.remove(rs.answered[i])
	rs.answered = slices.Delete(rs.answered, i, i+1)
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
	for _, r := range rs.byID {
		for _, m := range r.attached {
			m.fail(err)
		}
		r.attached = nil
	}
	rs.attached = 0
}

// copyOf is d with slices of its own: a caller may do with its decision what it likes.
func copyOf(d limit.Decision) limit.Decision {
	d.Limits, d.Receipts = slices.Clone(d.Limits), slices.Clone(d.Receipts)
	for i := range d.Receipts {
		d.Receipts[i].Reuses = slices.Clone(d.Receipts[i].Reuses)
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
)
