package console

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// How often wrong tokens may be tried from one address: a few at once, and then one each few seconds.
const (
	triesAtOnce = 10
	oneTryEach  = 6 * time.Second
	places      = 4096 // addresses share them, so that their number is bounded
)

// attempts bounds how often tokens are tried, by address. Each place holds until when its tries are used, as a bucket of jeton's does. The
// zero value of a place has all of them.
type attempts struct {
	seed maphash.Seed
	now  func() time.Time

	mu   sync.Mutex
	used [places]time.Time
}

func newAttempts() *attempts { return &attempts{seed: maphash.MakeSeed(), now: time.Now} }

// take takes a try from an address such as 192.0.2.7:1234. wait is how long until the next one where none is left; else 0.
func (a *attempts) take(from string) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, used := a.now(), &a.used[a.place(from)]
	next := later(*used, now).Add(oneTryEach)
	if wait := next.Sub(now) - triesAtOnce*oneTryEach; wait > 0 {
		return wait
	}
	*used = next
	return 0
}

// giveBack undoes take for a token that counts.
func (a *attempts) giveBack(from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	used := &a.used[a.place(from)]
	*used = used.Add(-oneTryEach)
}

// place is that of an address. Of IPv6, the first 64 bits count.
func (a *attempts) place(from string) uint64 {
	at, err := netip.ParseAddrPort(from)
	if err != nil {
		return 0 // no IP address: all of them are as one
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits) // both lengths are good ones
	return maphash.Comparable(a.seed, prefix) % places
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
