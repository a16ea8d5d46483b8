package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// maxOlder is how many decisions a bucket remembers besides the last one, for people who ask why.
const maxOlder = 7

// A decision is one that was made of a check; the zero decision, a peek in 1970, is none.
type decision struct {
	at   int64
	cost int64 // of an admitted check; of a denied one the complement, which is negative
}

func (d decision) recent() limit.Recent {
	if d.cost < 0 {
		return limit.Recent{At: d.at, Cost: ^d.cost}
	}
	return limit.Recent{At: d.at, Cost: d.cost, Allowed: true}
}

// older are the decisions before the last one: a ring.
type older struct {
	list [maxOlder]decision
	n    int // ever pushed
}

func (o *older) push(d decision) {
	o.list[o.n%maxOlder] = d
	o.n++
}
