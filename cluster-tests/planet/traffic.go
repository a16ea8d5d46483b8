package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The traffic of the planet.
const (
	offered = 45e6      // checks a second, the mean of a day
	keys    = 1_000_000 // that are in use
	zipf    = 1.0       // the exponent: the key of rank n has 1/n of the traffic of the first
)

// Where a key is used from.
const (
	cityFull = 20_000.0 // checks a second for which a key has one city of its own, and another for as many more
	edgeFull = 2_000.0  // likewise of a city's edges: below that, the callers of a key in a city reach one edge
	near     = 0.04     // of a key's checks come from each of the two cities that are nearest to its first one, if they are not its own
	far      = 0.01     // and from each of two cities anywhere
)

// harmonic is the sum of 1/n^zipf over all keys.
var harmonic = func() (sum float64) {
	for n := 1; n <= keys; n++ {
		sum += math.Pow(float64(n), -zipf)
	}
	return sum
}()

// rateOf is how often the key of a rank is checked a second, as the mean of a day.
func rateOf(rank int) float64 { return offered * math.Pow(float64(rank), -zipf) / harmonic }

// A place is an edge that checks a key, and how often a second.
type place struct {
	city, edge int     // edge is below edgesInCity
	rate       float64 // always
	surge      float64 // on top, once the surge of a scenario is full
}

// placesOf draws from where a key is used at an hour of the day.
func placesOf(rank int, hour float64, random *rand.Rand) []place {
	rate := rateOf(rank)
	own := drawCities(min(max(int(math.Ceil(rate/cityFull)), 1), len(cities)), random)
	shares := map[int]float64{}
	var order []int
	add := func(c int, share float64) {
		if _, has := shares[c]; !has {
			order = append(order, c)
		}
		shares[c] += share
	}
	left := 1.0
	stray := func(c int, share float64) {
		if !slices.Contains(own, c) {
			add(c, share)
			left -= share
		}
	}
	for _, c := range neighbors(own[0]) {
		stray(c, near)
	}
	for range 2 {
		stray(random.IntN(len(cities)), far)
	}
	people := 0.0
	for _, c := range own {
		people += cities[c].inhabited
	}
	for _, c := range own {
		add(c, left*cities[c].inhabited/people)
	}
	var places []place
	for _, c := range order {
		places = append(places, spread(c, rate*shares[c]*activity(&cities[c], hour), random.IntN(edgesInCity))...)
	}
	return places
}

// spread is the edges of a city that so many checks a second reach.
func spread(c int, rate float64, first int) (places []place) {
	n := min(max(int(math.Ceil(rate/edgeFull)), 1), edgesInCity)
	for i := range n {
		places = append(places, place{city: c, edge: (first + i) % edgesInCity, rate: rate / float64(n)})
	}
	return places
}

// everywhere is all edges, evenly.
func everywhere(rate float64) (places []place) {
	for c := range cities {
		for e := range edgesInCity {
			places = append(places, place{city: c, edge: e, rate: rate / float64(edges)})
		}
	}
	return places
}

// drawCities draws n different cities, by how many people are there.
func drawCities(n int, random *rand.Rand) (drawn []int) {
	for len(drawn) < n {
		total := 0.0
		for c := range cities {
			if !slices.Contains(drawn, c) {
				total += cities[c].inhabited
			}
		}
		at := random.Float64() * total
		for c := range cities {
			if slices.Contains(drawn, c) {
				continue
			}
			if at -= cities[c].inhabited; at < 0 {
				drawn = append(drawn, c)
				break
			}
		}
	}
	return drawn
}

// neighbors are the two cities nearest to one.
func neighbors(of int) []int {
	var all []int
	for c := range cities {
		if c != of {
			all = append(all, c)
		}
	}
	km := func(c int) float64 { return away(cities[of].lat, cities[of].lon, cities[c].lat, cities[c].lon) }
	slices.SortFunc(all, func(a, b int) int { return int(km(a) - km(b)) })
	return all[:2]
}

// poisson draws how many checks come where so many are expected.
func poisson(mean float64, random *rand.Rand) int64 {
	if mean > 50 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*random.NormFloat64())))
	}
	n, p, least := int64(-1), 1.0, math.Exp(-mean)
	for p > least || n < 0 {
		p *= random.Float64()
		n++
	}
	return n
}
