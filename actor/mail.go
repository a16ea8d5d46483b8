package actor

import (
	"context"
	"sync/atomic"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// What a mail asks of a key's actor.
type kind uint8

const (
	check kind = iota
	giveBack
	reset
	look
)

// A mail is one thing asked of one key's actor. Until it is answered it belongs to the shard; then to the caller.
type mail struct {
	call   *call
	lane   *lane // that it was taken from, until it is answered; nil if that does not count it
	key    string
	hash   uint64
	rules  []*limit.Rule
	one    [1]*limit.Rule // room for the usual single rule
	inline uint32         // bit i: rule i is defined by the request
	place  int32          // in its call
	told   atomic.Bool    // the caller has the answer; see [each]
	kind   kind

	// A check's question, and where the answer goes.
	receipt bool
	repeats bool // it repeats a request that was answered
	cost    int64
	id      string          // of the request, or empty
	room    []limit.Outcome // for those of the decision
	result  *limit.Result

	others *others // nil for a check
}

// others are what a mail has that is no check.
type others struct {
	receipts []limit.Receipt
	returned []bool
	looked   func(*shard, *actor) // called with the key's actor, or nil if none is awake
}

func (m *mail) check(r *limit.Request) {
	m.kind, m.key, m.hash, m.cost, m.id, m.receipt = check, r.Key, ring.Hash(r.Key), r.Tokens(), r.ID, r.Receipt
}

// resolve finds the rules that refs name in doc. It tries the rule of the request before first, if there is one.
func (m *mail) resolve(doc *limit.Document, refs []limit.Ref, before *limit.Rule) error {
	m.rules = m.one[:0]
	for i, ref := range refs {
		if before != nil && ref.Inline == nil && ref.Name == before.Name {
			m.rules = append(m.rules, before)
			continue
		}
		rule, err := doc.Resolve(ref)
		if err != nil {
			return err
		}
		if ref.Inline != nil {
			m.inline |= 1 << i
		}
		m.rules = append(m.rules, rule)
	}
	return nil
}

// put writes the answer where the caller looks for it, once the call is answered.
func (m *mail) put(d limit.Decision, err error) {
	m.leave()
	*m.result = limit.Result{Decision: d, Err: err}
}

// leave makes room in the lane that m was taken from.
func (m *mail) leave() {
	if m.lane != nil {
		m.lane.answered()
		m.lane = nil
	}
}

// done answers what asked for no decision. The mail must not be touched afterwards.
func (m *mail) done() {
	m.leave()
	m.call.answered(1)
}

// fail answers with err. The mail must not be touched afterwards.
func (m *mail) fail(err error) {
	if m.call.each != nil {
		m.tell(limit.Decision{}, err)
		return
	}
	m.put(limit.Decision{}, err)
	m.call.answered(1)
}

// A call is one caller's mail. The caller waits for the answers, or is told each; the shard never waits.
type call struct {
	deadline int64 // node clock
	caller   limit.Caller
	mail     []mail
	byShard  [][]*mail     // the mail of a batch
	open     atomic.Int64  // mail without an answer
	done     chan struct{} // gets one token with the last answer
	single   limit.Result  // the answer to a call with one mail
	each     *each         // nil if the caller waits
}

// newCall is a call with room for n mails, whose answers go to results, or to the call itself if there is one mail.
func (s *System) newCall(ctx context.Context, n int, results []limit.Result) *call {
	c, ok := s.calls.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1), byShard: make([][]*mail, len(s.shards))}
	}
	c.deadline, c.caller = s.deadline(ctx), limit.CallerOf(ctx)
	if cap(c.mail) < n {
		c.mail = make([]mail, n)
	}
	c.mail = c.mail[:n]
	for i := range c.mail {
		m := &c.mail[i]
		m.call, m.place, m.result = c, int32(i), &c.single //nolint:gosec // at most limit.MaxBatch
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

// answered says that n more mails are.
func (c *call) answered(n int64) {
	switch {
	case c.open.Add(-n) > 0:
	case c.each != nil:
		c.each.over(c)
	default:
		c.done <- struct{}{}
	}
}

// wait returns when everything is answered, or with ctx's error when that ends before. Then the call still belongs to
// the shards, and must not be freed.
func (c *call) wait(ctx context.Context) error {
	select {
	case <-c.done: // as a rule: a context may make its timer only when somebody asks for Done
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

// free gives back a call whose answers have been taken, or that was never handed to a shard.
func (s *System) free(c *call) {
	clear(c.mail)
	c.single, c.each, c.caller = limit.Result{}, nil, nil
	for i, ms := range c.byShard {
		c.byShard[i] = ms[:0]
	}
	s.calls.Put(c)
}
