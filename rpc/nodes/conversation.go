package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

const (
	// maxUnanswered is how many questions of a conversation may be unanswered: so many a node takes of one stream.
	maxUnanswered = limit.MaxBatch
	// maxBytes is how many bytes these may have, with what goes with them and what may be said of them later. grpc takes 64 KiB ahead of what
	// is on the wire, so nobody has to wait in Send.
	maxBytes = 60 << 10
	// aside is about how many bytes go with each message of a queue: a head, and within_ns.
	aside = 16
	// farewell is about how many bytes tell a node that nobody waits for an answer: a message by itself.
	farewell = 16
	// talkFor is for how long a conversation takes questions. Proxies between may end streams that last; some do after 15 seconds.
	talkFor = 10 * time.Second
	// overdue is how long after their deadlines the last questions of a conversation may be unanswered.
	overdue = 10 * time.Second
	// indexBits are those of an id that say which question of its message it is.
	indexBits = 16
)

// errLost ends a conversation in which something stays unanswered.
var errLost = fmt.Errorf("%w: the node left a check or settlement without an answer", limit.ErrUnavailable)

type checkStream = grpc.BidiStreamingClient[pb.CheckStreamRequest, pb.CheckStreamResponse]

// A conversation is one CheckStream for many messages of a queue: to open a stream for each takes both sides longer than to decide what
// is in it.
//
//	ask ─▶ outbox ─▶ speak: one message of all that came while the last one was sent ─▶ node
//	answer ◀── hear: finds the question by the id of its answer ◀───────────────────────┘
//
// Whoever asks sends, too, if nobody is sending. All that was asked ends: answered, or with the error that ended the stream.
type conversation struct {
	routed bool // its stream has the marks of calls that go by the table
	alone  bool // it is for one message, however long, and ends with its callers

	mu         sync.Mutex
	stream     checkStream           // nil until it is open
	cancel     context.CancelFunc    // ends it
	broken     error                 // why it was ended by this side
	speaking   bool                  // somebody is sending
	over       bool                  // nothing more is asked
	shut       bool                  // this side of the stream is closed
	outbox     []*utterance          // to be sent
	givenUp    []uint64              // ids to be sent: nobody waits for their answers
	open       map[uint64]*utterance // by number: those with a question that is unanswered
	unanswered int                   // questions
	bytes      int                   // of the open utterances
	last       uint64                // the number of the newest
	latest     time.Time             // the latest deadline
	timer      *time.Timer           // until nothing more may be asked, and then until what is unanswered is lost
}

// An utterance is one message of a queue in a conversation, which may send it together with others.
type utterance struct {
	number   uint64
	message  *pb.CheckStreamRequest // until it is sent
	bytes    int                    // of it
	deadline time.Time              // its callers have left by then
	kinds    []kind                 // of its questions
	answer   func(int, reply)       // nil once nobody waits for answers
	left     int                    // questions that are unanswered
	err      error                  // with which it ended
	ended    chan struct{}
}

// A kind says what may answer a question.
type kind uint8

const (
	nothing kind = iota // any more
	decision
	settlement
)

func newConversation(routed bool) *conversation {
	return &conversation{routed: routed, open: map[uint64]*utterance{}}
}

// ask asks questions. It returns nil when they have no room, or the conversation is over.
func (c *conversation) ask(deadline time.Time, questions []question, answer func(int, reply)) (u *utterance, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u = &utterance{message: asMessage(questions, (c.last+1)<<indexBits), deadline: deadline, answer: answer, left: len(questions)}
	u.bytes = proto.Size(u.message) + aside + farewell*u.left
	if c.over || c.unanswered+u.left > maxUnanswered || c.bytes+u.bytes > maxBytes && !c.alone {
		return nil, c.over
	}
	c.last++
	u.number, u.kinds, u.ended = c.last, make([]kind, len(questions)), make(chan struct{})
	for i := range questions {
		if u.kinds[i] = decision; questions[i].settlement != nil {
			u.kinds[i] = settlement
		}
	}
	c.outbox = append(c.outbox, u)
	c.open[u.number] = u
	c.unanswered += u.left
	c.bytes += u.bytes
	if deadline.After(c.latest) {
		c.latest = deadline
	}
	c.speakLocked()
	return u, false
}

// await returns when u has ended or ctx has. Its answers are not handed out any more then: what is not sent is not asked, and of the rest the
// node is told that nobody waits for it.
func (c *conversation) await(ctx context.Context, u *utterance) error {
	select {
	case <-u.ended:
		return u.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[u.number] != u { // both at once: an answer counts
		return u.err
	}
	u.answer = nil
	if i := slices.Index(c.outbox, u); i >= 0 {
		c.outbox = slices.Delete(c.outbox, i, i+1)
		c.unanswered -= u.left
		c.endLocked(u, nil)
	} else {
		for i, k := range u.kinds {
			if k != nothing {
				c.givenUp = append(c.givenUp, u.number<<indexBits+uint64(i))
			}
		}
		c.speakLocked()
	}
	return ctx.Err()
}

// ends says whether nothing more is asked.
func (c *conversation) ends() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// close lets nothing more be asked: the conversation ends when what was asked is answered.
func (c *conversation) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.speaking && !c.shut { // who speaks may be held up by a node that does not read
		c.loseLocked()
	}
	c.speakLocked()
}

// run speaks and hears over a stream, which cancel ends, until it ends, and returns why it did. It passes stale the version of
// the node's table, where the node tells it.
func (c *conversation) run(stream checkStream, cancel context.CancelFunc, stale func(version uint64)) error {
	c.begin(stream, cancel)
	err := c.hear(stream, stale)
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.broken, err)
}

// begin begins to speak over a stream, and sees to it that the conversation is over in time.
func (c *conversation) begin(stream checkStream, cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stream, c.cancel = stream, cancel
	c.timer = time.AfterFunc(talkFor, c.close)
	c.speakLocked()
}

// end ends what is unanswered, and the conversation.
func (c *conversation) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over, c.shut = true, true
	if c.timer != nil {
		c.timer.Stop()
	}
	for _, u := range c.open {
		c.endLocked(u, err)
	}
	c.open, c.outbox, c.givenUp, c.unanswered = nil, nil, nil, 0
}

// endLocked ends u: its questions are answered, or never will be.
func (c *conversation) endLocked(u *utterance, err error) {
	delete(c.open, u.number)
	c.bytes -= u.bytes
	u.err = err
	close(u.ended)
}

// speakLocked sends what is in the outbox, unless somebody is at it, and closes this side of the stream once nothing more is asked. While
// it sends, it does not hold mu.
func (c *conversation) speakLocked() {
	if c.speaking || c.stream == nil || c.shut {
		return
	}
	c.speaking = true
	for len(c.outbox)+len(c.givenUp) > 0 {
		m := c.takeLocked()
		c.mu.Unlock()
		err := c.stream.Send(m)
		c.mu.Lock()
		if err != nil && !errors.Is(err, io.EOF) { // EOF: hear says why
			c.breakLocked(err)
		}
	}
	c.speaking = false
	if c.over && !c.shut {
		c.shutLocked()
	}
}

// shutLocked closes this side of the stream. The other one closes when all is answered.
func (c *conversation) shutLocked() {
	c.shut = true
	if err := c.stream.CloseSend(); err != nil {
		c.breakLocked(err)
	}
	c.loseLocked()
}

// loseLocked ends the stream when what is unanswered is overdue.
func (c *conversation) loseLocked() {
	c.timer.Stop()
	c.timer = time.AfterFunc(time.Until(c.latest)+overdue, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.breakLocked(errLost)
	})
}

// breakLocked ends the stream.
func (c *conversation) breakLocked(err error) {
	c.broken = cmp.Or(c.broken, err)
	c.cancel()
}

// asMessage are questions as one message. The id of each is its index, and first that of the first.
func asMessage(questions []question, first uint64) *pb.CheckStreamRequest {
	m, settlements := &pb.CheckStreamRequest{}, 0
	for i := range questions {
		if questions[i].settlement != nil {
			settlements++
		}
	}
	if checks := len(questions) - settlements; checks > 0 {
		m.Checks = make([]*pb.StreamCheck, 0, checks)
	}
	if settlements > 0 {
		m.Settlements = make([]*pb.StreamSettlement, 0, settlements)
	}
	for i := range questions {
		if q := &questions[i]; q.settlement != nil {
			m.Settlements = append(m.Settlements, &pb.StreamSettlement{Id: first + uint64(i), Settlement: q.settlement})
		} else {
			m.Checks = append(m.Checks, &pb.StreamCheck{Id: first + uint64(i), Check: q.check, Trace: q.trace})
		}
	}
	return m
}

// takeLocked takes the next message out of the outbox: one of the first utterance and of those behind it whose callers leave at about the same time. It
// has all ids that are given up.
func (c *conversation) takeLocked() *pb.CheckStreamRequest {
	var m *pb.CheckStreamRequest
	all, now := deadlines{}, time.Now()
	c.outbox = slices.DeleteFunc(c.outbox, func(u *utterance) bool {
		switch {
		case !all.join(u.deadline, now):
			return false
		case m == nil:
			m = u.message
		default:
			m.Checks = append(m.Checks, u.message.GetChecks()...)
			m.Settlements = append(m.Settlements, u.message.GetSettlements()...)
		}
		u.message = nil
		return true
	})
	if m == nil {
		m = &pb.CheckStreamRequest{}
	} else {
		m.WithinNs = max(int64(all.latest.Sub(now)), 1)
	}
	m.GivenUp, c.givenUp = c.givenUp, nil
	return m
}

// hear hands out answers until the stream ends, and returns how it did.
func (c *conversation) hear(stream checkStream, stale func(version uint64)) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errNoAnswer
		}
		if err != nil {
			return err
		}
		if version := m.GetTableVersion(); version > 0 {
			stale(version)
		}
		c.answered(m)
	}
}

// answered hands out the answers of a message.
func (c *conversation) answered(m *pb.CheckStreamResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range m.GetResults() {
		if u, i := c.findLocked(r.GetId(), decision); u != nil {
			result := pb.DecodeResult(r.GetResult())
			c.answerLocked(u, i, reply{decision: result.Decision, err: ofRefusing(m, result.Err)})
		}
	}
	for _, r := range m.GetSettled() {
		if u, i := c.findLocked(r.GetId(), settlement); u != nil {
			settled, err := pb.DecodeSettledAnswer(r)
			c.answerLocked(u, i, reply{settled: settled, err: ofRefusing(m, err)})
		}
	}
}

// ofRefusing is the error of an answer in m, which may come from a node that refuses every check.
func ofRefusing(m *pb.CheckStreamResponse, err error) error {
	if m.GetRefuses() && errors.Is(err, limit.ErrUnavailable) {
		return refusedError{err}
	}
	return err
}

// findLocked finds the question that an answer of that kind is for; nil if there is none.
func (c *conversation) findLocked(id uint64, by kind) (*utterance, int) {
	u, i := c.open[id>>indexBits], int(id&(1<<indexBits-1))
	if u == nil || i >= len(u.kinds) || u.kinds[i] != by {
		return nil, 0
	}
	return u, i
}

// answerLocked answers question i of u.
func (c *conversation) answerLocked(u *utterance, i int, r reply) {
	u.kinds[i] = nothing
	if u.answer != nil {
		u.answer(i, r)
	}
	c.unanswered--
	if u.left--; u.left == 0 {
		c.endLocked(u, nil)
	}
}
