//go:build !race

package pb

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestFewAllocations checks that checks cost allocations by the message, not by the check.
func TestFewAllocations(t *testing.T) {
	batch, results := wireBatch(t, sampleRequests()), BatchOut{Results: sampleResults()}
	check, err := proto.Marshal(EncodeRequest(sampleRequest(42)))
	if err != nil {
		t.Fatal(err)
	}
	answer := CheckOut{Decision: sampleDecision(42)}
	buffer := make([]byte, 0, results.WireRoom())
	for _, test := range []struct {
		what string
		most float64
		do   func() error
	}{
		{"decode a batch", 3, func() error { return new(BatchIn).UnmarshalWire(batch) }}, // text, requests, limits
		{"encode a batch", 0, func() error { _, err := results.AppendWire(buffer); return err }},
		{"decode a check", 2, func() error { return new(CheckIn).UnmarshalWire(check) }}, // it and its text
		{"encode a check", 0, func() error { _, err := answer.AppendWire(buffer); return err }},
	} {
		got := testing.AllocsPerRun(100, func() {
			if err := test.do(); err != nil {
				t.Error(err)
			}
		})
		if got > test.most {
			t.Errorf("%s: %v allocations, want at most %v", test.what, got, test.most)
		}
	}
	if len(results.Results) != limit.MaxBatch {
		t.Errorf("measured %d results", len(results.Results))
	}
}
