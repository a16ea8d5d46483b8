package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// searchEvery is how often a node that cannot be reached is looked at for what it speaks instead.
const searchEvery = 5 * time.Second

// takesChecks says where checks go.
const takesChecks = "nodes take checks at --listen-grpc, 7700 by default"

// A suspicion is what is known of an address that does not speak what a client of a cluster does: the wrong port, or TLS on one
// side only. It is looked for only after an error.
type suspicion struct {
	never  bool                   // the address is from a table of the node that the client is in, and right
	spoke  atomic.Bool            // the node has answered once: it is where checks go
	found  atomic.Pointer[string] // what is wrong there; nil for nothing that is known
	mu     sync.Mutex             // held by whoever looks
	looked time.Time              // when somebody did last; guarded by mu
}

// suspect looks what the node's address speaks, if err may come of that and nobody has looked just now. It takes no longer than
// ctx.
func (n *node) suspect(ctx context.Context, err error) {
	if _, down := n.down(); !down || n.suspicion.never || !errors.Is(err, limit.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	s := &n.suspicion
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if !s.looked.IsZero() && time.Since(s.looked) < searchEvery {
		return
	}
	s.looked = time.Now()
	said, wrong := misdirected(ctx, n.address, n.secure, n.dial)
	if wrong == "" || said == StaysSilent && s.spoke.Load() { // it is frozen
		s.found.Store(nil)
	} else {
		s.found.Store(&wrong)
	}
}

// A MisdirectedError says in words for people what is wrong with an address: it is not where a node takes checks, or TLS is on one
// side only. It is what the call met, too.
type MisdirectedError struct {
	wrong string
	err   error
}

func (e *MisdirectedError) Error() string { return e.wrong }
func (e *MisdirectedError) Unwrap() error { return e.err }

// clear forgets what was wrong: the node has answered.
func (s *suspicion) clear() {
	if !s.spoke.Load() {
		s.spoke.Store(true)
	}
	if s.found.Load() != nil {
		s.found.Store(nil)
	}
}

// misdirected says what an address speaks, as far as that was found out, and what keeps it from being asked over gRPC, in plain
// text or by secure; wrong is empty if that is not to be seen.
func misdirected(ctx context.Context, address string, secure *tls.Config, dial dialer) (p Protocol, wrong string) {
	if secure == nil {
		if p = speaks(ctx, address, dial); p == SpeaksOther && shakesAtAll(ctx, address, dial) {
			p = SpeaksTLS
		}
		return p, misdirectedPlain(address, p)
	}
	agreed, err := shakes(ctx, address, secure, dial)
	var (
		foreign x509.UnknownAuthorityError
		name    x509.HostnameError
	)
	switch {
	case errors.As(err, &foreign):
		return SpeaksTLS, fmt.Sprintf("the certificate of %s is not from an authority that is trusted here: see --tls-ca, or --cluster-key-file for the other cluster's key", address)
	case errors.As(err, &name):
		return SpeaksTLS, fmt.Sprintf("the certificate of %s is for another name: %v", address, name)
	case err == nil && agreed != "h2":
		return SpeaksTLS, fmt.Sprintf("%s speaks TLS, but not gRPC: %s", address, takesChecks)
	case err == nil || !notTLS(err):
		return SpeaksTLS, ""
	}
	switch p = speaks(ctx, address, dial); p {
	case SpeaksGRPC:
		return p, fmt.Sprintf("%s speaks plain text, not TLS: leave out --tls-cert, --tls-key, --tls-ca and --cluster-key-file, or give the node certificates", address)
	case SpeaksTLS:
		return p, ""
	default:
		return p, misdirectedPlain(address, p)
	}
}

// misdirectedPlain is misdirected for who meets that protocol.
func misdirectedPlain(address string, p Protocol) string {
	switch p {
	case SpeaksHTTP, SpeaksHTTPS:
		return fmt.Sprintf("%s speaks %s, not gRPC: %s", address, p, takesChecks)
	case SpeaksTLS:
		return fmt.Sprintf("%s speaks TLS, and was asked in plain text: show a certificate with --tls-cert, --tls-key and --tls-ca, or the cluster key with --cluster-key-file", address)
	case SpeaksOther:
		return fmt.Sprintf("%s takes connections and speaks neither gRPC nor HTTP, as ports of gossip and raft do: %s", address, takesChecks)
	case StaysSilent:
		return fmt.Sprintf("%s takes connections and says nothing: its process may be frozen, or it is a port of another kind: %s", address, takesChecks)
	case SpeaksNothing, SpeaksGRPC:
	}
	return ""
}
