package peers

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// How connections to other nodes are kept.
const (
	peerPingAfter  = 10 * time.Second // of silence, grpc asks whether the other end still lives; it does not allow less
	peerPongWithin = 2 * time.Second  // for the answer, and for the network to take what was sent
	connectWithin  = 2 * time.Second  // before another attempt
	firstReconnect = 50 * time.Millisecond
	lastReconnect  = time.Second // the longest pause between two attempts
)

// TransferWithin is how long a Copy or an Install may take, whatever its caller says.
const TransferWithin = 10 * time.Minute

// toHeader is the id of the node that a call is meant for; missing where any node at the address may answer.
const toHeader = "jeton-to"

// What a node says of itself when it opens a Reserve stream.
const (
	nodeHeader    = "jeton-node"    // its id
	addressHeader = "jeton-address" // its gRPC address; may be missing
)

// differencesHeader is in the answer of a node that takes ledgers as differences, with the version of these. A node of before knows none.
const (
	differencesHeader  = "jeton-differences"
	differencesVersion = "1"
)

// countsHeader is in the call of a node that takes a count of the reservations that were accepted as they were asked for, with the version
// of that. A node of before knows none, and gets an answer to each.
const (
	countsHeader  = "jeton-counts"
	countsVersion = "1"
)

// defaultLedgerMemory is that of ClientConfig.LedgerMemory.
const defaultLedgerMemory = 16 << 20

// ClientConfig says how a node speaks to others.
type ClientConfig struct {
	// ID is the node's own. Required.
	ID ring.NodeID
	// Address is the node's own gRPC address as others know it: they connect back to a node that has connected to them. Empty leaves
	// that out.
	Address string
	// Key is the cluster key; nil speaks plainly, which only nodes without a key listen to.
	Key *key.Key
	// Now is the node clock. Required.
	Now func() int64
	// LedgerMemory is about how many bytes of ledgers are remembered that were sent, so that the next ones go as differences; 0 means 16 MiB.
	LedgerMemory int64
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger gets lines about connections that cannot be opened; nil discards them.
	Logger *slog.Logger
}

// A dialer makes the connections to other nodes.
type dialer struct {
	cfg     ClientConfig
	log     *slog.Logger
	metrics clientMetrics
	sent    *sentLedgers
	secured grpc.DialOption // with what the node proves that it is one

	answerWithin time.Duration // of streams; answerWithin, but in tests
}

// dial makes a connection that is not yet open. The name of the node is looked up at every attempt.
func (d *dialer) dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		d.secured,
		grpc.WithNoProxy(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithStaticStreamWindowSize(transport.StreamWindow),
		grpc.WithStaticConnWindowSize(transport.ConnWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(transport.MaxMessage), grpc.MaxCallSendMsgSize(transport.MaxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: peerPingAfter, Timeout: peerPongWithin, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstReconnect, Multiplier: 2, Jitter: 0.2, MaxDelay: lastReconnect},
			MinConnectTimeout: connectWithin,
		}),
	)
}
