package pb

import (
	"bytes"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

func sampleReservation(i int) register.Reservation {
	return register.Reservation{
		Seq: uint64(i) + 1, Epoch: 3, Partition: ring.Partition(i % 271), Key: "user:" + strconv.Itoa(i), Limit: "login",
		From: 1_800_000_000_000_000_000, To: 1_800_000_000_100_000_000, Reach: 10e9,
	}
}

func sampleReserve(n int) *ReserveOut {
	m := &ReserveOut{ID: 7, Now: 1_800_000_000_000_000_000, Writer: register.Writer{1, 2, 3}, Reservations: make([][]register.Reservation, 1)}
	for i := range n {
		m.Reservations[0] = append(m.Reservations[0], sampleReservation(i))
	}
	return m
}

// stockReserve is what protobuf makes of a ReserveRequest.
func stockReserve(data []byte) (in ReserveIn, odd bool, err error) {
	m := new(ReserveRequest)
	err = proto.Unmarshal(data, m)
	in = ReserveIn{ID: m.GetId(), Now: m.GetNowNs(), Writer: string(m.GetWriter()), Len: len(m.GetReservations())}
	var writer register.Writer
	if len(in.Writer) == len(writer) {
		copy(writer[:], in.Writer)
	}
	if in.Len <= MaxReservations {
		in.Reservations = make([]register.Reservation, in.Len)
	}
	for i, r := range m.GetReservations() {
		odd = odd || r.GetPartition() > math.MaxUint16
		if in.Reservations != nil {
			in.Reservations[i] = register.Reservation{
				Writer: writer, Seq: r.GetSeq(), Epoch: r.GetEpoch(), Now: in.Now,
				Partition: ring.Partition(r.GetPartition()), Key: r.GetKey(), Limit: r.GetLimit(),
				Generation: r.GetGeneration(), From: r.GetFromNs(), To: r.GetToNs(), Reach: r.GetReachNs(), Inline: r.GetInline(), Ledger: r.GetLedger(),
				Lead: r.GetLeadNs(), Expire: r.GetExpireNs(), Claim: r.GetClaim(), Difference: r.GetDifference(), Trace: r.GetTrace(),
			}
		}
	}
	return in, odd, err
}

// withoutEmptyLedger makes a ledger of no bytes none, and a difference likewise.
func withoutEmptyLedger(rs []register.Reservation) []register.Reservation {
	for i := range rs {
		if len(rs[i].Ledger) == 0 {
			rs[i].Ledger = nil
		}
		if len(rs[i].Difference) == 0 {
			rs[i].Difference = nil
		}
	}
	return rs
}

func sameReserve(t interface{ Fatalf(string, ...any) }, data []byte) {
	var got ReserveIn
	err := got.UnmarshalWire(data)
	want, odd, stock := stockReserve(data)
	if odd && stock == nil {
		if err == nil || !strings.Contains(err.Error(), "partition") {
			t.Fatalf("%x: %v of a partition that does not fit", data, err)
		}
		return
	}
	got.Reservations, want.Reservations = withoutEmptyLedger(got.Reservations), withoutEmptyLedger(want.Reservations)
	same(t, data, got, err, want, stock)
}

// stockReserved is what protobuf makes of a ReserveResponse.
func stockReserved(data []byte) (ReservedIn, error) {
	m := new(ReserveResponse)
	err := proto.Unmarshal(data, m)
	in := ReservedIn{ID: m.GetId(), Error: m.GetError(), Accepted: m.GetAccepted(), Skew: m.GetSkewNs()}
	indexes := make([]uint32, len(m.GetAnswers()))
	for i, a := range m.GetAnswers() {
		if indexes[i] = a.GetIndex(); indexes[i] > 0 {
			in.indexes = indexes
		}
		in.Answers = append(in.Answers, register.Answer{
			Verdict: register.Verdict(min(a.GetVerdict(), 255)), Position: a.GetPositionNs(),
			Generation: a.GetGeneration(), Epoch: a.GetEpoch(), Skew: a.GetSkewNs(), Floored: a.GetFloored(),
			Version: a.GetVersion(), Ledger: append([]byte(nil), a.GetLedger()...),
		})
	}
	return in, err
}

func sameReserved(t interface{ Fatalf(string, ...any) }, data []byte) {
	var got ReservedIn
	err := got.UnmarshalWire(data)
	want, stock := stockReserved(data)
	same(t, data, got, err, want, stock)
}

// TestDecodeReservationsAsProtobufDoes feeds the decoders messages that no honest node would send.
func TestDecodeReservationsAsProtobufDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := requestFields(t, 3)
		sameReserve(t, data)
		sameReserved(t, data)
		sameReserve(t, protowire.AppendBytes([]byte{tagReservations}, data))
		sameReserved(t, protowire.AppendBytes([]byte{tagAnswers}, data))
	})
}

func TestDecodeReservationTable(t *testing.T) {
	number := func(tag byte, v uint64) []byte { return protowire.AppendVarint([]byte{tag}, v) }
	for what, fields := range map[string][]byte{
		"nothing":                          {},
		"a partition that just fits":       number(tagPartition, 65535),
		"one that does not":                number(tagPartition, 65536),
		"one beyond 32 bits":               number(tagPartition, 1<<32+5),
		"one that is said again, and fits": append(number(tagPartition, 65536), tagPartition, 5),
		"a key that is not UTF-8":          {tagOfKey, 2, 'k', 0xff},
		"ledger":                           {tagLedger, 2, 1, 2},
		"ledger taken back":                {tagLedger, 2, 1, 2, tagLedger, 0},
		"negative positions":               append(number(tagFrom, 1<<64-1), number(tagTo, 1<<63)...),
		"cut short":                        {tagOfKey, 5, 'a'},
		"a claim":                          number(tagClaim, 1),
		"a difference":                     {tagDifference, 3, 'a', 'b', 'c'},
		"a ledger that is told":            {tagAnswerLedger, 2, 1, 2},
		"a verdict of one byte":            number(tagVerdict, 255),
		"a verdict beyond a byte":          number(tagVerdict, 256),
		"a verdict beyond 32 bits":         number(tagVerdict, 1<<32+1),
		"an index":                         number(tagIndex, 999),
		"an index beyond 32 bits":          number(tagIndex, 1<<32+1),
	} {
		t.Run(what, func(t *testing.T) {
			whole := protowire.AppendBytes([]byte{tagReservations}, fields)
			sameReserve(t, whole)
			sameReserve(t, append(whole, tagReserveNow, 9)) // what is common may stand behind
			sameReserve(t, protowire.AppendBytes(append(whole, tagReserveWriter), bytes.Repeat([]byte{7}, 16)))
			sameReserve(t, protowire.AppendBytes(append(whole, tagReserveWriter), bytes.Repeat([]byte{7}, 17)))
			sameReserved(t, protowire.AppendBytes([]byte{tagAnswers}, fields))
			sameReserved(t, protowire.AppendBytes([]byte{tagAnswers, 0, tagAnswers}, fields))
			sameReserved(t, append(protowire.AppendBytes([]byte{tagAnswers}, fields), number(tagAccepted, 1<<32+2)...))
			sameReserved(t, append(protowire.AppendBytes([]byte{tagAnswers}, fields), number(tagAcceptedSkew, 1<<64-1)...))
		})
	}
}

// TestDecodeTooManyReservations checks that too many are counted and looked through, but not kept.
func TestDecodeTooManyReservations(t *testing.T) {
	for _, n := range []int{MaxReservations, MaxReservations + 1} {
		data := wire(t, sampleReserve(n))
		sameReserve(t, data)
		sameReserve(t, data[:len(data)-1])
		if in := new(ReserveIn); in.UnmarshalWire(data) != nil || in.Len != n || (in.Reservations == nil) != (n > MaxReservations) {
			t.Errorf("of %d reservations, %d were kept, and %d counted", n, len(in.Reservations), in.Len)
		}
	}
}

// TestEncodeReservationsAsProtobufDoes checks that the bytes are those that protobuf writes.
func TestEncodeReservationsAsProtobufDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reservations := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) register.Reservation {
			return register.Reservation{
				Seq: rapid.Uint64().Draw(t, "seq"), Epoch: rapid.Uint64().Draw(t, "epoch"),
				Partition: ring.Partition(rapid.Uint16().Draw(t, "partition")),
				Key:       rapid.StringN(0, -1, 200).Draw(t, "key"), Limit: rapid.StringN(0, -1, 20).Draw(t, "limit"),
				Generation: rapid.Int64().Draw(t, "generation"), From: rapid.Int64().Draw(t, "from"), To: rapid.Int64().Draw(t, "to"),
				Reach: rapid.Int64().Draw(t, "reach"), Inline: rapid.Bool().Draw(t, "inline"), Ledger: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "ledger"),
				Lead: rapid.Int64().Draw(t, "lead"), Expire: rapid.Int64().Draw(t, "expire"), Claim: rapid.Bool().Draw(t, "claim"), Trace: rapid.StringN(0, -1, 200).Draw(t, "trace"),
			}
		}), 0, 5)
		m := ReserveOut{
			ID: rapid.Uint64().Draw(t, "id"), Now: rapid.Int64().Draw(t, "now"),
			Writer: register.Writer(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "writer")),
		}
		stock := &ReserveRequest{Id: m.ID, NowNs: m.Now, Writer: m.Writer[:]}
		if rapid.Bool().Draw(t, "differences") {
			m.Difference = func(r *register.Reservation) []byte { return r.Ledger[1:] } // none of one byte
		}
		for range 2 {
			rs := reservations.Draw(t, "reservations")
			m.Reservations = append(m.Reservations, rs)
			for _, r := range rs {
				stock.Reservations = append(stock.Reservations, &Reservation{
					Seq: r.Seq, Epoch: r.Epoch, Partition: uint32(r.Partition), Key: r.Key, Limit: r.Limit,
					Generation: r.Generation, FromNs: r.From, ToNs: r.To, ReachNs: r.Reach, Inline: r.Inline, Ledger: r.Ledger,
					LeadNs: r.Lead, ExpireNs: r.Expire, Claim: r.Claim, Trace: r.Trace,
				})
				if last := stock.Reservations[len(stock.Reservations)-1]; m.Difference != nil && len(r.Ledger) > 1 {
					last.Ledger, last.Difference = nil, r.Ledger[1:]
				}
			}
		}
		sameBytes(t, &m, stock)
	})
}

func TestEncodeReservedAsProtobufDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := ReservedOut{ID: rapid.Uint64().Draw(t, "id"), Error: rapid.StringN(0, -1, 200).Draw(t, "error")}
		m.Answers = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) register.Answer {
			return register.Answer{
				Verdict: register.Verdict(rapid.Uint8().Draw(t, "verdict")), Position: rapid.Int64().Draw(t, "position"),
				Generation: rapid.Int64().Draw(t, "generation"), Epoch: rapid.Uint64().Draw(t, "epoch"), Skew: rapid.Int64().Draw(t, "skew"),
				Version: rapid.Int64().Draw(t, "version"), Ledger: rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "ledger"),
			}
		}), 0, 5).Draw(t, "answers")
		stock := &ReserveResponse{Id: m.ID, Error: m.Error}
		for _, a := range m.Answers {
			stock.Answers = append(stock.Answers, &ReservationAnswer{
				Verdict: uint32(a.Verdict), PositionNs: a.Position, Generation: a.Generation, Epoch: a.Epoch, SkewNs: a.Skew,
				Version: a.Version, Ledger: a.Ledger, Floored: a.Floored,
			})
		}
		sameBytes(t, &m, stock)
		var in ReservedIn
		if err := in.UnmarshalWire(wire(t, &m)); err != nil || in.ID != m.ID || in.Error != m.Error || len(in.Answers) != len(m.Answers) {
			t.Fatalf("sent %+v, read %+v and %v", m, in, err)
		}
		for i := range m.Answers {
			if !reflect.DeepEqual(in.Answers[i], m.Answers[i]) {
				t.Fatalf("sent %+v, read %+v", m.Answers[i], in.Answers[i])
			}
		}
	})
}

// sameBytes fails t unless m is written as protobuf writes stock.
func sameBytes(t *rapid.T, m wired, stock proto.Message) {
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(stock)
	if err != nil {
		t.Fatal(err)
	}
	if got := wire(t, m); !bytes.Equal(got, want) {
		t.Fatalf("%+v:\ngot  %x\nwant %x", m, got, want)
	}
}

// wired is a message that writes itself.
type wired interface {
	AppendWire(b []byte) ([]byte, error)
}

func wire(t interface{ Fatal(...any) }, m wired) []byte {
	b, err := m.AppendWire(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReservationsArrive sends a message from one end to the other.
func TestReservationsArrive(t *testing.T) {
	out := sampleReserve(3)
	out.Reservations = append(out.Reservations, nil, []register.Reservation{sampleReservation(3)})
	var in ReserveIn
	if err := in.UnmarshalWire(wire(t, out)); err != nil {
		t.Fatal(err)
	}
	if in.ID != out.ID || in.Now != out.Now || in.Writer != string(out.Writer[:]) || in.Len != 4 {
		t.Errorf("got %+v", in)
	}
	for i, got := range in.Reservations {
		want := sampleReservation(i)
		want.Now, want.Writer = out.Now, out.Writer
		if !reflect.DeepEqual(got, want) {
			t.Errorf("reservation %d: got %+v, want %+v", i, got, want)
		}
	}
}

func FuzzDecodeReserve(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		f.Add(wire(f, sampleReserve(n)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameReserve(t, data) })
}

func FuzzDecodeReserved(f *testing.F) {
	f.Add(wire(f, &ReservedOut{ID: 1, Error: "the store is closed"}))
	f.Add(wire(f, &ReservedOut{ID: 300, Answers: []register.Answer{{Verdict: register.Accepted, Position: 1 << 60, Epoch: 1, Skew: -5}, {}}}))
	for _, different := range []int{-1, 0, 3, 4} {
		f.Add(wire(f, sampleReserved(5, different)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameReserved(t, data)
		sameComplete(t, data, sampleReserve(5).Reservations)
	})
}

// BenchmarkReserveWire measures a full message of reservations and its answer through the wire.
func BenchmarkReserveWire(b *testing.B) {
	out, buffer := sampleReserve(MaxReservations), make([]byte, 0, 1<<20)
	data := wire(b, out)
	counted := sampleReserved(MaxReservations, -1)
	answers := &ReservedOut{ID: counted.ID, Answers: counted.Answers}
	answered, count := wire(b, answers), wire(b, counted)
	hear := func(data []byte) error {
		var in ReservedIn
		if err := in.UnmarshalWire(data); err != nil {
			return err
		}
		return in.Complete(out.Reservations)
	}
	for _, bench := range []struct {
		what string
		do   func() error
	}{
		{"encode", func() error { _, err := out.AppendWire(buffer); return err }},
		{"decode", func() error { return new(ReserveIn).UnmarshalWire(data) }},
		{"answer", func() error { _, err := answers.AppendWire(buffer); return err }},
		{"hear", func() error { return hear(answered) }},
		{"answer-count", func() error { _, err := counted.AppendWire(buffer); return err }},
		{"hear-count", func() error { return hear(count) }},
	} {
		b.Run(bench.what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*MaxReservations), "ns/reservation")
		})
	}
}
