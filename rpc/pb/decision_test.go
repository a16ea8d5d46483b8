package pb

import (
	"errors"
	"reflect"
	"testing"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

func drawSpan(t *rapid.T) limit.Span {
	return limit.Span{Start: rapid.Int64().Draw(t, "start"), End: rapid.Int64().Draw(t, "end")}
}

func drawOwner(t *rapid.T) limit.OwnerID {
	return limit.OwnerID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "owner"))
}

func drawReceipt(t *rapid.T) limit.Receipt {
	return limit.Receipt{
		Limit:      rapid.String().Draw(t, "limit"),
		Generation: rapid.Int64().Draw(t, "generation"),
		Span:       drawSpan(t),
		Owner:      drawOwner(t),
		Serial:     rapid.Uint64().Draw(t, "serial"),
		Reuses:     some(t, "reuses", drawSpan),
		Permit:     rapid.Bool().Draw(t, "permit"),
		From:       rapid.Int64().Draw(t, "from"),
	}
}

func drawOutcome(t *rapid.T) limit.Outcome {
	return limit.Outcome{
		Name:       rapid.String().Draw(t, "name"),
		Allowed:    rapid.Bool().Draw(t, "allowed"),
		Never:      rapid.Bool().Draw(t, "never"),
		Ended:      rapid.Bool().Draw(t, "ended"),
		Limit:      rapid.Int64().Draw(t, "limit"),
		Remaining:  rapid.Int64().Draw(t, "remaining"),
		RetryAfter: time.Duration(rapid.Int64().Draw(t, "retry")),
		ResetAfter: time.Duration(rapid.Int64().Draw(t, "reset")),
		Plan:       rapid.SampledFrom([]string{"", "pro"}).Draw(t, "plan"),
		Override:   rapid.SampledFrom([]string{"", `deny for "k"`}).Draw(t, "override"),
		Closed:     rapid.Bool().Draw(t, "closed"),
		Leased:     rapid.Int64().Draw(t, "leased"),
	}
}

// drawHold draws a hold that a node could have given; nil for none.
func drawHold(t *rapid.T) *limit.Hold {
	if rapid.Bool().Draw(t, "no hold") {
		return nil
	}
	return &limit.Hold{
		Key:     rapid.StringN(1, 9, limit.MaxKey).Draw(t, "key"),
		Plan:    rapid.SampledFrom([]string{"", "pro"}).Draw(t, "plan"),
		Granted: rapid.Int64Range(0, limit.MaxCount).Draw(t, "granted"),
		Limits: some(t, "holds", func(t *rapid.T) limit.Held {
			return limit.Held{
				Limit: rapid.SampledFrom([]string{"tokens", "per-day"}).Draw(t, "limit"), Generation: rapid.Int64Min(0).Draw(t, "generation"),
				Owner: drawOwner(t), ID: rapid.Uint64().Draw(t, "id"),
			}
		}),
	}
}

func drawDecision(t *rapid.T) limit.Decision {
	return limit.Decision{
		Allowed:  rapid.Bool().Draw(t, "allowed"),
		Wait:     time.Duration(rapid.Int64().Draw(t, "wait")),
		Limits:   some(t, "limits", drawOutcome),
		Receipts: some(t, "receipts", drawReceipt),
		Hold:     drawHold(t),
		Lease:    drawLease(t),
		Reported: drawReported(t),
	}
}

// drawReported draws what a report is answered; nil for nothing.
func drawReported(t *rapid.T) *limit.Reported {
	if rapid.Bool().Draw(t, "no report") {
		return nil
	}
	return &limit.Reported{Spent: rapid.Int64().Draw(t, "spent"), Now: rapid.Int64().Draw(t, "now"), Share: rapid.Int64().Draw(t, "share"), Scarce: rapid.Bool().Draw(t, "scarce")}
}

// drawLease draws a lease; nil for none.
func drawLease(t *rapid.T) *limit.Lease {
	if rapid.Bool().Draw(t, "no lease") {
		return nil
	}
	return &limit.Lease{Receipt: drawReceipt(t), Until: rapid.Int64().Draw(t, "until"), Now: rapid.Int64().Draw(t, "now")}
}

func TestDecisionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawDecision(t)
		got := DecodeResult(overTheWire(t, encodeResult(limit.Result{Decision: want}), new(CheckResult)))
		if got.Err != nil || !reflect.DeepEqual(got.Decision, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestResultErrors(t *testing.T) {
	for _, test := range []struct {
		what    string
		message *CheckResult
	}{
		{"nothing", nil},
		{"no result", &CheckResult{}},
		{"an error that is none", &CheckResult{Result: &CheckResult_Error{Error: &rpcstatus.Status{}}}},
		{"a nil error", &CheckResult{Result: &CheckResult_Error{}}},
		{"no decision", &CheckResult{Result: &CheckResult_Decision{}}},
		{"a lease of nobody", &CheckResult{Result: &CheckResult_Decision{Decision: &Decision{Lease: &Lease{}}}}},
		{"a receipt of nobody", &CheckResult{Result: &CheckResult_Decision{
			Decision: &Decision{Allowed: true, Receipts: []*Receipt{{Owner: []byte("short")}}},
		}}},
		{"a hold that was cut", &CheckResult{Result: &CheckResult_Decision{Decision: &Decision{Allowed: true, Hold: "AQ", Granted: 1}}}},
	} {
		t.Run(test.what, func(t *testing.T) {
			got := DecodeResult(test.message)
			if got.Err == nil || !reflect.DeepEqual(got.Decision, limit.Decision{}) {
				t.Fatalf("got %+v, want nothing but an error", got)
			}
			if Classify(got.Err) != internal {
				t.Errorf("%v is blamed on the caller", got.Err)
			}
		})
	}
	sent := limit.Result{Err: limit.ErrOverloaded}
	if got := DecodeResult(overTheWire(t, encodeResult(sent), new(CheckResult))); !errors.Is(got.Err, limit.ErrOverloaded) {
		t.Errorf("got %+v, want %v", got, limit.ErrOverloaded)
	}
}

func TestReceiptOfNobody(t *testing.T) {
	good := EncodeReceipts([]limit.Receipt{{Limit: "login"}})[0]
	_, err := DecodeReceipts([]*Receipt{good, {Limit: "login", Owner: make([]byte, 17)}})
	wantField(t, err, "receipts[1].owner")
	_, err = DecodeReceipts([]*Receipt{nil})
	wantField(t, err, "receipts[0].owner")
}

func FuzzDecision(f *testing.F) {
	seed(f, EncodeDecision(limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: "login", Allowed: true}}}))
	seed(f, EncodeDecision(limit.Decision{Receipts: []limit.Receipt{{Limit: "login", Reuses: []limit.Span{{Start: 1, End: 2}}}}}))
	seed(f, EncodeDecision(limit.Decision{Allowed: true, Hold: &limit.Hold{Key: "k", Granted: 3, Limits: []limit.Held{{Limit: "tokens", ID: 7}}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(Decision)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		want, err := DecodeDecision(m)
		if err != nil {
			return
		}
		if got, err := DecodeDecision(overTheWire(t, EncodeDecision(want), new(Decision))); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v and %v, want %+v", got, err, want)
		}
	})
}

// TestAllDecision sends the answers to a CheckAll and reads them again.
func TestAllDecision(t *testing.T) {
	full := limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: "a", Allowed: true, Limit: 9, Remaining: 3, ResetAfter: time.Second}}}
	full.Receipts = []limit.Receipt{{Limit: "a", Span: limit.Span{Start: 1, End: 2}, Serial: 7}}
	no := limit.Decision{Limits: []limit.Outcome{{Name: "b", Never: true, RetryAfter: 1}}}
	for _, want := range []limit.AllDecision{
		{Allowed: true, Decisions: []limit.Decision{full, full}},
		{Denied: &limit.Denial{Check: 1, Key: "org", Limit: "b"}, Decisions: []limit.Decision{full, no, {}}},
		{Denied: &limit.Denial{}, Decisions: []limit.Decision{no}},
	} {
		wire, err := proto.Marshal(EncodeAllDecision(want))
		if err != nil {
			t.Fatal(err)
		}
		var m CheckAllResponse
		if err := proto.Unmarshal(wire, &m); err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeAllDecision(&m); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := DecodeAllDecision(&CheckAllResponse{Decisions: []*Decision{{Receipts: []*Receipt{{Owner: []byte("x")}}}}}); err == nil {
		t.Error("a receipt without an owner was read")
	}
}
