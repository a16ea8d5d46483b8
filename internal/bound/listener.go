package bound

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config has the bounds of a [Listener]. A bound of 0 means none.
type Config struct {
	// Name is what the listener is called in metrics and logs, such as "grpc". Required.
	Name string
	// Connections is the maximum number of open connections. Beyond it, a stranger's connection from the address with the most
	// is closed for an address with fewer. An address with only a few loses none, so that a client with many addresses cannot
	// displace other clients.
	Connections int
	// PerAddress is the maximum number of connections from one address that have proved nothing. For IPv6, the first 64 bits
	// count as the address.
	PerAddress int
	// Memory is the maximum number of bytes held for all connections that have proved nothing. Connections of callers with a
	// certificate share another budget of the same size; those of nodes have no bound.
	Memory int64
	// Exchanges makes what is read count as held until something is written, as in HTTP/1.1: with the memory that a header of
	// that size could take, until Conn.Begin gives the real size. Otherwise only Hold counts.
	Exchanges bool
	// WriteWithin is how long one write may take: a client that does not read is disconnected.
	WriteWithin time.Duration
	// Metrics counts refused connections; nil disables that.
	Metrics *Metrics
	// Logger receives at most one line a minute for each reason; nil discards them.
	Logger *slog.Logger
}

// Why a connection is refused, or cut off: the label of a metric.
const (
	tooMany     = "connections" // the listener has its maximum
	tooManyOf   = "address"     // the address has its maximum
	descriptors = "descriptors" // the process has no file descriptor left
	tooMuch     = "memory"      // it held the most when the budget was used up
	Late        = "late"        // a handshake or a message was not complete in time
	Unread      = "unread"      // answers were not read in time
	Unproved    = "handshake"   // the handshake failed
	Malformed   = "malformed"   // it sent no valid message
)

// whys are the log messages of the reasons.
var whys = map[string]string{ //nolint:gochecknoglobals // it is a constant
	tooMany:   "a connection was closed: there are too many, and its address has the most",
	tooMuch:   "a connection was closed: the memory for incomplete messages and unread answers was used up, and this connection held the most",
	Late:      "a connection was closed: a handshake or a message on it was not complete in time",
	Unread:    "a connection was closed: answers on it were not read in time",
	Unproved:  "a connection was closed: the handshake failed",
	Malformed: "a connection was closed: it sent a malformed message",
}

// A Proof says how the other end of a connection has authenticated itself.
type Proof int32

// In the order of their weight.
const (
	Stranger Proof = iota // nothing
	Caller                // a certificate
	Node                  // the cluster key
)

// A Listener is a net.Listener that bounds what its connections cost. Accept returns *Conn.
type Listener struct {
	net.Listener

	cfg   Config
	log   *slog.Logger
	lines *Lines
	held  [Node]atomic.Int64 // bytes, by Proof

	mu        sync.Mutex
	conns     map[*Conn]struct{}
	addresses map[netip.Prefix]*address
	greedy    map[*address]struct{} // those that have more than a few strangers

	once   sync.Once
	closed chan struct{}
}

// An address counts the connections from one network address.
type address struct {
	conns     map[*Conn]struct{}
	strangers int // of them
}

// A Conn is a connection that a [Listener] has accepted. It is safe for concurrent use.
type Conn struct {
	net.Conn

	listener *Listener
	from     netip.Prefix
	cut      atomic.Bool

	mu     sync.Mutex
	proof  Proof
	held   int64 // bytes
	read   int64 // part of held: what was read since the last write
	header int64 // part of held: the header of the present exchange
	begun  bool  // the header of an exchange was read, and its handler is running
	closed bool
}

// few is up to how many strangers' connections an address never loses one: 16, or an eighth of all.
func (l *Listener) few() int { return min(16, l.cfg.Connections/8) }

// strangersLocked changes the number of strangers of an address.
func (l *Listener) strangersLocked(of *address, more int) {
	of.strangers += more
	if of.strangers > l.few() {
		l.greedy[of] = struct{}{}
	} else {
		delete(l.greedy, of)
	}
}

// dropLocked removes an address without connections.
func (l *Listener) dropLocked(from netip.Prefix) {
	if of := l.addresses[from]; of != nil && len(of.conns) == 0 {
		delete(l.addresses, from)
	}
}

// Refused counts a refusal, and logs it at most once a minute for each reason, which is one of this package's.
func (l *Listener) Refused(reason string, from net.Addr, why string, args ...any) {
	l.cfg.Metrics.refuse(l.cfg.Name, reason)
	if before, may := l.lines.May(reason); may {
		args = append([]any{"listener", l.cfg.Name, "reason", reason, "more_since_last", before}, args...)
		if from != nil {
			args = append(args, "address", from.String())
		}
		l.log.Warn(why, args...) //nolint:sloglint // the callers' are constants
	}
}

// Held is how many bytes are held for connections with a proof, [Stranger] or [Caller].
func (l *Listener) Held(proof Proof) int64 { return l.held[proof].Load() }

// Open is how many connections there are.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// abort closes a connection at once, without leaving it in TIME_WAIT.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it is closed anyway
	}
	_ = c.Close() // the connection was not used
}
