package key

import (
	"sync/atomic"
	"time"
)

// What others prove with a secret that they have it.
const (
	OverTLS    = "tls"    // gRPC and raft: a connection
	OverGossip = "gossip" // a message
	OverToken  = "token"  // a call or a request
)

// uses are how often a secret was shown by others, and when last.
type uses struct {
	tls, gossip, token atomic.Uint64
	last               atomic.Int64 // nanoseconds since the Unix epoch; 0 is never
}

// use notes that somebody has proved to have the secret.
func (o *one) use(over string) {
	switch over {
	case OverTLS:
		o.uses.tls.Add(1)
	case OverGossip:
		o.uses.gossip.Add(1)
	case OverToken:
		o.uses.token.Add(1)
	}
	o.uses.last.Store(time.Now().UnixNano())
}
