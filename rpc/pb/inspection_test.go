package pb

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

func drawInspection(t *rapid.T) limit.Inspection {
	rule, err := limit.Limit{
		Name:     rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,20}`).Draw(t, "name"),
		Capacity: rapid.Int64Range(1, 500_000).Draw(t, "capacity"), // at an hour a token, below 2^61 ns in all
		Refill: limit.Refill{
			Tokens: rapid.Int64Range(1, 1000).Draw(t, "tokens"),
			Per:    time.Duration(rapid.Int64Range(1000, int64(time.Hour)).Draw(t, "per")),
		},
	}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return limit.Inspection{
		Leases: some(t, "leases", func(t *rapid.T) limit.LeaseSeen {
			return limit.LeaseSeen{Edge: rapid.SampledFrom([]string{"", "edge"}).Draw(t, "edge"), Span: drawSpan(t), Until: rapid.Int64().Draw(t, "until")}
		}),
		Holds: drawHolds(t), Debt: rapid.Int64().Draw(t, "debt"),
		Begins:   rapid.Int64().Draw(t, "begins"),
		Override: rapid.SampledFrom([]string{"", `deny for "user:42"`}).Draw(t, "override"),
		Verdict:  rapid.SampledFrom([]limit.Verdict{limit.Decides, limit.Denies, limit.Passes}).Draw(t, "verdict"),
		Until:    rapid.Int64().Draw(t, "until"),
		Key:      rapid.String().Draw(t, "key"), Rule: rule, Now: rapid.Int64().Draw(t, "now"),
		Partition: rapid.Int().Draw(t, "partition"), Epoch: rapid.Uint64().Draw(t, "epoch"),
		Owner: drawOwner(t), Node: rapid.String().Draw(t, "node"), Awake: rapid.Bool().Draw(t, "awake"),
		Generation: rapid.Int64().Draw(t, "generation"), TAT: rapid.Int64().Draw(t, "tat"), Tokens: rapid.Int64().Draw(t, "tokens"),
		Segment: drawSpan(t), Next: drawSpan(t), Credit: rapid.Int64().Draw(t, "credit"), Waiting: rapid.Int().Draw(t, "waiting"),
		Registers: some(t, "registers", func(t *rapid.T) limit.Stored {
			return limit.Stored{
				Node: rapid.String().Draw(t, "node"), Exists: rapid.Bool().Draw(t, "exists"),
				Generation: rapid.Int64().Draw(t, "generation"), Reserved: rapid.Int64().Draw(t, "reserved"),
				Floor: rapid.Int64().Draw(t, "floor"), Horizon: rapid.Int64().Draw(t, "horizon"),
				Error: rapid.String().Draw(t, "error"), Epoch: rapid.Uint64().Draw(t, "epoch"), Sealed: rapid.Bool().Draw(t, "sealed"),
			}
		}),
		Recent: some(t, "recent", func(t *rapid.T) limit.Recent {
			return limit.Recent{
				At: rapid.Int64().Draw(t, "at"), Cost: rapid.Int64().Draw(t, "cost"), Allowed: rapid.Bool().Draw(t, "allowed"),
			}
		}),
	}
}

func drawHolds(t *rapid.T) *limit.HoldsSeen {
	if !rapid.Bool().Draw(t, "holds are known") {
		return nil
	}
	return &limit.HoldsSeen{
		Open: rapid.Int().Draw(t, "open"), Tokens: rapid.Int64().Draw(t, "tokens"), Expires: rapid.Int64().Draw(t, "expires"),
		Total: rapid.Int().Draw(t, "total"),
		List: some(t, "list", func(t *rapid.T) limit.SeenHold {
			return limit.SeenHold{
				ID:     rapid.Uint64().Draw(t, "id"),
				State:  rapid.SampledFrom([]limit.HoldState{limit.HoldOpen, limit.HoldExpired, limit.HoldSettled, limit.HoldLost}).Draw(t, "state"),
				Amount: rapid.Int64().Draw(t, "amount"), Used: rapid.Int64().Draw(t, "used"), Until: rapid.Int64().Draw(t, "until"),
			}
		}),
	}
}

func TestInspectionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawInspection(t)
		got, err := DecodeInspection(overTheWire(t, EncodeInspection(want), new(Inspection)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v and %v, want %+v", got, err, want)
		}
	})
}

func TestInspectionErrors(t *testing.T) {
	good := func() *Inspection {
		rule, err := limit.Limit{Name: "login", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		return EncodeInspection(limit.Inspection{Rule: rule})
	}
	for _, test := range []struct {
		what   string
		breaks func(*Inspection)
		says   string
	}{
		{"no limit", func(m *Inspection) { m.Limit = nil }, "limit.name"},
		{"a limit that makes no rule", func(m *Inspection) { m.Limit.Capacity = 0 }, "limit.capacity"},
		{"no owner", func(m *Inspection) { m.Owner = nil }, "owner"},
	} {
		t.Run(test.what, func(t *testing.T) {
			m := good()
			test.breaks(m)
			_, err := DecodeInspection(m)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got %v, want an error about %s", err, test.says)
			}
			if Classify(err) != internal {
				t.Errorf("%v is blamed on the caller", err)
			}
		})
	}
	if _, err := DecodeInspection(EncodeInspection(limit.Inspection{})); err == nil {
		t.Error("an inspection without a rule was read")
	}
}

func FuzzInspection(f *testing.F) {
	rule, err := limit.Limit{Name: "login", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		f.Fatal(err)
	}
	seed(f, EncodeInspection(limit.Inspection{
		Key: "user:42", Rule: rule, Registers: []limit.Stored{{Node: "a"}}, Recent: []limit.Recent{{At: 1}},
	}))
	seed(f, EncodeInspection(limit.Inspection{Key: "user:42", Rule: rule, Debt: 3, Holds: &limit.HoldsSeen{
		Open: 1, Tokens: 7, Expires: 9, Total: 2,
		List: []limit.SeenHold{{ID: 1, State: limit.HoldOpen, Amount: 7, Until: 9}, {ID: 2, State: limit.HoldSettled, Amount: 5, Used: 4, Until: 8}},
	}}))
	notUTF8 := EncodeInspection(limit.Inspection{
		Key: "user:42", Rule: rule, Registers: []limit.Stored{{Node: "a"}}, Holds: &limit.HoldsSeen{Total: 1, List: []limit.SeenHold{{ID: 1}}},
	})
	notUTF8.Override, notUTF8.Registers[0].Error, notUTF8.Holds.List[0].State = "\xf4", "\xf4", "\xf4"
	seed(f, notUTF8)
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(Inspection)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		want, err := DecodeInspection(m)
		if err != nil {
			return
		}
		got, err := DecodeInspection(overTheWire(t, EncodeInspection(want), new(Inspection)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v and %v, want %+v", got, err, want)
		}
	})
}
