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

// Config says what a [Listener] bounds. A bound of 0 is none.
type Config struct {
	// Name is what the listener is called in metrics and logs, such as "grpc". Required.
	Name string
	// Connections is how many are open at most. Beyond it, a stranger of the address that has most makes room for an
	// address that has fewer; an address that has no more than a few loses none, so that whoever has many addresses
	// cannot take the connections of those who are served.
	Connections int
	// PerAddress is how many of them may come from one address and have proved nothing. Of IPv6, 64 bits are an address.
	PerAddress int
	// Memory is how many bytes are held at most for all connections that have proved nothing. Those of callers with a
	// certificate have a budget of the same size to themselves; nodes have none.
	Memory int64
	// Exchanges says that what is read counts as held until something is written, as in HTTP/1.1: as what a header of it could
	// take, until Conn.Begin says what it does. Without, only Hold counts.
	Exchanges bool
	// WriteWithin is how long one write may take: who does not read is cut off.
	WriteWithin time.Duration
	// Metrics counts what is refused; nil counts nothing.
	Metrics *Metrics
	// Logger hears of what is refused, a line a minute for each reason at most; nil discards that.
	Logger *slog.Logger
}

// Why a connection is refused, or cut off: the label of a metric.
const (
	tooMany     = "connections" // the listener has as many as it may
	tooManyOf   = "address"     // the address has as many as it may
	descriptors = "descriptors" // the process has no descriptor left
	tooMuch     = "memory"      // it held most when the budget was used up
	Late        = "late"        // a handshake or a message was not complete in time
	Unread      = "unread"      // answers were not read in time
	Unproved    = "handshake"   // it proved to be nobody that may connect, or spoke something else
	Malformed   = "malformed"   // what it sent is no message
	patience    = time.Second   // between two tries without descriptors, at most
	firstTry    = 5 * time.Millisecond
)

// A Proof is what is known of who is at the other end of a connection.
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

// An address is where connections come from.
type address struct {
	conns     map[*Conn]struct{}
	strangers int // of them
}

// New puts bounds around l.
func New(l net.Listener, cfg Config) *Listener {
	return &Listener{
		Listener: l, cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), lines: NewLines(),
		conns: map[*Conn]struct{}{}, addresses: map[netip.Prefix]*address{}, greedy: map[*address]struct{}{}, closed: make(chan struct{}),
	}
}

// Accept implements net.Listener. The error says that the listener is closed, or broken: connections that are refused, and
// descriptors that are missing, are none.
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

// passing says whether accepting may succeed again after err.
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

// admit is the connection that is accepted, or nil if it was refused.
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
		l.Refused(reason, raw.RemoteAddr(), "a connection was refused: there are as many as there may be")
		abort(raw)
		return nil
	}
	return c
}

// few is how many strangers an address has at most that never gives one of them up: 16, or an eighth of all.
func (l *Listener) few() int { return min(16, l.cfg.Connections/8) }

// strangersLocked counts strangers of an address.
func (l *Listener) strangersLocked(of *address, more int) {
	of.strangers += more
	if of.strangers > l.few() {
		l.greedy[of] = struct{}{}
	} else {
		delete(l.greedy, of)
	}
}

// mostLocked is a stranger of the address that has most of them, if it has more than a few, and more than that many and one.
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

// dropLocked forgets an address without connections.
func (l *Listener) dropLocked(from netip.Prefix) {
	if of := l.addresses[from]; of != nil && len(of.conns) == 0 {
		delete(l.addresses, from)
	}
}

// Refused counts, and logs once in a while, that something was refused, and why: one of this package's reasons.
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

// largest is the connection that holds most among those with a proof.
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

// prefixOf is what counts as the address of a connection.
func prefixOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{} // no address of the internet: all count as one
	}
	ip, bits := at.Addr().Unmap(), 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.WithZone("").Prefix(bits) // which such addresses have
	return p
}

// abort closes a connection at once: nothing is left of it, not even the memory of its port.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it is closed anyway
	}
	_ = c.Close() // nothing was said over it
}
