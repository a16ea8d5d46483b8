package pb

import (
	"errors"
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

// A replica stores no ledger that is larger than an owner writes one.
func TestReservationsBringNoLargerLedger(t *testing.T) {
	for size, want := range map[int]error{register.MaxLedger: nil, register.MaxLedger + 1: errLedger, 1 << 20: errLedger} {
		m := sampleReserve(3)
		m.Reservations[0][1].Ledger = make([]byte, size)
		text, err := m.AppendWire(nil)
		if err != nil {
			t.Fatal(err)
		}
		var in ReserveIn
		if err := in.UnmarshalWire(text); !errors.Is(err, want) {
			t.Errorf("a ledger of %d bytes: %v, want %v", size, err, want)
		}
	}
}
