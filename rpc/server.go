// Package rpc is a node's gRPC: a [Server] answers programs (jeton.v1.Limiter), clients that want to know where keys live
// (jeton.v1.Cluster), operators (jeton.v1.Admin) and other nodes (jeton.v1.Peer, of rpc/peers), and a [Router] has each request decided
// where its key lives. Neither decides anything itself: both ask a [limit.Limiter]. An error of a call means that nothing was decided.
//
// The path of one check:
//
//	Server.Check, CheckBatch, CheckStream ─▶ rpc/pb: message → Request ─▶ Router ─┬─▶ this node: actor.System
//	                                                                             └─▶ rpc/nodes: another node
//
// The same over HTTP is rpc/web. What connections are made of is rpc/transport, and who is at their other end is the business of
// rpc/credentials.
//
// Start with [New].
package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/peers"
)

// A Server answers jeton.v1.Limiter, jeton.v1.Cluster, jeton.v1.Admin and jeton.v1.Peer, the health protocol and reflection over gRPC.
type Server struct {
	pb.UnimplementedLimiterServer // description says who answers checks

	limiter  *Observed
	resets   Resets
	log      *slog.Logger
	metrics  serverMetrics
	grpc     *grpc.Server
	health   *health.Server
	port     *credentials.Port
	bounds   bound.Config
	maxTimes map[string]time.Duration // how long a call without a stream may take, by its method
	peer     *peers.Service           // nil without jeton.v1.Peer

	stop     sync.Once
	stopping chan struct{}  // closed when no new checks are wanted
	readers  sync.WaitGroup // the goroutines that read streams
}

// Serve answers the connections of l until [Server.Stop], and closes l. It may be called for several listeners at once.
// The error says why l fails; after a Stop there is none.
func (s *Server) Serve(l net.Listener) error {
	if _, ok := l.(*bound.Listener); !ok {
		l = bound.New(l, s.bounds)
	}
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Stop makes the Server stop in good order: at once the health protocol says NOT_SERVING and no connection is taken
// any more; checks under way are answered, and streams end when theirs are. When ctx ends before that, what is left is
// cut off, and the error says so. After Stop no call is under way, and no goroutine of the Server is left but for workers
// that have nothing to do any more and are about to end.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		s.health.Shutdown()
		close(s.stopping)
		if s.peer != nil {
			s.peer.Stop()
		}
		s.port.Stop()
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("gRPC calls were aborted: %w", ctx.Err())
		s.grpc.Stop()
		<-done
	}
	s.readers.Wait()
	if s.peer != nil {
		s.peer.Wait()
	}
	return err
}

// PeersConnected are the nodes that have a stream of reservations open to this one; see [peers.Service.Connected].
func (s *Server) PeersConnected() []ring.NodeID {
	if s.peer == nil {
		return nil
	}
	return s.peer.Connected()
}
