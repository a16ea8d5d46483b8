package nodes

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A stage is a conversation over a stream of which a test is the other end.
type stage struct {
	t *testing.T
	*conversation

	sent  chan *pb.CheckStreamRequest
	gate  chan struct{} // closed when what is sent need not wait
	said  chan *pb.CheckStreamResponse
	last  chan error // ends the stream
	shut  bool       // the conversation has closed its side
	stale []uint64
	left  []uint64 // given up, as the last message said
	over  bool     // held no more
	err   error
}

// A stageStream is the conversation's end.
type stageStream struct {
	grpc.ClientStream
	*stage
	ctx context.Context //nolint:containedctx // it is that of a stream
}

func (s *stageStream) Context() context.Context { return s.ctx }

func (s *stageStream) Send(m *pb.CheckStreamRequest) error {
	s.sent <- m
	<-s.gate
	return nil
}

func (s *stageStream) CloseSend() error {
	s.shut = true
	return nil
}

func (s *stageStream) Recv() (*pb.CheckStreamResponse, error) {
	select {
	case m := <-s.said:
		return m, nil
	case err := <-s.last:
		return nil, err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// raise begins a conversation. To be called in a bubble of synctest.
func raise(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, conversation: newConversation(true), sent: make(chan *pb.CheckStreamRequest, 20), gate: make(chan struct{}), said: make(chan *pb.CheckStreamResponse), last: make(chan error)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		s.err = s.run(&stageStream{stage: s, ctx: ctx}, cancel, func(version uint64) { s.stale = append(s.stale, version) })
		s.end(s.err)
		s.over = true
	}()
	synctest.Wait()
	return s
}

// An asking is questions that are asked.
type asking struct {
	u       *utterance
	replies []*reply // nil where there is none
}

// asks asks questions of which the callers leave after that time: checks of these keys, or settlements where a key is empty.
func (s *stage) asks(within time.Duration, keys ...string) *asking {
	s.t.Helper()
	questions := make([]question, len(keys))
	for i, key := range keys {
		if questions[i].check = (&pb.CheckRequest{Key: key}); key == "" {
			questions[i] = question{settlement: &pb.SettleRequest{}}
		}
	}
	a := &asking{replies: make([]*reply, len(keys))}
	a.u, _ = s.ask(time.Now().Add(within), questions, func(i int, r reply) {
		if a.replies[i] != nil {
			s.t.Errorf("question %d was answered twice", i)
		}
		a.replies[i] = &r
	})
	return a
}

// hears returns the next message, with the id of each key.
func (s *stage) hears(want ...string) map[string]uint64 {
	s.t.Helper()
	synctest.Wait()
	var m *pb.CheckStreamRequest
	select {
	case m = <-s.sent:
	default:
		s.t.Fatalf("nothing was sent, want %q", want)
	}
	ids, keys := map[string]uint64{}, []string{}
	for _, c := range m.GetChecks() {
		ids[c.GetCheck().GetKey()] = c.GetId()
		keys = append(keys, c.GetCheck().GetKey())
	}
	for _, c := range m.GetSettlements() {
		ids[""] = c.GetId()
		keys = append(keys, "")
	}
	ids["within"] = uint64(m.GetWithinNs())
	s.left = m.GetGivenUp()
	if !slices.Equal(keys, want) {
		s.t.Errorf("sent %q, want %q", keys, want)
	}
	return ids
}

// says answers checks.
func (s *stage) says(ids ...uint64) {
	s.t.Helper()
	m := &pb.CheckStreamResponse{}
	for _, id := range ids {
		m.Results = append(m.Results, &pb.StreamResult{Id: id, Result: &pb.CheckResult{Result: &pb.CheckResult_Decision{Decision: &pb.Decision{Allowed: true}}}})
	}
	s.said <- m
	synctest.Wait()
}

// ended says whether the questions have ended.
func (a *asking) ended() bool {
	select {
	case <-a.u.ended:
		return true
	default:
		return false
	}
}

// TestConversation asks in several messages, of which those go together that wait while one is sent. They are answered in any order, and
// what answers no question is passed over.
func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		var first *asking
		go func() { first = s.asks(time.Second, "a", "b") }()
		synctest.Wait()
		second, third := s.asks(2*time.Second, "c", ""), s.asks(3*time.Second, "d")
		one := s.hears("a", "b")
		if one["within"] != uint64(time.Second) {
			t.Errorf("the message is waited for for %d ns", one["within"])
		}
		close(s.gate)
		two := s.hears("c", "d", "")
		if two["within"] != uint64(3*time.Second) {
			t.Errorf("both messages are waited for for %d ns, want the longer", two["within"])
		}
		s.says(two["d"], one["b"], one["b"], two[""], two["d"]+7, 1<<40)
		if !third.ended() || first.ended() || second.ended() || first.replies[0] != nil || second.replies[1] != nil || !first.replies[1].decision.Allowed {
			t.Errorf("after the first answers: %v %v %v", first, second, third)
		}
		s.says(one["a"], two["c"])
		if !first.ended() || second.ended() {
			t.Error("the answers to checks ended a settlement, or not their checks")
		}
		s.said <- &pb.CheckStreamResponse{Settled: []*pb.StreamSettled{
			{Id: two["c"]}, {Id: two[""], Result: &pb.StreamSettled_Settled{Settled: &pb.SettleResponse{Charged: 3}}},
		}}
		synctest.Wait()
		if !second.ended() || second.replies[1].settled.Charged != 3 {
			t.Errorf("the settlement was answered %+v", second.replies[1])
		}
	})
}

// TestConversationDeadlines has messages wait, of which one has callers that leave soon: it does not share the time of the others.
func TestConversationDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		go s.asks(time.Second, "a")
		synctest.Wait()
		s.asks(5*time.Second, "b")
		s.asks(50*time.Millisecond, "c")
		s.asks(6*time.Second, "d")
		s.hears("a")
		close(s.gate)
		if m := s.hears("b", "d"); m["within"] != uint64(6*time.Second) {
			t.Errorf("the first two are waited for for %d ns, want the longer", m["within"])
		}
		if m := s.hears("c"); m["within"] != uint64(50*time.Millisecond) {
			t.Errorf("the one between is waited for for %d ns", m["within"])
		}
	})
}

// TestConversationIsFull bounds what is unanswered: what its callers have given up counts until it is answered.
func TestConversationIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		keys := make([]string, maxUnanswered-1)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}
		most := s.asks(time.Second, keys...)
		ids := s.hears(keys...)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.await(gone, most.u); !errors.Is(err, context.Canceled) {
			t.Errorf("whose callers have left: %v", err)
		}
		s.hears()
		if len(s.left) != len(keys) {
			t.Errorf("%d checks were given up, and the node was told of %d", len(keys), len(s.left))
		}
		if s.asks(time.Second, "x", "y").u != nil {
			t.Error("two more were taken, where one has room")
		}
		if s.asks(time.Second, "x").u == nil {
			t.Error("the last one was not taken")
		}
		s.hears("x")
		s.says(ids["0"])
		if most.replies[0] != nil {
			t.Error("an answer was handed out that nobody waits for")
		}
		if s.asks(time.Second, "y").u == nil {
			t.Error("nothing was taken after an answer")
		}
		s.hears("y")
	})
}

// TestConversationThatIsNotRead has a node that reads nothing: Send does not return, and the conversation ends all the same.
func TestConversationThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		go s.asks(time.Second, "a")
		synctest.Wait()
		pass(talkFor + overdue + time.Second)
		if !s.over || !errors.Is(s.err, errLost) {
			t.Errorf("it is over: %t, %v", s.over, s.err)
		}
		close(s.gate)
	})
}

// TestConversationGivesUp has callers leave: what is not sent is not asked, and of what is sent the node is told, but for what is answered.
func TestConversationGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		leave := func(a *asking) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.await(ctx, a.u); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that has left: %v", err)
			}
		}
		var sent *asking
		go func() { sent = s.asks(time.Minute, "a", "", "b") }()
		synctest.Wait()
		waits, stays := s.asks(time.Minute, "c"), s.asks(time.Minute, "d")
		leave(waits)
		one := s.hears("a", "b", "")
		close(s.gate)
		two := s.hears("d")
		s.says(one["b"])
		leave(sent)
		s.hears()
		if want := []uint64{one["a"], one[""]}; !slices.Equal(s.left, want) {
			t.Errorf("the node was told of %v, want %v", s.left, want)
		}
		s.says(one["a"], two["d"])
		if !stays.ended() {
			t.Error("who has not left got no answer")
		}
		synctest.Wait()
		if sent.replies[0] != nil || len(s.sent) > 0 {
			t.Error("an answer was handed out that nobody waits for, or the node was told of one that it gave")
		}
		if s.unanswered != 1 || len(s.open) != 1 {
			t.Errorf("%d questions are unanswered, want the settlement alone", s.unanswered)
		}
	})
}

// TestConversationTakesBytes bounds what is under way in bytes, so that nobody waits to send. What is longer by itself has a conversation of its
// own, for of a frozen node it would hold up whoever speaks next.
func TestConversationTakesBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		huge := strings.Repeat("k", maxBytes)
		if s.asks(time.Second, huge).u != nil {
			t.Error("a long check was taken among others")
		}
		s.alone = true
		if s.asks(time.Second, huge).u == nil {
			t.Fatal("a long check was not taken alone")
		}
		s.alone = false
		if s.asks(time.Second, "k").u != nil {
			t.Error("another check was taken beside a long one")
		}
		s.says(s.hears(huge)[huge])
		for range 15 {
			if s.asks(time.Second, huge[:maxBytes/16]).u == nil {
				t.Error("what has room was not taken")
			}
		}
		if s.asks(time.Second, huge[:maxBytes/16]).u != nil {
			t.Error("what has no room was taken")
		}
	})
}

// TestConversationNeverWaitsToSend has a node that reads nothing: all that is said to it fits into what grpc takes ahead, though each check
// goes by itself and is given up by itself.
func TestConversationNeverWaitsToSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		const head = 5 // of a message
		bytes := 0
		for i := range maxUnanswered {
			s.conversation.last = 1 << 20 * uint64(i+1) // a conversation that has lasted
			a := s.asks(time.Minute, strings.Repeat("k", 40))
			if a.u == nil {
				break
			}
			bytes += head + proto.Size(<-s.sent)
			_ = s.await(gone, a.u) // it has ended with gone
			bytes += head + proto.Size(<-s.sent)
		}
		if bytes > 64<<10 {
			t.Errorf("%d bytes were said", bytes)
		}
	})
}

// TestConversationAnswersInTime has an answer come with the end of its caller: it counts, for it has taken tokens.
func TestConversationAnswersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			a := s.asks(time.Second, "a")
			s.says(s.hears("a")["a"])
			if err := s.await(gone, a.u); err != nil {
				t.Fatalf("answered, and %v", err)
			}
		}
	})
}

// TestConversationEnds takes no questions after its time, and ends when the last one is answered.
func TestConversationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		pass(talkFor - time.Millisecond)
		a := s.asks(time.Minute, "a")
		ids := s.hears("a")
		pass(time.Millisecond)
		if s.asks(time.Second, "b").u != nil || !s.shut || s.over {
			t.Error("after its time it took a question, did not close its side, or did not wait for the answer")
		}
		s.says(ids["a"])
		s.last <- io.EOF
		synctest.Wait()
		if !a.ended() || a.u.err != nil || !s.over {
			t.Errorf("at its end: %v", a.u.err)
		}
	})
}

// TestConversationThatIsLost ends when a node leaves a question unanswered, and at once when the stream ends: with it what is unanswered.
func TestConversationThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		a := s.asks(time.Minute, "a")
		s.hears("a")
		pass(time.Minute + overdue - time.Millisecond)
		if a.ended() {
			t.Error("it ended before its time")
		}
		pass(2 * time.Millisecond)
		if !a.ended() || !errors.Is(a.u.err, errLost) || !s.over {
			t.Errorf("a question without an answer: %v", a.u.err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		a, b := s.asks(time.Minute, "a"), s.asks(time.Minute, "b")
		ids := s.hears("a")
		s.says(ids["a"])
		s.last <- io.ErrClosedPipe
		synctest.Wait()
		if !a.ended() || a.u.err != nil || !b.ended() || !errors.Is(b.u.err, io.ErrClosedPipe) || !s.over {
			t.Errorf("when the stream broke: %v and %v", a.u.err, b.u.err)
		}
		if s.asks(time.Minute, "c").u != nil {
			t.Error("a question was taken after the end")
		}
	})
}

// TestConversationWithOneThatRefuses hears what a node says of itself beside its answers.
func TestConversationWithOneThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t)
		close(s.gate)
		a := s.asks(time.Minute, "a", "b")
		ids := s.hears("a", "b")
		failed := func(id uint64, err error) *pb.StreamResult {
			return &pb.StreamResult{Id: id, Result: &pb.CheckResult{Result: &pb.CheckResult_Error{Error: pb.EncodeError(err).Proto()}}}
		}
		s.said <- &pb.CheckStreamResponse{
			TableVersion: 7, Refuses: true,
			Results: []*pb.StreamResult{failed(ids["a"], limit.ErrUnavailable), failed(ids["b"], limit.ErrUnknownLimit)},
		}
		synctest.Wait()
		_, all := errors.AsType[refusedError](a.replies[0].err)
		_, unknown := errors.AsType[refusedError](a.replies[1].err)
		if !all || unknown || !slices.Equal(s.stale, []uint64{7}) {
			t.Errorf("heard %v and %v, and of the tables %v", a.replies[0].err, a.replies[1].err, s.stale)
		}
	})
}

// TestTalks keeps one conversation over each connection, while its marks are those of now.
func TestTalks(t *testing.T) {
	var all talks
	opened := 0
	with := func(conn int, routed bool) *conversation {
		return all.with(conn, routed, func(*conversation) bool { opened++; return true })
	}
	first := with(1, false)
	if with(1, false) != first || opened != 1 {
		t.Errorf("a second question opened conversation %d", opened)
	}
	if with(0, false) == first || opened != 2 {
		t.Error("connections share a conversation")
	}
	routed := with(1, true)
	if routed == first || !first.ends() || !routed.routed || opened != 3 {
		t.Error("a call by the table went into a conversation without marks")
	}
	routed.close()
	if with(1, true) == routed || opened != 4 {
		t.Error("no conversation follows one that is over")
	}
	if all.with(2, true, func(*conversation) bool { return false }) != nil {
		t.Error("a conversation that was not opened is there")
	}
}
