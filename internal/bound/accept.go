package bound

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// How long Accept pauses while no descriptors are left, at first and at most.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
)

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
	wait := firstPause
	for {
		raw, err := l.Listener.Accept()
		switch {
		case err == nil:
			wait = firstPause
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
			wait = min(2*wait, maxPause)
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
