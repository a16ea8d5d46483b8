package pb

import (
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
)

func sampleRequest(i int) limit.Request {
	return limit.Request{Key: "user:" + strconv.Itoa(i), Limits: []limit.Ref{limit.Named("login")}, Cost: 1}
}

func sampleDecision(i int) limit.Decision {
	return limit.Decision{Allowed: true, Limits: []limit.Outcome{
		{Name: "login", Allowed: true, Limit: 1000, Remaining: int64(i), ResetAfter: time.Minute},
	}}
}

// BenchmarkCheck measures one request and its answer through the wire: converted, marshaled, unmarshaled, converted.
func BenchmarkCheck(b *testing.B) {
	b.Run("encode", func(b *testing.B) {
		r := sampleRequest(42)
		for b.Loop() {
			marshal(b, EncodeRequest(r))
		}
	})
	b.Run("decode", func(b *testing.B) {
		data := marshal(b, EncodeRequest(sampleRequest(42)))
		for b.Loop() {
			m := new(CheckRequest)
			if err := proto.Unmarshal(data, m); err != nil {
				b.Fatal(err)
			}
			if decodeRequest(m).Cost != 1 {
				b.Fatal("misread")
			}
		}
	})
}

// BenchmarkDecodeBatch measures what a node does with a full batch of 1,000 requests that arrives, by itself and with
// protobuf's messages.
func BenchmarkDecodeBatch(b *testing.B) {
	data := wireBatch(b, sampleRequests())
	b.Run("direct", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in BatchIn
			if err := in.UnmarshalWire(data); err != nil || in.Len != limit.MaxBatch {
				b.Fatal("misread", err)
			}
		}
		perCheck(b)
	})
	b.Run("protobuf", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if in, err := stockBatch(data); err != nil || in.Len != limit.MaxBatch {
				b.Fatal("misread", err)
			}
		}
		perCheck(b)
	})
}

// BenchmarkEncodeBatch measures the answer to it.
func BenchmarkEncodeBatch(b *testing.B) {
	results := sampleResults()
	buffer := make([]byte, 0, 1<<20)
	b.Run("direct", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (&BatchOut{Results: results}).AppendWire(buffer); err != nil {
				b.Fatal(err)
			}
		}
		perCheck(b)
	})
	b.Run("protobuf", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m := &CheckBatchResponse{Results: make([]*CheckResult, len(results))}
			for i, r := range results {
				m.Results[i] = encodeResult(r)
			}
			if _, err := (proto.MarshalOptions{}).MarshalAppend(buffer, m); err != nil {
				b.Fatal(err)
			}
		}
		perCheck(b)
	})
}

func perCheck(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*limit.MaxBatch), "ns/check")
}

func sampleRequests() []limit.Request {
	requests := make([]limit.Request, limit.MaxBatch)
	for i := range requests {
		requests[i] = sampleRequest(i)
	}
	return requests
}

func encodeBatch(requests []limit.Request) *CheckBatchRequest {
	m := &CheckBatchRequest{Checks: make([]*CheckRequest, len(requests))}
	for i, r := range requests {
		m.Checks[i] = EncodeRequest(r)
	}
	return m
}

func marshal(b *testing.B, m proto.Message) []byte {
	b.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return data
}
