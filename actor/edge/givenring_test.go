package edge

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// Of more receipts than are remembered, those are forgotten first that time has brought back, and then the oldest.
func TestGivenForgetsWhatIsWorthLeast(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {l: {capacity: 1000000, refill: 1/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	rule, _ := doc.Rule("l")
	own := lease.NewOwn(rule)
	s := &share{Holding: own}
	const second = int64(1e9)
	var g given
	var serials []uint64
	spend := func(n int, now int64) {
		for range n {
			piece, _, _ := own.Check(now, 1)
			serials = append(serials, g.add(s, piece, now))
		}
	}
	spend(maxGiven, second)
	spend(100, 101*second+1) // of the first hundred, time has brought back what they took
	for i, serial := range serials[100:] {
		if g.take(serial).share == nil {
			t.Fatalf("receipt %d of %d is forgotten, and a hundred were of no use any more", 100+i, len(serials))
		}
	}
	for i, serial := range serials {
		if g.take(serial).share != nil {
			t.Fatalf("receipt %d is there still, or again", i)
		}
	}
	serials = nil
	spend(3*maxGiven, 102*second)
	kept := 0
	for i, serial := range serials {
		if g.take(serial).share != nil {
			if kept++; i < 2*maxGiven {
				t.Fatalf("receipt %d of %d is remembered, and newer ones are forgotten", i, len(serials))
			}
		}
	}
	if kept != maxGiven || cap(g.ring) != maxGiven {
		t.Errorf("%d are remembered, in room for %d; want %d", kept, cap(g.ring), maxGiven)
	}
}
