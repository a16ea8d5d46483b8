package redis

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// The limits that clients define have one name each, so their buckets are found again whatever numbers the next call brings: of a changed
// number the line that was spent stays spent. Keys of different commands share no bucket.
const (
	ofCell    = "redis-cell"    // CL.THROTTLE
	ofRate    = "redis-rate"    // the scripts of redis_rate
	ofTraefik = "redis-traefik" // the script of Traefik
)

// inlineNames are all of them.
func inlineNames() []string { return []string{ofCell, ofRate, ofTraefik} }

// asking is a check of cost tokens of a bucket. Where that is more than the bucket ever has, it is a look, which says what there is.
func asking(key []byte, of []limit.Ref, cost int64, called names) *check {
	c := &check{request: limit.Request{Key: keyOf(key), Limits: of}, never: cost > of[0].Inline.Capacity, names: called}
	if c.request.Look = cost == 0 || c.never; !c.request.Look {
		c.request.Cost = cost
	}
	return c
}
