package actor

import (
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

const (
	// rememberFor is how long an actor remembers the answer to a request with an id.
	rememberFor = int64(10 * time.Second)
	// maxRequests is how many it remembers, the newest ones.
	maxRequests = 256
)

// errReused answers a request whose id was used for another question.
var errReused = &limit.FieldError{
	Field:   "request_id",
	Problem: "was used for a request with other limits or another cost: an id belongs to one request and its retries",
}

// A request is one whose id is remembered.
type request struct {
	id      string
	limits  []string
	cost    int64
	at      int64   // when it was answered; 0 while it is not
	waiting []*mail // repetitions that came before the answer
	reply   limit.Decision
}

// requests are what one actor remembers, so that a caller who asks again after a timeout is neither charged twice nor
// told something else.
type requests struct {
	byID  map[string]*request
	order []*request // by arrival
}

func newRequests() *requests { return &requests{byID: map[string]*request{}} }

// known says whether m repeats a request that is remembered. If so the reply is ready, or m will be answered together
// with the request that it repeats.
func (rs *requests) known(m *mail, now int64) (reply owner.Reply, ready, repeats bool) {
	rs.prune(now)
	r := rs.byID[m.id]
	switch {
	case r == nil:
		r = &request{id: m.id, limits: m.limits(), cost: m.cost}
		rs.byID[r.id] = r
		rs.order = append(rs.order, r)
		return owner.Reply{}, false, false
	case r.cost != m.cost || !slices.Equal(r.limits, m.limits()):
		return owner.Reply{Tag: m, Err: errReused}, true, true
	case r.at == 0:
		r.waiting = append(r.waiting, m)
		return owner.Reply{}, false, true
	}
	return owner.Reply{Tag: m, Decision: r.reply}, true, true
}

// answer keeps what m, the first with its id, was answered, and answers those that repeat it. An error is no answer: the
// next request with the id is decided anew.
func (rs *requests) answer(m *mail, reply owner.Reply, now int64) {
	r := rs.byID[m.id]
	if r == nil {
		return
	}
	for _, again := range r.waiting {
		if reply.Err != nil {
			again.fail(reply.Err)
		} else {
			again.reply(reply.Decision)
		}
	}
	r.waiting = nil
	if reply.Err != nil {
		rs.drop(r)
		return
	}
	r.at, r.reply = now, reply.Decision
}

// prune forgets what is too old or too much. What has no answer yet stays: its number is bounded by the mailbox.
func (rs *requests) prune(now int64) {
	for len(rs.order) > 0 {
		r := rs.order[0]
		old := r.at != 0 && (now-r.at > rememberFor || len(rs.order) >= maxRequests)
		if !old {
			return
		}
		rs.drop(r)
	}
}

func (rs *requests) drop(r *request) {
	delete(rs.byID, r.id)
	if i := slices.Index(rs.order, r); i >= 0 {
		rs.order = slices.Delete(rs.order, i, i+1)
	}
}

// until is when nothing need be remembered any more.
func (rs *requests) until() int64 {
	until := int64(0)
	for _, r := range rs.order {
		until = max(until, r.at+rememberFor)
	}
	return until
}

// fail answers everything that waits for another's answer.
func (rs *requests) fail(err error) {
	for _, r := range rs.order {
		for _, m := range r.waiting {
			m.fail(err)
		}
		r.waiting = nil
	}
}

// limits are the names of the limits that m asks for.
func (m *mail) limits() []string {
	names := make([]string, len(m.rules))
	for i, r := range m.rules {
		names[i] = r.Name
	}
	return names
}
