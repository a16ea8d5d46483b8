package peers

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// A script is the other end of a stream: what the node would say to a message.
type script struct {
	ctx   context.Context //nolint:containedctx // as a grpc.ClientStream has one
	sent  chan *pb.ReserveIn
	said  chan *pb.ReservedIn
	stuck atomic.Bool // nothing can be sent
}

func (s *script) SendMsg(m any) error {
	if s.stuck.Load() {
		<-s.ctx.Done()
		return io.EOF
	}
	in := new(pb.ReserveIn)
	if err := in.UnmarshalWire(m.(written)); err != nil {
		return err
	}
	s.sent <- in
	return nil
}

func (s *script) RecvMsg(m any) error {
	select {
	case in := <-s.said:
		*m.(*pb.ReservedIn) = *in
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// scripted starts a stream whose other end is the test.
func scripted(t *testing.T) (*reserving, *script, <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &script{ctx: ctx, sent: make(chan *pb.ReserveIn, 100), said: make(chan *pb.ReservedIn, 100)}
	r := newReserving(s, cancel, atMidday, newMetrics().of("node"))
	end := make(chan error, 1)
	go func() { end <- r.serve(ctx) }()
	t.Cleanup(func() { cancel(errors.New("the test is over")) })
	return r, s, end
}

// accepted is the answer that accepts a message.
func accepted(in *pb.ReserveIn) *pb.ReservedIn {
	out := &pb.ReservedIn{ID: in.ID}
	for _, m := range in.Reservations {
		out.Answers = append(out.Answers, reg.Answer{Verdict: reg.Accepted, Position: m.To, Epoch: m.Epoch})
	}
	return out
}

// ask reserves, and says what came of it.
func ask(t *testing.T, r *reserving, rs []reg.Reservation) <-chan outcome {
	t.Helper()
	got := make(chan outcome, 2)
	if err := r.reserve(rs, func(answers []reg.Answer, err error) { got <- outcome{answers, err} }); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFrozenNode reserves at a node that does not answer: after two seconds the stream is given up.
func TestFrozenNode(t *testing.T) {
	for what, stuck := range map[string]bool{"takes messages": false, "takes none": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, s, ended := scripted(t)
				s.stuck.Store(stuck)
				start := time.Now()
				got := ask(t, r, someReservations(0, 1))
				more := ask(t, r, someReservations(1, 2500))
				if o := <-got; !errors.Is(o.err, errSilent) {
					t.Errorf("got %v, want %v", o.err, errSilent)
				}
				if o := <-more; !errors.Is(o.err, errSilent) {
					t.Errorf("the others got %v, want %v", o.err, errSilent)
				}
				if took := time.Since(start); took != answerWithin {
					t.Errorf("given up after %v, want %v", took, answerWithin)
				}
				if err := <-ended; !errors.Is(err, errSilent) {
					t.Errorf("the stream ended with %v", err)
				}
				if err := r.reserve(someReservations(0, 1), nil); !errors.Is(err, errSilent) {
					t.Errorf("afterwards: %v, want an error at once", err)
				}
			})
		})
	}
}

// TestSlowNode reserves at a node whose disk is slow: as long as something is heard, it is not frozen.
func TestSlowNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, _ := scripted(t)
		first := ask(t, r, someReservations(0, 1))
		late := <-s.sent
		for i := range 20 {
			time.Sleep(900 * time.Millisecond) //nolint:forbidigo // of the bubble
			got := ask(t, r, someReservations(1+i, 1))
			s.said <- accepted(<-s.sent)
			if o := <-got; o.err != nil {
				t.Fatalf("another: %v", o.err)
			}
		}
		s.said <- accepted(late)
		if o := <-first; o.err != nil || len(o.answers) != 1 || o.answers[0].Verdict != reg.Accepted {
			t.Errorf("the late one got %+v", o)
		}
	})
}

// TestIdleNode asks a node with nothing to do whether it is there: it costs nothing while it answers, and soon shows when it
// does not.
func TestIdleNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, ended := scripted(t)
		start := time.Now()
		for i := range 3 {
			ping := <-s.sent
			if at := time.Duration(i+1) * pingPeerEvery; time.Since(start) != at || ping.Len != 0 {
				t.Errorf("asked with %d reservations after %v, want none after %v", ping.Len, time.Since(start), at)
			}
			s.said <- accepted(ping)
		}
		if err := <-ended; !errors.Is(err, errSilent) || time.Since(start) != 4*pingPeerEvery+answerWithin {
			t.Errorf("ended with %v after %v", err, time.Since(start))
		}
	})
}

// TestGathering checks that all that waits goes in one message, in order, stamped, and in as many as it takes.
func TestGathering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, _ := scripted(t)
		s.sent = make(chan *pb.ReserveIn) // so that the sender waits for the test
		got := []<-chan outcome{ask(t, r, someReservations(0, 1))}
		synctest.Wait() // the first one is on its way by itself
		from := 1
		for _, n := range []int{400, 400, 2500, 1, 3} {
			got = append(got, ask(t, r, someReservations(from, n)))
			from += n
		}
		other := someReservations(from, 3) // one of this writer, two of another
		other[1].Writer, other[2].Writer = reg.Writer{2}, reg.Writer{2}
		got = append(got, ask(t, r, other))
		next := uint64(1)
		for _, want := range []int{1, 1000, 1000, 1000, 305, 2} {
			in := <-s.sent
			if in.Len != want || in.Now != midday {
				t.Errorf("a message has %d reservations and the time %d, want %d and %d", in.Len, in.Now, want, midday)
			}
			for _, m := range in.Reservations {
				if m.Seq != next || m.Writer != in.Reservations[0].Writer {
					t.Fatalf("%d is sent where %d is next", m.Seq, next)
				}
				next++
			}
			s.said <- accepted(in)
		}
		for i, n := range []int{1, 400, 400, 2500, 1, 3, 3} {
			if o := <-got[i]; o.err != nil || len(o.answers) != n || o.answers[n-1].Verdict != reg.Accepted {
				t.Errorf("batch %d: %d answers and %v, want %d", i, len(o.answers), o.err, n)
			}
		}
	})
}

// TestLongMessages checks that messages stay far below what grpc takes.
func TestLongMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, _ := scripted(t)
		rs := someReservations(0, 3*maxAskedBytes/reg.MaxLedger)
		for i := range rs {
			rs[i].Ledger = make([]byte, reg.MaxLedger)
		}
		got := ask(t, r, rs)
		for left := len(rs); left > 0; {
			in := <-s.sent
			if in.Len == 0 || in.Len*reg.MaxLedger > maxAskedBytes {
				t.Fatalf("a message has %d reservations of %d bytes each", in.Len, reg.MaxLedger)
			}
			left -= in.Len
			s.said <- accepted(in)
		}
		if o := <-got; o.err != nil || len(o.answers) != len(rs) {
			t.Errorf("got %+v", o)
		}
	})
}

// TestRefusedMessage answers one part of a batch with an error: the batch fails, when every part of it is answered, and the
// stream goes on.
func TestRefusedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, _ := scripted(t)
		got := ask(t, r, someReservations(0, 1500))
		first, second := <-s.sent, <-s.sent
		s.said <- &pb.ReservedIn{ID: first.ID, Error: "the store is closed"}
		synctest.Wait()
		if len(got) > 0 {
			t.Error("answered before all was")
		}
		s.said <- accepted(second)
		if o := <-got; o.err == nil || o.err.Error() != "the store is closed" || o.answers != nil {
			t.Errorf("got %+v", o)
		}
		again := ask(t, r, someReservations(0, 1))
		s.said <- accepted(<-s.sent)
		if o := <-again; o.err != nil {
			t.Errorf("afterwards: %v", o.err)
		}
	})
}

// arriving is a message as the owner reads it.
func arriving(m *pb.ReserveResponse) *pb.ReservedIn {
	data, err := proto.Marshal(m)
	in := new(pb.ReservedIn)
	if err = errors.Join(err, in.UnmarshalWire(data)); err != nil {
		panic(err)
	}
	return in
}

// TestCountedAnswers lets a node count what it has accepted of several batches, and answer the rest: each batch gets its own answers, in their
// order, also those of a batch that goes in two messages.
func TestCountedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, _ := scripted(t)
		s.sent = make(chan *pb.ReserveIn)
		blocked := ask(t, r, someReservations(0, 1)) // so that the others wait and go together
		synctest.Wait()
		asks := [][]reg.Reservation{someReservations(1, 2), someReservations(3, 1), someReservations(4, pb.MaxReservations)}
		var got []<-chan outcome
		for i := range asks {
			for k := range asks[i] {
				asks[i][k].Generation = 7
			}
			got = append(got, ask(t, r, asks[i]))
		}
		taken := func(index uint32) *pb.ReservationAnswer {
			return &pb.ReservationAnswer{Verdict: uint32(reg.Taken), PositionNs: midday + int64(index), Index: index}
		}
		s.said <- arriving(&pb.ReserveResponse{Id: (<-s.sent).ID, Accepted: 1})
		full, rest := <-s.sent, <-s.sent
		s.said <- arriving(&pb.ReserveResponse{Id: rest.ID, Accepted: uint32(rest.Len) - 1, SkewNs: 9, Answers: []*pb.ReservationAnswer{taken(0)}})
		s.said <- arriving(&pb.ReserveResponse{Id: full.ID, Accepted: uint32(full.Len) - 3, SkewNs: -5, Answers: []*pb.ReservationAnswer{taken(1), taken(2), taken(999)}})
		if o := <-blocked; o.err != nil || o.answers[0].Position != someReservation(0).To {
			t.Errorf("the first got %+v", o)
		}
		if full.Len != pb.MaxReservations || rest.Len != 3 {
			t.Fatalf("messages of %d and %d reservations", full.Len, rest.Len)
		}
		at := 0
		for i := range asks {
			o := <-got[i]
			if o.err != nil || len(o.answers) != len(asks[i]) {
				t.Fatalf("batch %d got %d answers and %v", i, len(o.answers), o.err)
			}
			for k, a := range o.answers {
				skew, index := int64(-5), at
				if at >= full.Len {
					skew, index = 9, at-full.Len
				}
				want := reg.Answer{Verdict: reg.Accepted, Position: asks[i][k].To, Generation: 7, Epoch: 1, Skew: skew}
				if at == 1 || at == 2 || at == 999 || at == full.Len {
					want = reg.Answer{Verdict: reg.Taken, Position: midday + int64(index)}
				}
				if !reflect.DeepEqual(a, want) {
					t.Fatalf("reservation %d got %+v, want %+v", at, a, want)
				}
				at++
			}
		}
	})
}

// TestOddAnswers lets a node answer what makes no sense: the stream ends, and everybody hears why, once.
func TestOddAnswers(t *testing.T) {
	for says, odd := range map[string]func(in *pb.ReserveIn) *pb.ReservedIn{
		"message 77, which is not open": func(*pb.ReserveIn) *pb.ReservedIn { return &pb.ReservedIn{ID: 77} },
		"0 answers to 3 reservations":   func(in *pb.ReserveIn) *pb.ReservedIn { return &pb.ReservedIn{ID: in.ID} },
		"the unknown verdict 0": func(in *pb.ReserveIn) *pb.ReservedIn {
			return &pb.ReservedIn{ID: in.ID, Answers: make([]reg.Answer, 3)}
		},
		"the unknown verdict 200": func(in *pb.ReserveIn) *pb.ReservedIn {
			out := accepted(in)
			out.Answers[2].Verdict = 200
			return out
		},
		"4 answers to 3 reservations": func(in *pb.ReserveIn) *pb.ReservedIn { return &pb.ReservedIn{ID: in.ID, Accepted: 4} },
		"2 answers to 3 reservations": func(in *pb.ReserveIn) *pb.ReservedIn { return &pb.ReservedIn{ID: in.ID, Accepted: 2} },
		"reservation 3 of 3 out of order": func(in *pb.ReserveIn) *pb.ReservedIn {
			return arriving(&pb.ReserveResponse{Id: in.ID, Accepted: 2, Answers: []*pb.ReservationAnswer{{Verdict: uint32(reg.Taken), Index: 3}}})
		},
		"the unknown verdict 201": func(in *pb.ReserveIn) *pb.ReservedIn {
			return arriving(&pb.ReserveResponse{Id: in.ID, Accepted: 2, Answers: []*pb.ReservationAnswer{{Verdict: 201}}})
		},
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, s, ended := scripted(t)
				got := ask(t, r, someReservations(0, 3))
				in := <-s.sent
				more := ask(t, r, someReservations(3, 3))
				s.said <- odd(in)
				for _, c := range []<-chan outcome{got, more} {
					if o := <-c; o.err == nil || !strings.Contains(o.err.Error(), says) {
						t.Errorf("got %+v, want an error with %q", o, says)
					}
				}
				wantText(t, <-ended, says)
				synctest.Wait()
				if len(got)+len(more) > 0 {
					t.Error("answered twice")
				}
			})
		})
	}
}

// TestBounds checks what is refused at once.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, _ := scripted(t)
		s.sent = make(chan *pb.ReserveIn)
		none := ask(t, r, nil)
		if o := <-none; o.err != nil || len(o.answers) != 0 {
			t.Errorf("nothing: %+v", o)
		}
		large := ask(t, r, someReservations(0, maxAsked+1)) // alone it is taken
		if err := r.reserve(someReservations(0, 1), nil); !errors.Is(err, limit.ErrOverloaded) {
			t.Errorf("one more: %v, want %v", err, limit.ErrOverloaded)
		}
		for range (maxAsked + pb.MaxReservations) / pb.MaxReservations {
			s.said <- accepted(<-s.sent)
		}
		if o := <-large; o.err != nil || len(o.answers) != maxAsked+1 {
			t.Errorf("%d answers and %v", len(o.answers), o.err)
		}
		again := ask(t, r, someReservations(0, 1))
		s.said <- accepted(<-s.sent)
		if o := <-again; o.err != nil {
			t.Errorf("when there was room again: %v", o.err)
		}
	})
}
