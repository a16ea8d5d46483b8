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
	call     *call
	kind     kind
	key      string
	hash     uint64
	rules    []*limit.Rule
	one      [1]*limit.Rule // room for the usual single rule
	inline   uint32         // bit i: rule i is defined by the request
	deadline int64          // node clock

	// A check's question; the answer is decision or err.
	cost     int64
	id       string // of the request, or empty
	receipt  bool
	repeats  bool // it repeats a request that was answered
	decision limit.Decision
	err      error

	// The others' questions and answers.
	receipts []limit.Receipt
	returned []bool
	looked   func(*shard, *actor) // called with the key's actor, or nil if none is awake
}

func (m *mail) check(r limit.Request) {
	m.kind, m.key, m.hash, m.cost, m.id, m.receipt = check, r.Key, ring.Hash(r.Key), r.Cost, r.ID, r.Receipt
}

// answer gives the mail's caller what it waits for. The mail must not be touched afterwards.
func (m *mail) answer(d limit.Decision, err error) {
	m.decision, m.err = d, err
	m.call.answered()
}

func (m *mail) fail(err error) { m.answer(limit.Decision{}, err) }

// A call is one caller that waits for the answers to its mail. The caller waits, never the shard.
type call struct {
	mail    []mail
	byShard [][]*mail     // the mail of a batch
	open    atomic.Int64  // mail without an answer
	done    chan struct{} // gets one token with the last answer
}

// newCall is a call with room for n mails.
func (s *System) newCall(n int) *call {
	c, ok := s.calls.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1)}
	}
	if cap(c.mail) < n {
		c.mail = make([]mail, n)
	}
	c.mail = c.mail[:n]
	for i := range c.mail {
		c.mail[i].call = c
	}
	c.open.Store(int64(n))
	if n == 0 {
		c.done <- struct{}{}
	}
	return c
}

func (c *call) answered() {
	if c.open.Add(-1) == 0 {
		c.done <- struct{}{}
	}
}

// wait returns when everything is answered, or with ctx's error when that ends before. Then the call still belongs to
// the shards, and must not be freed.
func (c *call) wait(ctx context.Context) error {
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
	for i, ms := range c.byShard {
		c.byShard[i] = ms[:0]
	}
	s.calls.Put(c)
}
