package rls

import "github.com/jeton-dev/jeton/actor/limit"

// A group says when an ask is made, and what it means for the others.
type group uint8

const (
	always   group = iota // charged whatever the others say; what does not fit takes what is left
	refund                // gives back
	look                  // takes nothing
	together              // all of them admit, or none is charged
	observed              // charged if the request is admitted
)

// An ask is one bucket of the request. Descriptors of the same bucket have one.
type ask struct {
	group   group
	key     string
	limit   limit.Ref
	hits    int64 // 0 for a look
	quiet   bool  // it never denies, and where it has no answer the request has one
	returns bool  // what it takes may be given back by a later request

	known bool // there is an outcome
	out   limit.Outcome
	over  bool // it does not have the hits
}

// A bucket is one key's bucket of one limit.
type bucket struct{ key, limit string }

func (a *ask) bucket() bucket { return bucket{a.key, a.limit.Name} }

// request is what the Limiter is asked.
func (a *ask) request(charge bool) limit.Request {
	r := limit.Request{Key: a.key, Limits: []limit.Ref{a.limit}}
	if charge && a.hits > 0 {
		r.Cost, r.Receipt = a.hits, a.returns
	} else {
		r.Look = true
	}
	return r
}

// saw notes what a look has found: the bucket is over if the hits, or one if there are none, do not fit.
func (a *ask) saw(d limit.Decision) {
	if len(d.Limits) == 0 {
		return
	}
	a.known, a.out = true, d.Limits[0]
	a.over = a.out.Remaining < max(a.hits, 1)
}

// untake notes that what was taken came back.
func (a *ask) untake() { a.out.Remaining = min(a.out.Remaining+a.hits, a.out.Limit) }

// denies says whether a denies the request.
func (a *ask) denies() bool { return a.over && !a.quiet }
