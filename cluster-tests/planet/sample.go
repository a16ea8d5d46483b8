package main

import (
	"math"
	"math/rand/v2"
)

// How many keys are simulated, at scale 1.
const (
	hottest = 24 // each stands for itself
	ofEach  = 8  // of each stratum: the next ranks, up to twice the first one, and so on
)

// A drawn key stands for as many as its weight says.
type drawn struct {
	rank   int
	weight float64
}

// sample draws the keys to simulate: the hottest, and of each stratum of ranks some, one from each of as many equal parts. So each key has the same chance in its stratum, and
// the weights of a stratum add up to its size.
func sample(scale float64, random *rand.Rand) (all []drawn) {
	hot := max(1, int(math.Round(hottest*scale)))
	for rank := 1; rank <= hot; rank++ {
		all = append(all, drawn{rank, 1})
	}
	each := max(1, int(math.Round(ofEach*scale)))
	for from := hot + 1; from <= keys; {
		to := min(2*from, keys+1)
		n := min(each, to-from)
		part := float64(to-from) / float64(n)
		for i := range n {
			all = append(all, drawn{from + int(part*(float64(i)+random.Float64())), part})
		}
		from = to
	}
	return all
}
