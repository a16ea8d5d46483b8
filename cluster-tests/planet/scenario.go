package main

import (
	"errors"
	"math/rand/v2"
)

// settings are what the command line says.
type settings struct {
	seed    uint64
	seconds float64 // of each run; 0 for what the scenario has
	scale   float64 // of the sample
	used    float64 // the part of its limit that a key uses
	fill    float64 // seconds in which a bucket fills
}

// check says what is wrong with s.
func (s *settings) check() error {
	switch {
	case s.seconds != 0 && (s.seconds < 4 || s.seconds > 3600):
		return errors.New("--seconds: must be from 4 to 3600")
	case !(s.scale >= 0.05 && s.scale <= 20):
		return errors.New("--scale: must be from 0.05 to 20")
	case !(s.used >= 0.01 && s.used <= 100):
		return errors.New("--used: must be from 0.01 to 100")
	case !(s.fill >= 0.1 && s.fill <= 600):
		return errors.New("--fill: must be from 0.1 to 600")
	}
	return nil
}

// A scenario is a run of the planet, or several hours of it.
type scenario struct {
	name, doc string
	seconds   float64   // of each hour's run, unless the settings say otherwise
	hours     []float64 // UTC
	part      float64   // of the sample: long runs need less
	perClass  bool      // the report shows each class of edges
	change    func(*plan, *rand.Rand)
	subjects  func(*settings, float64, *rand.Rand) []*subject
}

// noon is an hour at which many are awake.
var noon = []float64{12}

// scenarios are all there are.
func scenarios() []*scenario {
	return []*scenario{
		{name: "day", doc: "four slices of a usual day", seconds: 30, hours: []float64{0, 6, 12, 18}, part: 1, perClass: true, subjects: usual},
		{name: "leader", doc: "a slice, with the owners of all keys in Virginia", seconds: 40, hours: noon, part: 1, subjects: usual, change: func(p *plan, _ *rand.Rand) { p.leader = true }},
		{name: "clocks", doc: "a slice, with clocks wrong by up to 20 ms", seconds: 40, hours: noon, part: 1, subjects: usual, change: func(p *plan, _ *rand.Rand) { p.clocks = 20e6 }},
		{name: "deaths", doc: "a slice, with an edge that dies each minute", seconds: 190, hours: noon, part: 0.5, subjects: usual, change: dying},
		{name: "cut", doc: "a slice, with Frankfurt cut off for five minutes", seconds: 380, hours: noon, part: 0.25, subjects: usual, change: cut},
		{name: "attack", doc: "300,000 checks/s of a key with 1,000/s, from all edges", seconds: 60, hours: noon, part: 1, subjects: attacked, change: surging(0.25, 0)},
		{name: "crowd", doc: "ten keys that rise to a hundred times within ten seconds, on all edges", seconds: 60, hours: noon, part: 1, subjects: crowd, change: surging(0.25, 10*second)},
		{name: "everywhere", doc: "a slice, where every key comes to all edges evenly", seconds: 30, hours: noon, part: 0.5, subjects: evenly},
	}
}

// usual are the sampled keys, each from where it is used.
func usual(s *settings, hour float64, random *rand.Rand) (all []*subject) {
	for _, d := range sample(s.scale, random) {
		places := placesOf(d.rank, hour, rand.New(rand.NewPCG(s.seed, uint64(d.rank))))
		all = append(all, sized(d.rank, d.weight, places, s.used, s.fill))
	}
	return all
}

// evenly are the sampled keys, each on all edges.
func evenly(s *settings, _ float64, random *rand.Rand) (all []*subject) {
	for _, d := range sample(s.scale, random) {
		all = append(all, sized(d.rank, d.weight, everywhere(rateOf(d.rank)), s.used, s.fill))
	}
	return all
}

// attacked is one key whose limit was sized for its usual traffic, of 900/s in one city.
func attacked(s *settings, _ float64, random *rand.Rand) []*subject {
	home := random.IntN(len(cities))
	places := everywhere(0)
	for i := range places {
		places[i].surge = 1_000
		if places[i].city == home && places[i].edge == 0 {
			places[i].rate = 900
		}
	}
	return []*subject{{rank: 1, weight: 1, places: places, refill: 10_000, fill: s.fill}}
}

// crowd are ten keys, at scale 1, each used in one city before, and by the whole planet then, as its limit allows.
func crowd(s *settings, hour float64, random *rand.Rand) (all []*subject) {
	for i := range max(1, int(10*s.scale)) {
		rank := 5_000 + 500*i + random.IntN(500)
		places := everywhere(0)
		home := drawCities(1, random)[0]
		people := 0.0
		for c := range cities {
			people += cities[c].inhabited * activity(&cities[c], hour)
		}
		for j := range places {
			p := &places[j]
			c := &cities[p.city]
			if p.city == home && p.edge == 0 {
				p.rate = rateOf(rank)
			}
			p.surge = 100 * rateOf(rank) * c.inhabited * activity(c, hour) / people / edgesInCity
		}
		all = append(all, sized(rank, 1, places, s.used, s.fill))
	}
	return all
}

// surging begins a surge after a part of the run.
func surging(after float64, rises int64) func(*plan, *rand.Rand) {
	return func(p *plan, _ *rand.Rand) { p.surgeFrom, p.surgeFor = int64(after*float64(p.length)), rises }
}

// dying lets an edge die each minute, and in a short run three.
func dying(p *plan, random *rand.Rand) {
	every := min(60*second, p.length/4)
	for at := every; at < p.length; at += every {
		p.deaths = append(p.deaths, death{epoch + at, random.IntN(edges)})
	}
}

// cut cuts Frankfurt off for five minutes, or most of a short run.
func cut(p *plan, _ *rand.Rand) {
	p.cutRegion, p.cutFrom = 1, min(30*second, p.length/4)
	p.cutUntil = p.cutFrom + min(300*second, p.length/2)
}
