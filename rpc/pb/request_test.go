package pb

import (
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// drawLimit draws a limit, sensible or not.
func drawLimit(t *rapid.T) limit.Limit {
	return limit.Limit{
		Name:          rapid.String().Draw(t, "name"),
		Algorithm:     rapid.String().Draw(t, "algorithm"),
		Capacity:      rapid.Int64().Draw(t, "capacity"),
		Refill:        limit.Refill{Tokens: rapid.Int64().Draw(t, "tokens"), Per: time.Duration(rapid.Int64().Draw(t, "per"))},
		OnUnavailable: limit.Policy(rapid.String().Draw(t, "policy")),
		Window:        time.Duration(rapid.Int64().Draw(t, "window")),
		Per:           rapid.String().Draw(t, "period"),
		Timezone:      rapid.String().Draw(t, "timezone"),
		Anchor:        rapid.String().Draw(t, "anchor"),
		Weighted:      rapid.Bool().Draw(t, "weighted"),
		Lease:         time.Duration(rapid.Int64().Draw(t, "lease")),
		MaxWait:       time.Duration(rapid.Int64().Draw(t, "longest wait")),
		Penalty: limit.Penalty{
			After: rapid.Int64().Draw(t, "denials"), For: time.Duration(rapid.Int64().Draw(t, "first penalty")), Max: time.Duration(rapid.Int64().Draw(t, "longest penalty")),
		},
		Holds: limit.Holds{
			Longest: time.Duration(rapid.Int64().Draw(t, "longest hold")), OnExpiry: limit.Expiry(rapid.String().Draw(t, "on expiry")), MaxDebt: rapid.Int64().Draw(t, "debt"),
		},
		Reserve:     limit.Reserve(rapid.Int32().Draw(t, "reserve")),
		Consistency: limit.Consistency(rapid.String().Draw(t, "consistency")),
		Sync:        time.Duration(rapid.Int64().Draw(t, "sync")), Share: limit.Share(rapid.String().Draw(t, "share")),
		Hot: limit.Hot(rapid.String().Draw(t, "hot")), Gauges: int(rapid.Int32().Draw(t, "gauges")),
	}
}

func drawRef(t *rapid.T) limit.Ref {
	if rapid.Bool().Draw(t, "inline") {
		return limit.Inline(drawLimit(t))
	}
	return limit.Named(rapid.String().Draw(t, "name"))
}

// some draws a slice of at most 4, nil when it is empty.
func some[T any](t *rapid.T, label string, draw func(*rapid.T) T) []T {
	var out []T
	for range rapid.IntRange(0, 4).Draw(t, label) {
		out = append(out, draw(t))
	}
	return out
}

func drawRequest(t *rapid.T) limit.Request {
	return limit.Request{
		Key:     rapid.String().Draw(t, "key"),
		Limits:  some(t, "limits", drawRef),
		Cost:    rapid.Int64().Draw(t, "cost"),
		ID:      rapid.String().Draw(t, "id"),
		Receipt: rapid.Bool().Draw(t, "receipt"),
		Look:    rapid.Bool().Draw(t, "look"),
		Extend:  rapid.Uint64Range(0, 1).Draw(t, "extend"),
		Plan:    rapid.SampledFrom([]string{"", "pro", "\xff"}).Draw(t, "plan"),
		Wait:    time.Duration(rapid.Int64().Draw(t, "wait")),
		Hold:    time.Duration(rapid.Int64().Draw(t, "hold")),
		Least:   rapid.Int64().Draw(t, "least"),
		Lease:   drawAsk(t),
		Charge:  rapid.Bool().Draw(t, "charge"),
		Report:  drawReport(t),
	}
}

// drawReport draws what an edge reports; nil for nothing.
func drawReport(t *rapid.T) *limit.Report {
	if rapid.Bool().Draw(t, "no report") {
		return nil
	}
	return &limit.Report{
		Edge: rapid.Uint64().Draw(t, "edge"), Number: rapid.Uint64().Draw(t, "number"),
		Age: time.Duration(rapid.Int64().Draw(t, "age")), Asked: rapid.Int64().Draw(t, "asked"),
	}
}

// drawAsk draws what an edge asks for; nil for nothing.
func drawAsk(t *rapid.T) *limit.LeaseAsk {
	if rapid.Bool().Draw(t, "no ask") {
		return nil
	}
	return &limit.LeaseAsk{
		Life: time.Duration(rapid.Int64().Draw(t, "life")), Now: rapid.Int64().Draw(t, "now"),
		Terms: rapid.Uint64().Draw(t, "terms"), After: time.Duration(rapid.Int64().Draw(t, "after")), Edge: rapid.String().Draw(t, "edge"), Held: rapid.Int64().Draw(t, "held"), ID: rapid.Uint64().Draw(t, "id"),
	}
}

// overTheWire is what arrives at the other side.
func overTheWire[M proto.Message](t interface{ Fatal(...any) }, sent, arrived M) M {
	data, err := proto.Marshal(sent)
	if err != nil {
		t.Fatal("marshal:", err)
	}
	if err := proto.Unmarshal(data, arrived); err != nil {
		t.Fatal("unmarshal:", err)
	}
	return arrived
}

func TestRequestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRequest(t)
		got := decodeRequest(overTheWire(t, EncodeRequest(want), new(CheckRequest)))
		if want.Cost == 0 && want.Extend == 0 {
			want.Cost = want.Tokens()
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// TestACostThatIsForgottenIsOne checks it for callers who leave the field out and for those who send its zero value.
func TestACostThatIsForgottenIsOne(t *testing.T) {
	zero := int64(0)
	for _, test := range []struct {
		message *CheckRequest
		want    int64
	}{
		{nil, 1},
		{&CheckRequest{}, 1},
		{&CheckRequest{Cost: &zero}, 1},
		{&CheckRequest{Look: true}, 0},
		{&CheckRequest{Look: true, Cost: &zero}, 0},
		{EncodeRequest(limit.Request{}), 1},
		{EncodeRequest(limit.Request{Look: true}), 0},
	} {
		got := decodeRequest(test.message)
		if got.Tokens() != test.want {
			t.Errorf("%v takes %d tokens, want %d", test.message, got.Tokens(), test.want)
		}
	}
	if sent := EncodeRequest(limit.Request{Look: true}); sent.Cost == nil || *sent.Cost != 0 {
		t.Errorf("a look is sent as %v: a node that does not know the field takes it for a charge", sent)
	}
}

// TestUndecidableRequests checks that what is missing in a message becomes a request that actor/limit refuses, with the
// field that is missing.
func TestUndecidableRequests(t *testing.T) {
	for _, test := range []struct {
		what    string
		message *CheckRequest
		field   string
	}{
		{"nothing", nil, "key"},
		{"no limits", &CheckRequest{Key: "k"}, "limits"},
		{"a reference to nothing", &CheckRequest{Key: "k", Limits: []*LimitRef{{}}}, "limits[0].name"},
		{"no reference", &CheckRequest{Key: "k", Limits: []*LimitRef{nil}}, "limits[0].name"},
		{"an empty definition", &CheckRequest{Key: "k", Limits: []*LimitRef{{Ref: &LimitRef_Inline{}}}}, "limits[0].name"},
		{"no refill", &CheckRequest{Key: "k", Limits: []*LimitRef{
			{Ref: &LimitRef_Inline{Inline: &Limit{Name: "burst", Capacity: 1}}},
		}}, "limits[0].refill"},
	} {
		t.Run(test.what, func(t *testing.T) {
			wantField(t, decodeRequest(test.message).Validate(), test.field)
		})
	}
}

// TestTextThatIsNotUTF8 checks that a limit whose definition is not UTF-8 arrives as it is, to be refused over there.
func TestTextThatIsNotUTF8(t *testing.T) {
	ref := limit.Inline(limit.Limit{Name: "burst", Algorithm: "\xff", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: 1}})
	got := DecodeRef(overTheWire(t, EncodeRef(ref), new(LimitRef)))
	_, err := got.Inline.Rule()
	wantField(t, err, "algorithm")
	if got := DecodeRef(overTheWire(t, EncodeRef(limit.Named("log\xffin")), new(LimitRef))); got.Name != "log\xffin" {
		t.Errorf("got the name %q", got.Name)
	}
}

func FuzzRequest(f *testing.F) {
	seed(f, EncodeRequest(limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("login")}, Cost: 1}))
	seed(f, EncodeRequest(limit.Request{
		Key: "a/b", Cost: 3, ID: "id", Receipt: true,
		Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "burst", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}})},
	}))
	seed(f, EncodeRequest(limit.Request{Key: "k", Cost: 3000, Hold: time.Minute, Least: 100, Limits: []limit.Ref{limit.Named("tokens")}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(CheckRequest)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		want := decodeRequest(m)
		sent := EncodeRequest(want)
		if want.Cost == 0 && want.Extend == 0 {
			want.Cost = want.Tokens() // which is written out
		}
		if got := decodeRequest(overTheWire(t, sent, new(CheckRequest))); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// seed adds a message to the corpus of a fuzz target.
func seed(f *testing.F, m proto.Message) {
	f.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
}
