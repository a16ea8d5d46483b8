// Package transport is what the gRPC connections of a node are made of, at both of their ends: the sizes that both sides go by,
// the codec, and what a connection makes a node hold. It knows no service.
//
//	accept ─▶ Metered: counts calls, headers and incomplete messages ─▶ codec: counts large messages while they are read
//	                                                                └─▶ BoundStreams: counts what a stream keeps
//
// Everything is counted of the bounds of the listener; see [bound.Conn]. Start with [Metered] and [NewCodec].
package transport

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// MaxMessage is the most bytes of one gRPC message: enough for a batch of 1,000 requests, each as long as can be.
	MaxMessage = 8 << 20
	// MaxHeaders is how many bytes the headers of a call may have, as HTTP/2 counts: 32 more for each.
	MaxHeaders = 16 << 10
	// StreamWindow is how many bytes one side may send ahead in one call. It is fixed: to adapt it, grpc would ping the other side as
	// often as that sends something.
	StreamWindow = 128 << 10
	// ConnWindow is likewise for all calls of a connection.
	ConnWindow = 4 << 20
)

// ErrStopping ends the streams of a node that stops, when what they asked has been answered.
var ErrStopping = fmt.Errorf("%w: the node is stopping", limit.ErrUnavailable)
