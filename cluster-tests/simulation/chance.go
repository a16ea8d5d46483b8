package simulation

import "math/bits"

// A die is a stream of random numbers. All chance in a world comes from dice that are thrown for something: the seed,
// what is decided, and when. So what happens by chance in one place does not depend on what else happens, and a scenario
// from which something was taken away goes on as before wherever that did not matter.
type die uint64

// throw is the die for something.
func throw(seed uint64, what ...uint64) die {
	h := seed
	for _, x := range what {
		h = scramble(h ^ scramble(x+0x9e3779b97f4a7c15))
	}
	return die(h)
}

// scramble spreads every bit of x over all others (the finalizer of splitmix64).
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d *die) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return scramble(uint64(*d))
}

// below draws from 0 to n−1, and 0 for n below 1.
func (d *die) below(n int64) int64 {
	if n < 1 {
		return 0
	}
	hi, _ := bits.Mul64(d.next(), uint64(n))
	return int64(hi)
}

// between draws from a to b, both included.
func (d *die) between(a, b int64) int64 { return a + d.below(b-a+1) }

// percent is true so many times in a hundred.
func (d *die) percent(n int64) bool { return d.below(100) < n }

// happens is true so many times in a million.
func (d *die) happens(millionths int64) bool { return millionths > 0 && d.below(1e6) < millionths }

// spread draws from a to b so that each order of magnitude is as likely as another.
func (d *die) spread(a, b int64) int64 {
	doublings := int64(0)
	for x := a; x < b; x *= 2 {
		doublings++
	}
	low := a << d.below(max(doublings, 1))
	return min(d.between(low, 2*low-1), b)
}

// pick draws one of the choices.
func pick[T any](d *die, choices ...T) T { return choices[d.below(int64(len(choices)))] }
