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
			if DecodeRequest(m).Cost != 1 {
				b.Fatal("misread")
			}
		}
	})
}

// BenchmarkCheckBatch measures a full batch of 1,000 requests, and its answer.
func BenchmarkCheckBatch(b *testing.B) {
	b.Run("encode", func(b *testing.B) {
		requests := make([]limit.Request, limit.MaxBatch)
		for i := range requests {
			requests[i] = sampleRequest(i)
		}
		for b.Loop() {
			marshal(b, encodeBatch(requests))
		}
	})
	b.Run("decode", func(b *testing.B) {
		requests := make([]limit.Request, limit.MaxBatch)
		for i := range requests {
			requests[i] = sampleRequest(i)
		}
		data := marshal(b, encodeBatch(requests))
		for b.Loop() {
			m := new(CheckBatchRequest)
			if err := proto.Unmarshal(data, m); err != nil {
				b.Fatal(err)
			}
			for _, check := range m.GetChecks() {
				if DecodeRequest(check).Cost != 1 {
					b.Fatal("misread")
				}
			}
		}
	})
	b.Run("answer", func(b *testing.B) {
		for b.Loop() {
			m := &CheckBatchResponse{Results: make([]*CheckResult, limit.MaxBatch)}
			for i := range m.Results {
				m.Results[i] = EncodeResult(limit.Result{Decision: sampleDecision(i)})
			}
			back := new(CheckBatchResponse)
			if err := proto.Unmarshal(marshal(b, m), back); err != nil {
				b.Fatal(err)
			}
			for _, result := range back.GetResults() {
				if !DecodeResult(result).Decision.Allowed {
					b.Fatal("misread")
				}
			}
		}
	})
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
