package nemesis

import (
	"math"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The worst window is found, and a bucket that refills in between begins anew.
func TestExcess(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {seen: {capacity: 3, refill: 10/s, consistency: eventual}, not: {capacity: 3, refill: 10/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ms := func(n int) time.Time { return began.Add(time.Duration(n) * time.Millisecond) }
	for _, tt := range []struct {
		what   string
		starts []int // in milliseconds; each takes 50 ms
		want   float64
	}{
		{"as many as there are", []int{0, 0, 0}, 0},
		{"as they come back", []int{0, 0, 0, 100, 200, 300}, 0},
		{"two more, of which half a token has come back", []int{0, 0, 0, 0, 0}, 1.5},
		{"a full bucket each time", []int{0, 0, 0, 1000, 1000, 1000}, 0},
		{"the worse of two", []int{0, 0, 0, 0, 2000, 2000, 2000, 2000, 2000, 2000}, 2.5},
		{"out of order", []int{100, 0, 0, 0, 0, 0, 100}, 2.5},
	} {
		x := newExcess(doc)
		for _, start := range tt.starts {
			x.admits("k", admission{"seen", 1, ms(start), ms(start + 50)})
		}
		x.admits("other", admission{"seen", 1, ms(0), ms(50)}) // a bucket of its own
		if got, _ := x.worst(); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s: %.3f beyond the limit, want %.3f: %s", tt.what, got, tt.want, x)
		}
		if !x.of("seen") || x.of("not") {
			t.Errorf("the eventual limits are seen: %v, and others: %v", x.of("seen"), x.of("not"))
		}
	}
}
