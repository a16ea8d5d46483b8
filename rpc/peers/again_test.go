package peers

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage/difference"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// differingScript is a stream whose other end is the test, and takes differences.
func differingScript(t *testing.T) (*reserving, *script, <-chan error) {
	t.Helper()
	r, s, end := scripted(t)
	r.sent = newSentLedgers(1 << 20)
	return r, s, end
}

// writes are reservations that write ledgers, of buckets of their own.
func writes(n int, last byte) []reg.Reservation {
	rs := someReservations(0, n)
	for i := range rs {
		rs[i].Ledger = append(bytes.Repeat([]byte{byte(i), 1, 2, 3, 4, 5, 6, 7}, 50), last)
	}
	return rs
}

// taught is a stream on which the ledgers of that many buckets have been sent before.
func taught(t *testing.T, n int) (*reserving, *script, <-chan error) {
	t.Helper()
	r, s, end := differingScript(t)
	got := ask(t, r, writes(n, 'a'))
	s.said <- accepted(await(t, s.sent))
	await(t, got)
	return r, s, end
}

// otherBases is the answer of a node that asks for the whole of some reservations of a message.
func otherBases(in *pb.ReserveIn, which ...int) *pb.ReservedIn {
	out := accepted(in)
	for _, i := range which {
		out.Answers[i] = reg.Answer{Verdict: reg.OtherBase}
	}
	return out
}

// TestOtherBase has a node ask for the whole of some of what it was sent as differences: just that is sent again, whole, and who asked
// hears once, of everything and in order. Others are answered meanwhile.
func TestOtherBase(t *testing.T) {
	r, s, _ := taught(t, 6)
	got := ask(t, r, writes(4, 'b'))
	in := await(t, s.sent)
	for i := range in.Reservations {
		if m := &in.Reservations[i]; len(m.Ledger) > 0 || difference.Length(m.Difference) != 401 {
			t.Errorf("the ledger went as %d bytes, and a difference of %d", len(m.Ledger), len(m.Difference))
		}
	}
	s.said <- otherBases(in, 0, 2, 3)
	again := await(t, s.sent)
	if len(again.Reservations) != 3 {
		t.Fatalf("%d reservations were sent again", len(again.Reservations))
	}
	for i, want := range []string{"user:0", "user:2", "user:3"} {
		if m := &again.Reservations[i]; m.Key != want || len(m.Difference) > 0 || len(m.Ledger) != 401 || m.Ledger[400] != 'b' {
			t.Errorf("sent again was %s with %d bytes", m.Key, len(m.Ledger))
		}
	}
	others := ask(t, r, writes(6, 'c')[4:])
	s.said <- accepted(await(t, s.sent))
	if o := await(t, others); o.err != nil || len(o.answers) != 2 {
		t.Errorf("the others got %+v", o)
	}
	if len(got) > 0 {
		t.Fatalf("answered before all was: %+v", <-got)
	}
	out := accepted(again)
	for i := range out.Answers {
		out.Answers[i].Position += int64(i) + 1
	}
	s.said <- out
	o := await(t, got)
	if o.err != nil || len(o.answers) != 4 {
		t.Fatalf("got %+v", o)
	}
	for i, more := range []int64{1, 0, 2, 3} {
		if a := o.answers[i]; a.Verdict != reg.Accepted || a.Position != midday+1e6+more {
			t.Errorf("the %d-th answer is %+v", i, a)
		}
	}
	more := ask(t, r, writes(4, 'd'))
	if in = await(t, s.sent); len(in.Reservations[0].Difference) == 0 {
		t.Error("after the whole, the next one goes whole too")
	}
	s.said <- accepted(in)
	await(t, more)
	if len(got) > 0 || r.unanswered != 0 {
		t.Errorf("%d are unanswered", r.unanswered)
	}
}

// TestBrokenWhileTheWholeIsSent breaks the stream while a node waits for the whole of something: who asked hears an error, once.
func TestBrokenWhileTheWholeIsSent(t *testing.T) {
	for name, of := range map[string][]int{"all of it": {0, 1, 2}, "one of it": {1}} {
		t.Run(name, func(t *testing.T) {
			r, s, end := taught(t, 3)
			got := ask(t, r, writes(3, 'b'))
			s.said <- otherBases(await(t, s.sent), of...)
			await(t, s.sent)
			r.breakUp(errors.New("the cable was cut"))
			if err := <-end; err == nil {
				t.Error("the stream has ended without an error")
			}
			if o := await(t, got); o.err == nil || o.answers != nil {
				t.Errorf("got %+v", o)
			}
			if len(got) > 0 {
				t.Errorf("and then %+v", <-got)
			}
		})
	}
}

// TestTheWholeIsAskedForOnce ends the stream to a node that asks for the whole of what went whole: it would ask for ever.
func TestTheWholeIsAskedForOnce(t *testing.T) {
	r, s, end := taught(t, 1)
	got := ask(t, r, writes(1, 'b'))
	s.said <- otherBases(await(t, s.sent), 0)
	s.said <- otherBases(await(t, s.sent), 0)
	if err := await(t, end); err == nil || !strings.Contains(err.Error(), "asked for the whole of what it was sent whole") {
		t.Errorf("the stream ended with %v", err)
	}
	if o := await(t, got); o.err == nil {
		t.Errorf("got %+v", o)
	}
}

// TestAnErrorHasNoAnswers hears a node that sends an error and answers: the error counts.
func TestAnErrorHasNoAnswers(t *testing.T) {
	r, s, _ := taught(t, 2)
	got := ask(t, r, writes(2, 'b'))
	out := otherBases(await(t, s.sent), 0)
	out.Error = "the disk is full"
	s.said <- out
	if o := await(t, got); o.err == nil || o.err.Error() != out.Error {
		t.Errorf("got %+v", o)
	}
	if len(s.sent) > 0 {
		t.Error("something was sent again")
	}
}

// TestSmallLedgersGoWhole sends ledgers that are hardly longer than what says of which ledgers a difference is, and ledgers that have
// nothing in common with those before.
func TestSmallLedgersGoWhole(t *testing.T) {
	r, s, _ := taught(t, 1)
	small, other := writes(1, 'b'), writes(1, 'b')
	small[0].Ledger = small[0].Ledger[:minDiffering-1]
	other[0].Ledger = make([]byte, 400)
	for i := range other[0].Ledger {
		other[0].Ledger[i] = byte(rand.Uint32())
	}
	for name, rs := range map[string][]reg.Reservation{"small": small, "other": other} {
		got := ask(t, r, rs)
		in := await(t, s.sent)
		if m := in.Reservations[0]; len(m.Difference) > 0 || !bytes.Equal(m.Ledger, rs[0].Ledger) {
			t.Errorf("%s: it went as %d bytes and a difference of %d", name, len(m.Ledger), len(m.Difference))
		}
		s.said <- accepted(in)
		await(t, got)
	}
}

// TestLedgersOfAMessageAreBounded counts what differences become: a small message is not to make a replica write hundreds of
// megabytes, and ledgers that are unanswered take the room of many reservations.
func TestLedgersOfAMessageAreBounded(t *testing.T) {
	from := make([]byte, reg.MaxLedger)
	d := new(difference.Maker).Append(nil, from, difference.SumOf(from), from, difference.SumOf(from))
	in := &pb.ReserveIn{ID: 1, Now: midday, Writer: string(make([]byte, 16)), Len: pb.MaxReservations, Reservations: someReservations(0, pb.MaxReservations)}
	if problem := reserveProblem(in); problem != "" {
		t.Fatal(problem)
	}
	const fit = maxLedgers / reg.MaxLedger
	for i := range fit {
		in.Reservations[i].Difference = d
	}
	if problem, n := reserveProblem(in), ledgerBytes(in); problem != "" || n != fit*reg.MaxLedger {
		t.Errorf("%d bytes: %s", n, problem)
	}
	in.Reservations[fit].Difference = d
	if problem := reserveProblem(in); !strings.Contains(problem, "too many for one message") {
		t.Errorf("one more is no problem: %q", problem)
	}
}
