package console

import (
	"fmt"
	"testing"
	"time"
)

func TestAttempts(t *testing.T) {
	a := newAttempts()
	now := time.Unix(1_800_000_000, 0)
	a.now = func() time.Time { return now }
	const one, other = "192.0.2.7:1234", "[2001:db8:0:1::7]:1234"
	tries := func(from string) (n int) {
		for a.take(from) == 0 {
			n++
		}
		return n
	}
	if got := tries(one); got != triesAtOnce {
		t.Errorf("%d tries at once", got)
	}
	if wait := a.take("192.0.2.7:99"); wait <= 0 || wait > oneTryEach {
		t.Errorf("from another port of the same address one waits %v", wait)
	}
	if now = now.Add(oneTryEach); tries(one) != 1 {
		t.Error("not one more try came back")
	}
	if a.giveBack(one); tries(one) != 1 {
		t.Error("what was given back is not there")
	}
	if a.place(one) != a.place(other) && tries(other) != triesAtOnce {
		t.Error("another address has fewer tries")
	}
	if a.place(other) != a.place("[2001:db8:0:1:ffff::1]:7") {
		t.Error("two addresses of one network are two")
	}
	seen := map[uint64]bool{}
	for i := range 1000 {
		seen[a.place(fmt.Sprintf("192.0.%d.%d:1", i/250, i%250))] = true
	}
	if len(seen) < 500 {
		t.Errorf("1,000 addresses have %d places", len(seen))
	}
	if a.place("@") != 0 || a.place("[fe80::1%eth0]:1") != a.place("[fe80::2%eth1]:1") {
		t.Error("odd addresses have no place")
	}
}
