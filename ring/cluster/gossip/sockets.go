package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-sockaddr"
	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring/key"
)

const (
	// gossipWithin is how long such a message may take to arrive.
	gossipWithin = 5 * time.Second
	// maxPacket is how long one over UDP may be.
	maxPacket = 1 << 16
	// packetBuffer is how many bytes of packets the kernel keeps.
	packetBuffer = 2 << 20
)

// sockets are gossip's listener and socket, as memberlist wants them. Memberlist by itself holds whatever a sender sends, for as long
// as the sender likes, before it checks that the sender has the key. So here a message is read within bounds, and memberlist sees it
// only once it is proved to come from a holder of the key:
//
//	TCP ─▶ bound.Listener ─▶ type, length ─▶ the bytes, as they come ─▶ opened with the key ─▶ memberlist
//	UDP ─▶ one buffer ──────────────────────────────────────────────▶ opened with the key ─▶ memberlist
//
// Without a key, the content of a message is checked instead: see plainMessage.
type sockets struct {
	listener *bound.Listener
	udp      *net.UDPConn
	key      *key.Key // nil without a cluster key
	log      *gossipLog
	metrics  *bound.Metrics

	streams chan net.Conn
	packets chan *memberlist.Packet
	wanted  chan struct{} // closed by deliver
	done    chan struct{} // closed by Shutdown
	once    sync.Once
	tasks   sync.WaitGroup // the goroutines that accept, read and hand over
	mu      sync.Mutex
	reading map[net.Conn]struct{} // connections whose message is not complete; nil after Shutdown
}

var _ memberlist.NodeAwareTransport = (*sockets)(nil)

// openSockets binds TCP and UDP to the same port of an address.
func openSockets(ip string, port int, bounds bound.Config, key *key.Key, log *gossipLog) (*sockets, error) {
	var listen net.ListenConfig
	tcp, err := listen.Listen(context.Background(), "tcp", net.JoinHostPort(ip, fmt.Sprint(port)))
	if err != nil {
		return nil, err
	}
	at := tcp.Addr().(*net.TCPAddr) //nolint:forcetypeassert // it listens for TCP
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: at.IP, Port: at.Port, Zone: at.Zone})
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	for size := packetBuffer; size > 0 && udp.SetReadBuffer(size) != nil; size /= 2 { // as much as the kernel gives
	}
	s := &sockets{
		listener: bound.New(tcp, bounds), udp: udp, key: key, log: log, metrics: bounds.Metrics,
		streams: make(chan net.Conn), packets: make(chan *memberlist.Packet), wanted: make(chan struct{}), done: make(chan struct{}),
		reading: map[net.Conn]struct{}{},
	}
	s.tasks.Go(s.accept)
	s.tasks.Go(s.listen)
	return s, nil
}

// accept takes streams until Shutdown.
func (s *sockets) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // it was closed: nothing else ends a listener
		}
		s.mu.Lock()
		closed := s.reading == nil
		if !closed {
			s.reading[conn] = struct{}{}
		}
		s.mu.Unlock()
		if closed {
			_ = conn.Close() // nothing was said over it
			return
		}
		s.tasks.Go(func() { s.take(bound.Of(conn)) })
	}
}

// take hands a stream to memberlist when its message is complete and proved.
func (s *sockets) take(conn *bound.Conn) {
	message, err := s.message(conn)
	s.mu.Lock()
	delete(s.reading, conn)
	s.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		conn.Cut(bound.Late)
		return
	case errors.Is(err, errOtherKey):
		s.log.otherKey(conn.RemoteAddr().String())
		s.listener.Refused(bound.Unproved, conn.RemoteAddr(), "a stream was refused")
		s.answerOtherKey(conn)
		_ = conn.Close() // what was to be said is said
		return
	case errors.Is(err, errNoGossip):
		conn.Refuse(bound.Malformed)
		return
	default: // it was closed
		_ = conn.Close() // nobody waits for an answer
		return
	}
	s.waitUntilWanted()
	select {
	case s.streams <- &replayedConn{Conn: conn, first: bytes.NewReader(message)}:
	case <-s.done:
		_ = conn.Close() // likewise
	}
}

// deliver begins to hand over what arrives; it is called once. A memberlist listens before it knows itself: one that hears of its earlier life
// in between takes itself for dead, and forgets itself a little later.
func (s *sockets) deliver() { close(s.wanted) }

// waitUntilWanted waits for deliver, or Shutdown.
func (s *sockets) waitUntilWanted() {
	select {
	case <-s.wanted:
	case <-s.done:
	}
}

// answerOtherKey lets the other side know that its key is another one: it cannot read what is said, and finds that out. A little of
// what it still sends is taken, or it would not get the answer.
func (s *sockets) answerOtherKey(conn *bound.Conn) {
	answer, err := sealedAnswer(s.key)
	if err != nil {
		return // an answer is a courtesy
	}
	if err := conn.SetDeadline(time.Now().Add(gossipWithin)); err != nil {
		return
	}
	if _, err := conn.Write(answer); err != nil {
		return
	}
	if tcp, ok := conn.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, conn, maxPacket) // until the other side closes
	}
}

// message reads the message of a stream.
func (s *sockets) message(conn *bound.Conn) (message []byte, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(gossipWithin)); err != nil {
		return nil, err
	}
	kept := &boundedReader{conn: conn}
	defer func() {
		conn.Release(kept.held)
		if err == nil {
			err = conn.SetReadDeadline(time.Time{})
		}
	}()
	if s.key == nil {
		err = plainStream(kept)
		return kept.all, err
	}
	if err := sealedStream(kept, s.key); err != nil {
		return nil, err
	}
	conn.Prove(bound.Node)
	return kept.all, nil
}

// replayedConn is a stream whose beginning was read already.
type replayedConn struct {
	net.Conn
	first *bytes.Reader
}

// Read implements net.Conn.
func (t *replayedConn) Read(b []byte) (int, error) {
	if t.first.Len() > 0 {
		return t.first.Read(b)
	}
	return t.Conn.Read(b)
}

// listen takes packets until Shutdown.
func (s *sockets) listen() {
	buffer := make([]byte, maxPacket)
	for {
		n, from, err := s.udp.ReadFrom(buffer)
		now := time.Now()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil || n == 0: // an error is about a packet that was sent before
			continue
		}
		if err := s.checkPacket(buffer[:n]); err != nil {
			reason := bound.Malformed
			if errors.Is(err, errOtherKey) {
				reason = bound.Unproved
				s.log.otherKey(from.String())
			}
			s.listener.Refused(reason, from, "a packet was dropped")
			continue
		}
		s.waitUntilWanted()
		select {
		case s.packets <- &memberlist.Packet{Buf: bytes.Clone(buffer[:n]), From: from, Timestamp: now}:
		case <-s.done:
			return
		}
	}
}

// checkPacket says what is wrong with a packet.
func (s *sockets) checkPacket(packet []byte) error {
	if s.key == nil {
		return plainMessage(packet, maxNested)
	}
	return checkSealed(s.key, packet, nil)
}

// PacketCh implements memberlist.Transport.
func (s *sockets) PacketCh() <-chan *memberlist.Packet { return s.packets }

// StreamCh implements memberlist.Transport.
func (s *sockets) StreamCh() <-chan net.Conn { return s.streams }

// Shutdown implements memberlist.Transport.
func (s *sockets) Shutdown() (err error) {
	s.once.Do(func() {
		close(s.done)
		err = errors.Join(s.listener.Close(), s.udp.Close())
		s.mu.Lock()
		for conn := range s.reading {
			_ = conn.Close() // nobody waits for an answer
		}
		s.reading = nil
		s.mu.Unlock()
		s.tasks.Wait()
	})
	return err
}

// port is the one that both sockets are bound to.
func (s *sockets) port() int {
	return s.listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens for TCP
}

// FinalAdvertiseAddr implements memberlist.Transport: where others reach the sockets.
func (s *sockets) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	at := s.listener.Addr().(*net.TCPAddr) //nolint:forcetypeassert // it listens for TCP
	if ip == "" {
		if !at.IP.IsUnspecified() {
			return at.IP, at.Port, nil
		}
		private, err := sockaddr.GetPrivateIP()
		if err != nil || private == "" {
			return nil, 0, errors.Join(errors.New("this machine has no private address: name the address at which other nodes reach it (--advertise)"), err)
		}
		ip, port = private, at.Port
	}
	parsed := net.ParseIP(ip)
	if parsed == nil {
		return nil, 0, fmt.Errorf("%q is not an IP address", ip)
	}
	if four := parsed.To4(); four != nil {
		parsed = four
	}
	return parsed, port, nil
}

// WriteTo implements memberlist.Transport.
func (s *sockets) WriteTo(b []byte, address string) (time.Time, error) {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return time.Time{}, err
	}
	_, err = s.udp.WriteTo(b, to)
	return time.Now(), err
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (s *sockets) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	return s.WriteTo(b, to.Addr)
}

// DialTimeout implements memberlist.Transport.
func (s *sockets) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: timeout}
	return dialer.DialContext(context.Background(), "tcp", address)
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (s *sockets) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return s.DialTimeout(to.Addr, timeout)
}
