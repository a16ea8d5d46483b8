package redis

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// defined is a limit that a client has defined, and references to it: most define the same one again and again.
type defined struct {
	name             string
	capacity, tokens int64
	per, wait        time.Duration
	refs             []limit.Ref
}

// define makes d that limit.
func (d *defined) define(name string, capacity, tokens int64, per, wait time.Duration) []limit.Ref {
	if d.name == name && d.capacity == capacity && d.tokens == tokens && d.per == per && d.wait == wait {
		return d.refs
	}
	ref := bucket(name, capacity, tokens, per)
	ref.Inline.MaxWait = wait
	*d = defined{name, capacity, tokens, per, wait, []limit.Ref{ref}}
	return d.refs
}

// bucket is the reference to a limit that clients define: a token bucket.
func bucket(name string, capacity, tokens int64, per time.Duration) limit.Ref {
	return limit.Inline(limit.Limit{Name: name, Capacity: capacity, Refill: limit.Refill{Tokens: tokens, Per: per}})
}
