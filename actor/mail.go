package actor

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/internal/exemplar"
	"github.com/jeton-dev/jeton/ring"
)

// What a mail asks of a key's actor.
type kind uint8

const (
	check kind = iota
	giveBack
	settle
	reset
	look
)

// A mail is one thing asked of one key's actor. Until it is answered it belongs to the shard; then to the caller.
type mail struct {
	bundle *bundle
	window *window // that it is counted in, until it is answered; nil if it is not counted
	key    string
	hash   uint64
	rules  []*limit.Rule
	one    [1]*limit.Rule // room for the usual single rule
	inline uint32         // bit i: rule i is defined by the request
	place  int32          // in its bundle
	told   atomic.Bool    // the caller has the answer; see callback
	kind   kind

	// A check's question, and where the answer goes.
	receipt bool
	extend  uint64          // see limit.Request
	wait    int64           // likewise, in nanoseconds
	hold    time.Duration   // likewise
	least   int64           // likewise
	lease   *limit.LeaseAsk // likewise
	charge  bool            // likewise
	report  *limit.Report   // of a charge; nil for none
	repeats bool            // it repeats a request that was answered
	cost    int64
	id      string          // of the request, or empty
	room    []limit.Outcome // for those of the decision
	result  *limit.Result

	plan   string         // see limit.Request
	judged *judgement     // of overrides; nil for none
	causes []limit.Cause  // by what each limit decides; nil if by its own numbers
	cause  [1]limit.Cause // room for the usual single one
	other  *otherMail     // nil for a check
}

// otherMail is what mail other than a check carries: a return, a settlement, or a function to run.
type otherMail struct {
	receipts []limit.Receipt
	returned []bool
	permits  []owner.Permit // of the receipts
	settles  []owner.Settle
	places   []int     // of the permits among the receipts, or of the settles among the limits of the hold
	settling *settling // what the settles came to
	look     func()    // called while the shard is held
}

// A settling is what a settlement came to. It is its caller's: the mail may be used again before the caller has read it.
type settling struct {
	limits  []limit.SettledLimit  // those of the hold
	one     [1]limit.SettledLimit // room for the usual single one
	removed []string              // those that are not stored any more
}

// settleRoom is what the mail of a settlement carries, with room for the usual single limit. It is its bundle's.
type settleRoom struct {
	otherMail

	one   [1]owner.Settle
	place [1]int
}

// tellSettled writes what a settlement came to where its caller looks for it.
func (o *otherMail) tellSettled() {
	for i, place := range o.places {
		o.settling.limits[place] = o.settles[i].Settled
	}
}

func (m *mail) check(r *limit.Request) {
	m.kind, m.key, m.hash, m.cost, m.id, m.receipt, m.extend = check, r.Key, ring.Hash(r.Key), r.Tokens(), r.ID, r.Receipt, r.Extend
	m.plan = r.Plan
	m.wait = int64(r.Wait)
	m.hold, m.least, m.lease, m.charge = r.Hold, r.Least, r.Lease, r.Charge
	m.report = r.Report
}

// setResult writes the answer where the caller looks for it, once the bundle is answered.
func (m *mail) setResult(d limit.Decision, err error) {
	m.leaveWindow()
	if err == nil {
		d = m.whole(d)
	}
	*m.result = limit.Result{Decision: d, Err: err}
}

// whole is the decision on all limits of the request, of what the owner has decided on those that it was asked for. Of a
// settlement it is empty: what that came to is written where its caller looks for it.
func (m *mail) whole(d limit.Decision) limit.Decision {
	if m.kind == settle {
		m.other.tellSettled()
		return d
	}
	if m.judged != nil {
		d = m.judged.merge(d)
	}
	tell(m.causes, d)
	d.Hold = m.holdOf(&d)
	return d
}

// holdOf is what the hold of m has taken by a decision on it; nil for another check, and for a denial.
func (m *mail) holdOf(d *limit.Decision) *limit.Hold {
	if m.hold == 0 || !d.Allowed {
		return nil
	}
	h := d.Hold
	if h == nil { // overrides let all limits pass
		h = &limit.Hold{Granted: m.cost}
	}
	h.Key, h.Plan, h.Limits = m.key, m.plan, slices.Clip(h.Limits)
	return h
}

// leaveWindow makes room in the window that m is counted in.
func (m *mail) leaveWindow() {
	if m.window != nil {
		m.window.answered()
		m.window = nil
	}
}

// done answers what asked for no decision. The mail must not be touched afterwards.
func (m *mail) done() {
	m.leaveWindow()
	m.bundle.answered(1)
}

// fail answers with err. The mail must not be touched afterwards.
func (m *mail) fail(err error) {
	if m.bundle.callback != nil {
		m.callBack(limit.Decision{}, err)
		return
	}
	m.setResult(limit.Decision{}, err)
	m.bundle.answered(1)
}

// pass answers with a decision that no bucket was asked for. The mail must not be touched afterwards.
func (m *mail) pass(d limit.Decision) {
	if m.bundle.callback != nil {
		m.callBack(d, nil)
		return
	}
	m.setResult(d, nil)
	m.bundle.answered(1)
}

// callBack answers m, unless its context has ended before. The mail must not be touched afterwards: it may be another bundle's
// already, so that with its last answer a caller may end the context without a walk through its mail.
func (m *mail) callBack(d limit.Decision, err error) {
	m.leaveWindow()
	if err == nil {
		d = m.whole(d)
	}
	e, place, checks, late := m.bundle.callback, int(m.place), m.kind == check, m.told.Swap(true)
	m.bundle.answered(1)
	if !late {
		if checks {
			exemplar.Observe(e.pool.latency, time.Since(e.start).Seconds(), e.exemplar)
		}
		e.done(place, limit.Result{Decision: d, Err: err})
	}
}

// A bundle is the mail of one caller: one check or settlement, those of a batch, or one mail of another kind. The caller waits for the answers, or
// gets each by a callback; the shard never waits.
type bundle struct {
	deadline int64 // node clock
	caller   limit.Caller
	trace    limit.Trace // the span that waits; nil for none
	mail     []mail
	byShard  [][]*mail     // the mail of a batch
	rooms    []settleRoom  // for what settlements among the mail carry
	open     atomic.Int64  // mail without an answer
	done     chan struct{} // gets one token with the last answer
	single   limit.Result  // the answer to a bundle of one mail
	callback *callback     // nil if the caller waits
}

// A bundlePool makes bundles, and uses those again whose mail is answered.
type bundlePool struct {
	shards  int
	over    sync.Pool // of *bundle: answered, and free to be used again
	latency prometheus.Observer
}

// take is a bundle of n mails, whose answers go to results, or to the bundle itself if there is one mail.
func (p *bundlePool) take(n int, results []limit.Result) *bundle {
	c, ok := p.over.Get().(*bundle)
	if !ok {
		c = &bundle{done: make(chan struct{}, 1), byShard: make([][]*mail, p.shards)}
	}
	if cap(c.mail) < n {
		c.mail = make([]mail, n)
	}
	c.mail = c.mail[:n]
	for i := range c.mail {
		m := &c.mail[i]
		m.bundle, m.place, m.result = c, int32(i), &c.single //nolint:gosec // at most limit.MaxBatch
		if results != nil {
			m.result = &results[i]
		}
	}
	c.open.Store(int64(n))
	if n == 0 {
		c.done <- struct{}{}
	}
	return c
}

// settles are rooms for n settlements.
func (c *bundle) settles(n int) []settleRoom {
	if cap(c.rooms) < n {
		c.rooms = make([]settleRoom, n)
	}
	c.rooms = c.rooms[:n]
	return c.rooms
}

// free gives back a bundle whose answers have been taken, or that was never handed to a shard.
func (p *bundlePool) free(c *bundle) {
	clear(c.mail)
	clear(c.rooms)
	c.rooms = c.rooms[:0]
	c.single, c.callback, c.caller, c.trace = limit.Result{}, nil, nil, nil
	for i, ms := range c.byShard {
		c.byShard[i] = ms[:0]
	}
	p.over.Put(c)
}

// answered says that n more mails are.
func (c *bundle) answered(n int64) {
	switch {
	case c.open.Add(-n) > 0:
	case c.callback != nil:
		c.callback.over(c)
	default:
		c.done <- struct{}{}
	}
}

// wait returns when everything is answered, or with ctx's error when that ends before. Then the bundle still belongs to
// the shards, and must not be freed.
func (c *bundle) wait(ctx context.Context) error {
	select {
	case <-c.done: // as a rule: a context may make its timer only when Done is called
		return nil
	default:
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A callback belongs to a bundle whose caller does not wait: done is called for every answer by itself, by the shard that has it, or
// with the error of the context when that has ended. The last answer frees the bundle; not when the context has ended, for then
// giveUp may still be going through its mail.
type callback struct {
	pool     *bundlePool
	start    time.Time
	exemplar prometheus.Labels // of the trace of the call; nil for none
	done     func(place int, r limit.Result)
	stop     func() bool // stops waiting for the context to end; nil if nothing does
}

// giveUp answers all that has no answer. The mail stays with the shards.
func (e *callback) giveUp(c *bundle, err error) {
	for i := range c.mail {
		if !c.mail[i].told.Swap(true) {
			e.done(i, limit.Result{Err: err})
		}
	}
}

// over is called when the shards have done with all mail of c.
func (e *callback) over(c *bundle) {
	if e.stop == nil || e.stop() {
		e.pool.free(c)
	}
}

// replied are mails of one bundle that are answered. They are counted together, because the count is what shards share.
type replied struct {
	bundle *bundle
	n      int64
}

// answer gives m's caller what it waits for, at the latest when the shard has finished its round. The mail must not be
// touched afterwards.
func (r *replied) answer(m *mail, d limit.Decision, err error) {
	if m.bundle.callback != nil {
		m.callBack(d, err)
		return
	}
	m.setResult(d, err)
	if r.bundle != m.bundle {
		r.flush()
		r.bundle = m.bundle
	}
	r.n++
}

func (r *replied) flush() {
	if r.bundle != nil {
		r.bundle.answered(r.n)
	}
	*r = replied{}
}

// mailBytes is about how much memory a check takes that is under way, with its question and its answer.
const mailBytes = int64(unsafe.Sizeof(mail{})+unsafe.Sizeof(limit.Request{})+unsafe.Sizeof(limit.Result{})) + outcomeBytes + 100

// outcomeBytes is that of what one limit has said.
const outcomeBytes = int64(unsafe.Sizeof(limit.Outcome{})) + 8
