package register_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/jeton-dev/jeton/storage/difference"
	"github.com/jeton-dev/jeton/storage/register"
)

// asDifference is a write whose ledger comes as a difference from base.
func asDifference(m register.Reservation, base []byte) register.Reservation {
	m.Difference = new(difference.Maker).Append(nil, base, difference.SumOf(base), m.Ledger, difference.SumOf(m.Ledger))
	m.Ledger = nil
	return m
}

// TestADifferenceIsTheWholeOrNothing decides random writes twice: as they are, and as differences from the ledger of some register. Where
// the replica has that ledger, or the new one already, both are decided alike, whatever else is to be said of them. Where it has
// another one, or the difference is damaged, nothing is written, and the whole is asked for.
func TestADifferenceIsTheWholeOrNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ledgers := [][]byte{nil, []byte("nine"), []byte("nine and ten"), []byte("eleven"), bytes.Repeat([]byte("twelve"), 1000)}
	met := map[string]int{}
	for range 20_000 {
		p, stored := written()
		p.Sealed, p.Floored, p.Floor = r.IntN(20) == 0, r.IntN(20) == 0, now
		stored.Ledger = ledgers[r.IntN(len(ledgers))]
		m := claim(stored.H - 1 + r.Int64N(3))
		m.Claim, m.Ledger, m.Epoch = false, ledgers[1+r.IntN(len(ledgers)-1)], 3+uint64(r.IntN(20)/19)
		if r.IntN(4) == 0 { // it was accepted before
			after, _, wrote := p.Reserve(stored, m, now, bounds)
			if wrote {
				stored = after
			}
		}
		base := ledgers[r.IntN(len(ledgers))]
		d := asDifference(m, base)
		damaged := r.IntN(4) == 0
		if damaged {
			d.Difference = slices.Clone(d.Difference)
			d.Difference[r.IntN(len(d.Difference))] ^= byte(1 + r.IntN(255))
		}
		after, a, wrote := p.Reserve(stored, d, now, bounds)
		wantAfter, want, wantWrote := p.Reserve(stored, m, now, bounds)
		switch {
		case a.Verdict == register.OtherBase:
			if known := bytes.Equal(stored.Ledger, base) || bytes.Equal(stored.Ledger, m.Ledger); known && !damaged {
				t.Fatalf("the whole is asked for, and is known: %+v, %q from %q", stored, m.Ledger, base)
			}
			if wrote || !reflect.DeepEqual(after, stored) {
				t.Fatalf("%+v was written of what is unknown", after)
			}
			met["asked for the whole"]++
		case !reflect.DeepEqual(a, want), wrote != wantWrote, !reflect.DeepEqual(after, wantAfter):
			t.Fatalf("as a difference %+v and %+v, as a whole %+v and %+v", a, after, want, wantAfter)
		case wrote:
			met["written"]++
		case a.Verdict == register.Accepted:
			met["repeated"]++
		default:
			met["refused"]++
		}
	}
	if len(met) < 4 {
		t.Errorf("only this was met: %v", met)
	}
}

// A claim brings no ledger: what stands in it of a difference counts for nothing.
func TestAClaimWithADifference(t *testing.T) {
	p, r := written()
	m := asDifference(claim(9_500), []byte("another"))
	after, a, _ := p.Reserve(r, m, now, bounds)
	if a.Verdict != register.Accepted || string(a.Ledger) != "nine" || string(after.Ledger) != "nine" {
		t.Errorf("the claim got %+v, and left %+v", a, after)
	}
}

// A replica makes no ledger that is larger than an owner writes one.
func TestADifferenceMakesNoLargerLedger(t *testing.T) {
	p, r := written()
	for size, want := range map[int]register.Verdict{register.MaxLedger: register.Accepted, register.MaxLedger + 1: register.OtherBase} {
		m := claim(9_500)
		m.Claim, m.Ledger = false, make([]byte, size)
		if _, a, _ := p.Reserve(r, asDifference(m, r.Ledger), now, bounds); a.Verdict != want {
			t.Errorf("%d bytes: got %+v, want %d", size, a, want)
		}
	}
}
