package key

import (
	"crypto/tls"
	"io"
	"net"
)

// Hold is conn, a connection over the TLS of this key whose handshake is complete, and which stands on raw. It notes that the other end has
// proved to have a secret. The connection is closed when what the
// other end has shown is not accepted any more, or what this end has shown is not what it shows now: then it is opened anew. Both can
// have happened already.
func (k *Key) Hold(conn net.Conn, raw io.Closer, state tls.ConnectionState) net.Conn {
	all := k.all()
	h := &heldConn{Conn: conn, in: &k.conns, raw: raw, shown: all[0], theirs: shownBy(state, all)}
	k.conns.add(h)
	if h.theirs != nil {
		h.theirs.use(OverTLS)
	}
	if h.outdated(k.all()) {
		h.cut()
	}
	return h
}
