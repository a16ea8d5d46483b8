package pb

import (
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestSettlementRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := limit.Settlement{
			Used: rapid.Int64().Draw(t, "used"), Open: rapid.Bool().Draw(t, "open"), For: time.Duration(rapid.Int64().Draw(t, "for")),
		}
		if h := drawHold(t); h != nil {
			want.Hold = *h
		} else {
			want.Hold.Key = "k"
		}
		got, err := DecodeSettlement(overTheWire(t, EncodeSettlement(want), new(SettleRequest)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

func drawSettled(t *rapid.T) limit.Settled {
	number := rapid.Int64()
	return limit.Settled{
		Charged: number.Draw(t, "charged"), Returned: number.Draw(t, "returned"), Debt: number.Draw(t, "debt"), Until: number.Draw(t, "until"),
		Limits: some(t, "limits", func(t *rapid.T) limit.SettledLimit {
			return limit.SettledLimit{
				Name: rapid.String().Draw(t, "name"), State: limit.HoldState(rapid.String().Draw(t, "state")),
				Charged: number.Draw(t, "charged"), Returned: number.Draw(t, "returned"), Debt: number.Draw(t, "debt"), Until: number.Draw(t, "until"),
			}
		}),
	}
}

func TestSettledRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawSettled(t)
		if got := DecodeSettled(overTheWire(t, EncodeSettled(want), new(SettleResponse))); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// TestUndecidableSettlements checks that what is no hold is refused by its field.
func TestUndecidableSettlements(t *testing.T) {
	for _, m := range []*SettleRequest{nil, {}, {Hold: "AQ"}, {Hold: "no hold"}, {Hold: limit.Hold{Key: "k"}.String()[1:]}} {
		_, err := DecodeSettlement(m)
		wantField(t, err, "hold")
	}
}

func FuzzSettlement(f *testing.F) {
	seed(f, EncodeSettlement(limit.Settlement{
		Hold: limit.Hold{Key: "k", Granted: 3000, Limits: []limit.Held{{Limit: "tokens", Generation: 1, ID: 7}}}, Used: 1200, Open: true, For: time.Minute,
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(SettleRequest)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		want, err := DecodeSettlement(m)
		if err != nil {
			return
		}
		if got, err := DecodeSettlement(overTheWire(t, EncodeSettlement(want), new(SettleRequest))); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v and %v, want %+v", got, err, want)
		}
	})
}
