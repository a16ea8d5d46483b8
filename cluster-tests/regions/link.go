package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A link is a way to an address of another region, on which each byte takes time. It may be cut.
type link struct {
	to       string
	takes    time.Duration
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// newLink is one from an address to another.
func newLink(ctx context.Context, from, to string, takes time.Duration) (*link, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", from)
	if err != nil {
		return nil, err
	}
	k := &link{to: to, takes: takes, listener: l, conns: map[net.Conn]bool{}}
	k.running.Go(func() { k.accept(ctx) })
	return k, nil
}

func (k *link) accept(ctx context.Context) {
	for {
		near, err := k.listener.Accept()
		if err != nil {
			return
		}
		far, err := new(net.Dialer).DialContext(ctx, "tcp", k.to)
		if err != nil || !k.keep(near, far) {
			_ = near.Close()
			if err == nil {
				_ = far.Close()
			}
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			k.running.Go(func() { k.carry(way[0], way[1]) })
		}
	}
}

// keep notes connections, and reports whether they may go on.
func (k *link) keep(conns ...net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range conns {
		k.conns[c] = true
	}
	return !k.cut
}

// A parcel is what was read at a time, and when it arrives.
type parcel struct {
	text []byte
	at   time.Time
}

// carry takes what one side sends to the other side, later, until either is closed.
func (k *link) carry(from, to net.Conn) {
	way := make(chan parcel, 4096)
	k.running.Go(func() {
		for p := range way {
			<-time.After(time.Until(p.at))
			if _, err := to.Write(p.text); err != nil {
				_ = from.Close()
			}
		}
		_ = to.Close()
	})
	defer close(way)
	for {
		text := make([]byte, 32<<10)
		n, err := from.Read(text)
		if n > 0 {
			way <- parcel{text[:n], time.Now().Add(k.takes)}
		}
		if err != nil {
			return
		}
	}
}

// sever ends all connections, and takes no more until mend.
func (k *link) sever() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = true
	for c := range k.conns {
		_ = c.Close()
	}
	clear(k.conns)
}

// mend takes connections again.
func (k *link) mend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = false
}

// Close implements [io.Closer].
func (k *link) Close() error {
	err := k.listener.Close()
	k.sever()
	k.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

var _ io.Closer = (*link)(nil)
