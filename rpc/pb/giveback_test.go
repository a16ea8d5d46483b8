package pb

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// stockReturn is what protobuf and the decoder of the generated messages make of some bytes.
func stockReturn(data []byte) (ReturnIn, error) {
	m := new(ReturnRequest)
	err := proto.Unmarshal(data, m)
	in := ReturnIn{Key: m.GetKey(), Len: len(m.GetReceipts())}
	if in.Len > limit.MaxReturn {
		return in, err
	}
	for i, one := range m.GetReceipts() {
		receipts, wrong := DecodeReceipts([]*Receipt{one})
		if wrong != nil {
			one.Owner = make([]byte, len(limit.OwnerID{}))
			receipts, _ = DecodeReceipts([]*Receipt{one})
			if in.Wrong == nil {
				_, in.Wrong = DecodeReceipts(append(good(i), &Receipt{Owner: []byte("short")}))
			}
		}
		receipts[0].Reuses = nil
		in.Receipts = append(in.Receipts, receipts...)
	}
	return in, err
}

// good are n receipts with nothing wrong.
func good(n int) []*Receipt { return EncodeReceipts(make([]limit.Receipt, n)) }

// sameReturn fails t if ReturnIn refuses what protobuf takes, or reads something else. What it does not read, because nobody
// asks for it, may be malformed.
func sameReturn(t interface{ Fatalf(string, ...any) }, data []byte) {
	var got ReturnIn
	err := got.UnmarshalWire(data)
	want, stock := stockReturn(data)
	if err != nil || stock != nil {
		if err != nil && stock == nil {
			t.Fatalf("%x: %v, but protobuf takes it", data, err)
		}
		return
	}
	if (got.Wrong == nil) != (want.Wrong == nil) {
		t.Fatalf("%x: %v is wrong, want %v", data, got.Wrong, want.Wrong)
	}
	if got.Key != want.Key || got.Len != want.Len || !reflect.DeepEqual(got.Receipts, want.Receipts) {
		t.Fatalf("%x: got %+v, but protobuf reads %+v", data, got, want)
	}
}

func TestReturnAsProtobufReadsIt(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for n := range 40 {
		receipts := make([]limit.Receipt, n*n)
		for i := range receipts {
			r := &receipts[i]
			*r = limit.Receipt{
				Limit: "login", Generation: random.Int64(), Serial: random.Uint64(), Span: limit.Span{Start: -random.Int64(), End: random.Int64()},
				Reuses: make([]limit.Span, random.IntN(3)),
			}
			r.Owner[random.IntN(16)] = byte(random.Uint32())
		}
		data, err := proto.Marshal(&ReturnRequest{Key: "user:42", Receipts: EncodeReceipts(receipts)})
		if err != nil {
			t.Fatal(err)
		}
		sameReturn(t, data)
		if n > 0 {
			sameReturn(t, data[:len(data)-1])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		data := requestFields(t, 5)
		sameReturn(t, data)
		sameReturn(t, protowire.AppendBytes([]byte{tagReceipts}, data))
	})
}

func FuzzDecodeReturn(f *testing.F) {
	data, err := proto.Marshal(&ReturnRequest{Key: "user:42", Receipts: append(good(2), &Receipt{Owner: []byte("short")})})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { sameReturn(t, data) })
}
