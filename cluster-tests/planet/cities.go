package main

import "math"

// A city is where callers are, and edges with them.
type city struct {
	name      string
	lat, lon  float64 // degrees north and east
	inhabited float64 // millions of people of its area, rounded: its share of the traffic
}

// cities are sixty large ones of all continents.
var cities = [...]city{
	{"Tokyo", 35.7, 139.7, 37},
	{"Delhi", 28.6, 77.2, 32},
	{"Shanghai", 31.2, 121.5, 28},
	{"São Paulo", -23.6, -46.6, 22},
	{"Mexico City", 19.4, -99.1, 22},
	{"Cairo", 30.0, 31.2, 22},
	{"Mumbai", 19.1, 72.9, 21},
	{"Beijing", 39.9, 116.4, 21},
	{"Dhaka", 23.8, 90.4, 22},
	{"Osaka", 34.7, 135.5, 19},
	{"New York", 40.7, -74.0, 19},
	{"Karachi", 24.9, 67.0, 17},
	{"Buenos Aires", -34.6, -58.4, 15},
	{"Chongqing", 29.6, 106.6, 16},
	{"Istanbul", 41.0, 29.0, 16},
	{"Kolkata", 22.6, 88.4, 15},
	{"Manila", 14.6, 121.0, 14},
	{"Lagos", 6.5, 3.4, 15},
	{"Rio de Janeiro", -22.9, -43.2, 14},
	{"Guangzhou", 23.1, 113.3, 14},
	{"Los Angeles", 34.1, -118.2, 12},
	{"Moscow", 55.8, 37.6, 13},
	{"Kinshasa", -4.3, 15.3, 15},
	{"Paris", 48.9, 2.4, 11},
	{"Bogotá", 4.7, -74.1, 11},
	{"Jakarta", -6.2, 106.8, 11},
	{"Chennai", 13.1, 80.3, 11},
	{"Lima", -12.0, -77.0, 11},
	{"Bangkok", 13.8, 100.5, 11},
	{"Seoul", 37.6, 127.0, 10},
	{"Hyderabad", 17.4, 78.5, 10},
	{"London", 51.5, -0.1, 10},
	{"Tehran", 35.7, 51.4, 9},
	{"Chicago", 41.9, -87.6, 9},
	{"Ho Chi Minh City", 10.8, 106.7, 9},
	{"Luanda", -8.8, 13.2, 9},
	{"Kuala Lumpur", 3.1, 101.7, 8},
	{"Hong Kong", 22.3, 114.2, 7},
	{"Riyadh", 24.7, 46.7, 7},
	{"Santiago", -33.4, -70.7, 7},
	{"Madrid", 40.4, -3.7, 7},
	{"Toronto", 43.7, -79.4, 6},
	{"Dallas", 32.8, -96.8, 6},
	{"Miami", 25.8, -80.2, 6},
	{"Johannesburg", -26.2, 28.0, 6},
	{"Singapore", 1.4, 103.8, 6},
	{"Philadelphia", 40.0, -75.2, 6},
	{"Atlanta", 33.7, -84.4, 6},
	{"Barcelona", 41.4, 2.2, 6},
	{"Saint Petersburg", 59.9, 30.3, 5},
	{"Washington", 38.9, -77.0, 5},
	{"Nairobi", -1.3, 36.8, 5},
	{"Sydney", -33.9, 151.2, 5},
	{"Melbourne", -37.8, 145.0, 5},
	{"Berlin", 52.5, 13.4, 4},
	{"Rome", 41.9, 12.5, 4},
	{"San Francisco", 37.8, -122.4, 5},
	{"Seattle", 47.6, -122.3, 4},
	{"Frankfurt", 50.1, 8.7, 3},
	{"Stockholm", 59.3, 18.1, 2},
}

// edgesInCity is how many edges each city has.
const edgesInCity = 5

// edges is how many there are on the planet.
const edges = len(cities) * edgesInCity

// A region has a cluster, which owns keys.
type region struct {
	name     string
	lat, lon float64
}

// regions are three, of which the first is the leader.
var regions = [...]region{{"Virginia", 39.0, -77.5}, {"Frankfurt", 50.1, 8.7}, {"Singapore", 1.4, 103.8}}

const (
	earth    = 6371.0                    // its radius, in kilometers
	fiber    = 299_792.458 * 2 / 3 / 1e9 // what light goes in fiber, in kilometers per nanosecond
	detour   = 1.4                       // how much longer cables are than the shortest way
	fixed    = 1e6                       // nanoseconds of each way that are not distance: the last mile, routers
	jitter   = 0.05                      // of a way, the mean of what is drawn on top for each message
	zoneTrip = 500e3                     // nanoseconds from one zone of a region to another
	fsync    = 500e3                     // nanoseconds until a replica has stored a reservation
)

// away is the great-circle distance in kilometers.
func away(lat1, lon1, lat2, lon2 float64) float64 {
	const degree = math.Pi / 180
	a, b := lat1*degree, lat2*degree
	s := math.Sin((b-a)/2)*math.Sin((b-a)/2) + math.Cos(a)*math.Cos(b)*math.Pow(math.Sin((lon2-lon1)*degree/2), 2)
	return 2 * earth * math.Asin(math.Min(1, math.Sqrt(s)))
}

// oneWay is how long a message is on its way from a city to a region, in nanoseconds, without jitter.
func oneWay(c *city, r *region) int64 {
	return int64(fixed + away(c.lat, c.lon, r.lat, r.lon)*detour/fiber)
}

// nearest is the region that a city is nearest to.
func nearest(c *city) (best int) {
	for i := range regions {
		if oneWay(c, &regions[i]) < oneWay(c, &regions[best]) {
			best = i
		}
	}
	return best
}

// activity is how busy callers of a city are at an hour of the day, UTC, where 1 is the mean of the day: busiest at three in the afternoon.
func activity(c *city, hour float64) float64 {
	return 1 + 0.6*math.Cos(2*math.Pi*(hour+c.lon/15-15)/24)
}
