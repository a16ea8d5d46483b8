package pb

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/storage/register"
)

// sampleReserved answers sampleReserve(n), to an owner that takes a count: everything is accepted as it was asked for, but the reservation
// at that index, if there is one, for which the line is taken.
func sampleReserved(n, different int) *ReservedOut {
	m := &ReservedOut{ID: 7, Asked: sampleReserve(n).Reservations[0]}
	for i := range m.Asked {
		a := asAsked(&m.Asked[i], -1e6)
		if i == different {
			a.Verdict, a.Position = register.Taken, a.Position+1
		}
		m.Answers = append(m.Answers, a)
	}
	return m
}

// asAsked is the answer to a reservation that is accepted as it was asked for.
func asAsked(m *register.Reservation, skew int64) (a register.Answer) {
	answerAsAsked(&a, m, skew)
	return a
}

// stockComplete is the slow model of Complete: each reservation looks for its answer.
func stockComplete(m *ReserveResponse, asked []register.Reservation) (answers []register.Answer, ok bool) {
	in, err := stockReserved(must(proto.Marshal(m)))
	if err != nil {
		panic(err)
	}
	last := -1
	for i, a := range m.GetAnswers() {
		index := int(a.GetIndex())
		if m.GetAccepted() == 0 && in.indexes == nil {
			index = i
		}
		if index <= last || index >= len(asked) {
			return nil, false
		}
		for last++; last < index; last++ {
			answers = append(answers, asAsked(&asked[last], m.GetSkewNs()))
		}
		answers = append(answers, in.Answers[i])
	}
	for last++; last < len(asked); last++ {
		answers = append(answers, asAsked(&asked[last], m.GetSkewNs()))
	}
	return answers, int(m.GetAccepted())+len(m.GetAnswers()) == len(asked)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// sameComplete fails t unless what data says of those reservations is what the model says.
func sameComplete(t interface{ Fatalf(string, ...any) }, data []byte, asked [][]register.Reservation) {
	var in ReservedIn
	m := new(ReserveResponse)
	if in.UnmarshalWire(data) != nil || proto.Unmarshal(data, m) != nil {
		return
	}
	var all []register.Reservation
	for _, rs := range asked {
		all = append(all, rs...)
	}
	want, ok := stockComplete(m, all)
	if err := in.Complete(asked); ok != (err == nil) {
		t.Fatalf("%x: %v, the model says %v", data, err, ok)
	}
	if ok && (len(in.Answers) != len(want) || len(want) > 0 && !reflect.DeepEqual(in.Answers, want)) {
		t.Fatalf("%x: got %+v, want %+v", data, in.Answers, want)
	}
}

// drawAnswered draws reservations and their answers, of which most are accepted as they were asked for, and others nearly so.
func drawAnswered(t *rapid.T) *ReservedOut {
	m := &ReservedOut{ID: rapid.Uint64().Draw(t, "id"), Asked: []register.Reservation{}}
	skew := rapid.Int64().Draw(t, "skew")
	for i := range rapid.IntRange(0, 8).Draw(t, "reservations") {
		r := sampleReservation(i)
		r.Generation = rapid.SampledFrom([]int64{0, 5, -1}).Draw(t, "generation")
		a := asAsked(&r, skew)
		switch rapid.IntRange(0, 12).Draw(t, "differs in") {
		case 0:
			a.Verdict = register.Verdict(rapid.IntRange(2, 9).Draw(t, "verdict"))
		case 1:
			a.Position++
		case 2:
			a.Generation++
		case 3:
			a.Epoch++
		case 4:
			a.Skew++
		case 5:
			a.Version = 5
		case 6:
			a.Ledger = []byte("ledger")
		case 7:
			a = register.Answer{Verdict: register.WrongEpoch} // of a partition that the replica does not have
		}
		m.Asked, m.Answers = append(m.Asked, r), append(m.Answers, a)
	}
	return m
}

// TestCountedAnswersArrive sends answers from one end to the other: as a count where that says all, and one by one.
func TestCountedAnswersArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawAnswered(t)
		cut := rapid.IntRange(0, len(m.Asked)).Draw(t, "cut")
		asked := [][]register.Reservation{m.Asked[:cut], nil, m.Asked[cut:]}
		for _, takes := range []bool{true, false} {
			out := *m
			if !takes {
				out.Asked = nil
			}
			data := wire(t, &out)
			sameReserved(t, data)
			sameComplete(t, data, asked)
			var in ReservedIn
			if err := in.UnmarshalWire(data); err != nil {
				t.Fatal(err)
			}
			if !takes && (in.Accepted != 0 || in.indexes != nil) {
				t.Fatalf("an owner that takes no count got %+v", in)
			}
			if err := in.Complete(asked); err != nil {
				t.Fatal(err)
			}
			for i := range m.Answers {
				if !reflect.DeepEqual(in.Answers[i], m.Answers[i]) {
					t.Fatalf("answer %d of %d: sent %+v, read %+v", i, len(m.Answers), m.Answers[i], in.Answers[i])
				}
			}
			if len(in.Answers) != len(m.Answers) || in.ID != m.ID {
				t.Fatalf("sent %+v, read %+v", m, in)
			}
		}
	})
}

// TestEncodeCountedAsProtobufDoes checks the bytes of answers of which some are counted.
func TestEncodeCountedAsProtobufDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawAnswered(t)
		stock, skew := &ReserveResponse{Id: m.ID}, int64(0)
		if first := slices.IndexFunc(m.Answers, func(a register.Answer) bool { return a.Verdict == register.Accepted }); first >= 0 {
			skew = m.Answers[first].Skew
		}
		for i, a := range m.Answers {
			if reflect.DeepEqual(a, asAsked(&m.Asked[i], skew)) {
				stock.Accepted, stock.SkewNs = stock.GetAccepted()+1, skew
				continue
			}
			stock.Answers = append(stock.Answers, &ReservationAnswer{
				Verdict: uint32(a.Verdict), PositionNs: a.Position, Generation: a.Generation, Epoch: a.Epoch, SkewNs: a.Skew,
				Version: a.Version, Ledger: a.Ledger, Floored: a.Floored, Index: uint32(i),
			})
		}
		sameBytes(t, m, stock)
	})
}

// TestAnswersThatDoNotFit completes answers that do not fit what was asked.
func TestAnswersThatDoNotFit(t *testing.T) {
	at := func(index uint32) *ReservationAnswer { return &ReservationAnswer{Verdict: 2, Index: index} }
	for says, m := range map[string]*ReserveResponse{
		"":                          {Accepted: 2, Answers: []*ReservationAnswer{at(1)}},
		"0 answers to 3":            {},
		"2 answers to 3":            {Accepted: 2},
		"4 answers to 3":            {Accepted: 4},
		"4294967295 answers":        {Accepted: 1<<32 - 1},
		"5 answers to 3":            {Accepted: 3, Answers: []*ReservationAnswer{at(0), at(1)}},
		"reservation 3 of 3":        {Accepted: 2, Answers: []*ReservationAnswer{at(3)}},
		"reservation 4294967295 of": {Accepted: 2, Answers: []*ReservationAnswer{at(1<<32 - 1)}},
		"reservation 2 of 3":        {Accepted: 1, Answers: []*ReservationAnswer{at(2), at(2)}},
		"reservation 1 of 3":        {Accepted: 1, Answers: []*ReservationAnswer{at(2), at(1)}},
		"reservation 0 of 3":        {Accepted: 1, Answers: []*ReservationAnswer{at(0), at(0)}},
		"reservation 7 of 3":        {Answers: []*ReservationAnswer{at(0), at(1), at(7)}},
	} {
		data := must(proto.Marshal(m))
		sameComplete(t, data, sampleReserve(3).Reservations)
		var in ReservedIn
		if err := in.UnmarshalWire(data); err != nil {
			t.Fatal(err)
		}
		err := in.Complete(sampleReserve(3).Reservations)
		if (err == nil) != (says == "") || !strings.Contains(fmt.Sprint(err), says) && says != "" {
			t.Errorf("%v: %v, want %q", m, err, says)
		}
	}
}

// TestCountsAreSmall checks how many bytes the answer to a full message takes that was accepted as it was asked for.
func TestCountsAreSmall(t *testing.T) {
	m := sampleReserved(MaxReservations, -1)
	if data := wire(t, m); len(data) > 10 || m.WireRoom() > 64 {
		t.Errorf("%d bytes, for which there was room of %d", len(data), m.WireRoom())
	}
	one := sampleReserved(MaxReservations, 500)
	if data := wire(t, one); len(data) > 10+usualAnswer {
		t.Errorf("%d bytes with one answer", len(data))
	}
}
