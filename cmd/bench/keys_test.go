package bench

import (
	"math"
	"testing"
	"time"
)

// drawn counts how often each key comes among many.
func drawn(t *testing.T, l Load, callers, draws int) map[string]int {
	t.Helper()
	l.Limit = limitFor(false)
	if err := l.check(); err != nil {
		t.Fatal(err)
	}
	space, err := newKeySpace(l)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for caller := range callers {
		p, keys := space.pickerOf(l.Seed, caller), make([]string, 100)
		for range draws / callers / len(keys) {
			p.pick(keys)
			for _, key := range keys {
				if len(key) != keyLength {
					t.Fatalf("key %q has %d bytes", key, len(key))
				}
				found[key]++
			}
		}
	}
	return found
}

func TestUniformKeys(t *testing.T) {
	const draws, n = 400_000, 100
	found := drawn(t, Load{Keys: Uniform, KeyCount: n}, 4, draws)
	if len(found) != n {
		t.Fatalf("%d different keys, not %d", len(found), n)
	}
	for key, times := range found {
		if dev := math.Abs(float64(times)-draws/n) / math.Sqrt(draws/n); dev > 6 {
			t.Errorf("key %s came %d times, not about %d", key, times, draws/n)
		}
	}
}

func TestZipfKeys(t *testing.T) {
	const draws, n = 1_000_000, 1000
	for _, s := range []float64{0.5, 1, 1.1, 3} {
		found := drawn(t, Load{Keys: Zipf, KeyCount: n, Exponent: s}, 4, draws)
		sum := 0.0
		for k := range n {
			sum += math.Pow(float64(k+1), -s)
		}
		for k, key := range makeKeys(n) {
			want := draws * math.Pow(float64(k+1), -s) / sum
			if dev := math.Abs(float64(found[key])-want) / math.Sqrt(want+1); dev > 6 {
				t.Errorf("exponent %g: key %d came %d times, not about %.0f", s, k, found[key], want)
			}
		}
	}
}

func TestOneAndNewKeys(t *testing.T) {
	if found := drawn(t, Load{Keys: One}, 4, 1000); len(found) != 1 {
		t.Errorf("%d different keys", len(found))
	}
	if found := drawn(t, Load{Keys: New}, 4, 100_000); len(found) != 100_000 {
		t.Errorf("of 100,000 new keys, %d were different", len(found))
	}
	first, second := drawn(t, Load{Keys: New}, 1, 1000), drawn(t, Load{Keys: New}, 1, 1000)
	for key := range second {
		if first[key] > 0 {
			t.Fatalf("key %s came in two runs", key)
		}
	}
}

// The same seed makes the same draws; callers and seeds differ.
func TestSeed(t *testing.T) {
	space, err := newKeySpace(Load{Keys: Uniform, KeyCount: 1000})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(seed uint64, caller int) (keys [20]string) {
		space.pickerOf(seed, caller).pick(keys[:])
		return keys
	}
	if first, again := draw(1, 2), draw(1, 2); first != again {
		t.Error("the same seed and caller made other draws")
	}
	if draw(1, 2) == draw(1, 3) || draw(1, 2) == draw(2, 2) {
		t.Error("another seed or caller made the same draws")
	}
}

func TestSchedules(t *testing.T) {
	even := newSchedule(Load{Rate: 4})
	for i := range 10 {
		if at := even.next(); at != time.Duration(i)*250*time.Millisecond {
			t.Errorf("call %d of 4 a second is due at %v", i, at)
		}
	}
	const n, rate = 100_000, 1000.0
	poisson := newSchedule(Load{Rate: rate, Arrivals: Poisson, Seed: 1})
	var last time.Duration
	squares := 0.0
	for range n {
		at := poisson.next()
		if at < last {
			t.Fatalf("due at %v after %v", at, last)
		}
		gap := (at - last).Seconds() * rate
		squares += gap * gap
		last = at
	}
	// The gaps of a Poisson process have the mean 1/rate, and twice its square as the mean of their squares.
	if mean := last.Seconds() * rate / n; math.Abs(mean-1) > 0.02 || math.Abs(squares/n-2) > 0.1 {
		t.Errorf("mean gap %.3f, mean square %.3f, of 1 and 2", mean, squares/n)
	}
}
