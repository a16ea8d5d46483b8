package register_test

import (
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

// written is a register whose ledger owner 1 has written at 9,000.
func written() (register.Partition, register.Register) {
	return register.Partition{Epoch: 3}, register.Register{
		H: 9_001, From: 9_000, Writer: register.Writer{1}, Seq: 7, Epoch: 3, Expire: 20_000, Version: 9_000, Ledger: []byte("nine"),
	}
}

// claim is what owner 2 asks for at from.
func claim(from int64) register.Reservation {
	return register.Reservation{
		Writer: register.Writer{2}, Seq: 8, Epoch: 3, Now: now, Key: "k", Limit: "l", From: from, To: from + 1, Lead: 5_000, Expire: 15_000, Claim: true,
	}
}

func TestAClaimKeepsTheLedgerAndIsToldIt(t *testing.T) {
	p, r := written()
	m := claim(9_500)
	after, a, write := p.Reserve(r, m, now, bounds)
	if a.Verdict != register.Accepted || a.Version != 9_000 || string(a.Ledger) != "nine" || !write {
		t.Fatalf("the claim got %+v, write %v", a, write)
	}
	if after.H != 9_501 || after.Version != 9_000 || string(after.Ledger) != "nine" || after.Expire != 20_000 {
		t.Errorf("the register is %+v", after)
	}
	if _, again, _ := p.Reserve(after, m, now+50, bounds); again.Verdict != register.Accepted || string(again.Ledger) != "nine" {
		t.Errorf("repeated, it got %+v", again)
	}
	late := m
	late.Writer, late.Claim, late.Ledger, late.From, late.To = register.Writer{1}, false, []byte("late"), 9_001, 9_002
	if _, a, _ := p.Reserve(after, late, now, bounds); a.Verdict != register.Taken || len(a.Ledger) > 0 {
		t.Errorf("the owner before wrote behind the claim: %+v", a)
	}
}

func TestAWriteReplacesTheLedger(t *testing.T) {
	p, r := written()
	m := claim(9_500)
	m.Claim, m.Ledger = false, []byte("ten")
	after, a, _ := p.Reserve(r, m, now, bounds)
	if a.Verdict != register.Accepted || len(a.Ledger) > 0 || after.Version != 9_500 || string(after.Ledger) != "ten" || after.Expire != 20_000 {
		t.Errorf("answered %+v, register %+v", a, after)
	}
	other := m
	other.Ledger = []byte("eleven")
	if _, a, _ := p.Reserve(after, other, now, bounds); a.Verdict == register.Accepted {
		t.Error("another ledger passes for a repetition")
	}
}

// A floor keeps what may have been counted before it from being forgotten: as long as the lead of a ledger is, not its reach.
func TestAFloorOutlastsALedger(t *testing.T) {
	p := register.Partition{Epoch: 3, Floored: true, Floor: 4_000}
	for from, want := range map[int64]register.Verdict{9_119: register.Taken, 9_120: register.Accepted} { // 4,000 + 5,000 + the slack
		if _, a, _ := p.Reserve(register.Register{}, claim(from), now, bounds); a.Verdict != want {
			t.Errorf("a claim at %d: %+v, want %d", from, a, want)
		}
	}
	ahead := claim(now + 121)
	if _, a, _ := p.Reserve(register.Register{}, ahead, now, bounds); a.Verdict != register.TooFar {
		t.Errorf("a claim beyond the slack got around the floor: %+v", a)
	}
}

// The join has the ledger of the highest version, and the position that is furthest on, wherever each comes from.
func TestJoinOfLedgers(t *testing.T) {
	_, wrote := written()
	claimed := register.Register{H: 9_501, From: 9_500, Writer: register.Writer{2}, Seq: 8, Epoch: 3, Version: 8_000, Ledger: []byte("eight")}
	for _, joined := range []register.Register{wrote.Join(claimed), claimed.Join(wrote)} {
		if joined.H != 9_501 || joined.Version != 9_000 || string(joined.Ledger) != "nine" || joined.Expire != 20_000 || joined.Epoch != 0 {
			t.Errorf("got %+v", joined)
		}
	}
	if empty := (register.Register{}).Join(wrote); empty.Version != 9_000 || string(empty.Ledger) != "nine" {
		t.Errorf("the join with nothing is %+v", empty)
	}
}
