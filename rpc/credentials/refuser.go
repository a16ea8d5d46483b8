package credentials

import (
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/transport"
)

// refuseFor is how long a connection in plain text is kept to tell its caller that calls in plain text are refused.
const refuseFor = 10 * time.Second

// maxRefused is how many calls a connection in plain text may have under way.
const maxRefused = 100

// errNeedsTLS answers every call in plain text at a node that has its callers speak TLS.
var errNeedsTLS = status.Error(codes.Unauthenticated,
	"this node requires TLS: give a certificate with --tls-cert, --tls-key and --tls-ca, or the cluster key with --cluster-key-file")

// A plainRefuser tells callers who speak plainly why they are not served. It is a server without any service: what comes to
// it can reach nothing else. So a caller reads an error of the call instead of a connection that breaks.
type plainRefuser struct {
	server *grpc.Server
	conns  *handedOver
	open   *pending      // connections that are taken and not closed yet
	served chan struct{} // closed when the server has ended
}

// newPlainRefuser makes one that serves until stop.
func newPlainRefuser() *plainRefuser {
	p := &plainRefuser{
		server: grpc.NewServer(
			grpc.ConnectionTimeout(HandshakeWithin),
			grpc.MaxConcurrentStreams(maxRefused),
			grpc.MaxHeaderListSize(transport.MaxHeaders),
			grpc.MaxRecvMsgSize(0), // nothing is read
			grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return errNeedsTLS }),
		),
		conns:  &handedOver{conns: make(chan net.Conn), closed: make(chan struct{})},
		open:   newPending(),
		served: make(chan struct{}),
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(p.conns) // which ends with stop and for no other reason
	}()
	return p
}

// take refuses whatever is called over raw, which is the refuser's from now on. It closes it soon, however much the
// caller has to say.
func (p *plainRefuser) take(raw net.Conn) {
	conn := &briefConn{Conn: raw, open: p.open, end: time.AfterFunc(refuseFor, func() { _ = raw.Close() })}
	if !p.open.add(conn) || !p.conns.put(conn) {
		_ = conn.Close() // the server has stopped, and nothing was said over it
	}
}

// stop cuts off what is under way, and returns when no goroutine is left.
func (p *plainRefuser) stop() {
	p.open.closeAll()
	p.server.Stop()
	<-p.served
}

// A briefConn is a connection that is closed before long.
type briefConn struct {
	net.Conn
	open *pending
	end  *time.Timer
}

// Close implements net.Conn.
func (c *briefConn) Close() error {
	c.end.Stop()
	c.open.remove(c)
	return c.Conn.Close()
}

// handedOver is a listener for connections that another one has accepted.
type handedOver struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// put hands conn over; false if the refuser has stopped.
func (h *handedOver) put(conn net.Conn) bool {
	select {
	case h.conns <- conn:
		return true
	case <-h.closed:
		return false
	}
}

var errHandedOverClosed = errors.New("the port is closed")

// Accept implements net.Listener.
func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.closed:
		return nil, errHandedOverClosed
	}
}

// Close implements net.Listener.
func (h *handedOver) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (*handedOver) Addr() net.Addr { return &net.UnixAddr{Name: "plain text", Net: "handed over"} }
