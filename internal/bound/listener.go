package bound

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
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
	patience    = time.Second   // the longest pause between two attempts without descriptors
	firstTry    = 5 * time.Millisecond
)

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

// New wraps l.
func New(l net.Listener, cfg Config) *Listener {
	return &Listener{
		Listener: l, cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), lines: NewLines(),
		conns: map[*Conn]struct{}{}, addresses: map[netip.Prefix]*address{}, greedy: map[*address]struct{}{}, closed: make(chan struct{}),
	}
}

// Accept implements net.Listener. It returns an error only if the listener is closed or broken, not for a refused connection or
// a lack of descriptors.
func (l *Listener) Accept() (net.Conn, error) {
	wait := firstTry
	for {
		raw, err := l.Listener.Accept()
		switch {
		case err == nil:
			wait = firstTry
			if c := l.admit(raw); c != nil {
				return c, nil
			}
			continue
		case !passing(err):
			return nil, err
		case NoDescriptors(err):
			l.Refused(descriptors, nil, "no descriptors are left for connections: raise the limit of open files (LimitNOFILE, ulimit -n)", "error", err)
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, patience)
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// passing reports whether Accept may succeed again after err.
func passing(err error) bool {
	for _, e := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Close implements net.Listener. Connections that were accepted stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// admit returns the accepted connection, or nil if it was refused.
func (l *Listener) admit(raw net.Conn) *Conn {
	c := &Conn{Conn: raw, listener: l, from: prefixOf(raw.RemoteAddr())}
	l.mu.Lock()
	of := l.addresses[c.from]
	if of == nil {
		of = &address{conns: map[*Conn]struct{}{}}
		l.addresses[c.from] = of
	}
	var gives *Conn // way
	reason := ""
	switch {
	case l.cfg.PerAddress > 0 && of.strangers >= l.cfg.PerAddress:
		reason = tooManyOf
	case l.cfg.Connections > 0 && len(l.conns) >= l.cfg.Connections:
		if gives = l.mostLocked(len(of.conns)); gives == nil {
			reason = tooMany
		}
	}
	if reason == "" {
		of.conns[c] = struct{}{}
		l.strangersLocked(of, 1)
		l.conns[c] = struct{}{}
		l.cfg.Metrics.open(l.cfg.Name, 1)
	} else {
		l.dropLocked(c.from)
	}
	l.mu.Unlock()
	if gives != nil {
		gives.Cut(tooMany)
	}
	if reason != "" {
		l.Refused(reason, raw.RemoteAddr(), "a connection was refused: the maximum number of connections is open")
		abort(raw)
		return nil
	}
	return c
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

// mostLocked returns a stranger's connection of the address with the most, if that has more than a few, and more than than+1.
func (l *Listener) mostLocked(than int) *Conn {
	var most *address
	for of := range l.greedy {
		if most == nil || of.strangers > most.strangers {
			most = of
		}
	}
	if most == nil || most.strangers <= than+1 {
		return nil
	}
	for c := range most.conns {
		if c.Proved() == Stranger && !c.cut.Load() {
			return c
		}
	}
	return nil
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

// largest is the connection with that proof that holds the most.
func (l *Listener) largest(proof Proof) (most *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var bytes int64
	for c := range l.conns {
		if held := c.Held(); c.Proved() == proof && held > bytes && !c.cut.Load() {
			most, bytes = c, held
		}
	}
	return most
}

// Held is how many bytes are held for connections with a proof, [Stranger] or [Caller].
func (l *Listener) Held(proof Proof) int64 { return l.held[proof].Load() }

// Open is how many connections there are.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// prefixOf is the network address by which a connection is counted.
func prefixOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{} // not an IP address: all count as one
	}
	ip, bits := at.Addr().Unmap(), 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.WithZone("").Prefix(bits) // link-local addresses have zones
	return p
}

// abort closes a connection at once, without leaving it in TIME_WAIT.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it is closed anyway
	}
	_ = c.Close() // the connection was not used
}
