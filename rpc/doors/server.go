package doors

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// How long a call may take.
const (
	callWithin = 5 * time.Second  // where the caller does not say
	callAtMost = 30 * time.Second // whatever it says
)

// A Server answers open doors where there is no node: at a gateway. Who may connect is for its listeners to say.
type Server struct {
	grpc    *grpc.Server
	health  *health.Server
	port    *credentials.Port
	panics  prometheus.Counter
	log     *slog.Logger
	calls   map[string]bool // the methods without a stream
	readers sync.WaitGroup  // of streams
	stop    sync.Once
	stopped chan struct{} // closed by Stop
}

// ServerConfig says what a [Server] is made of.
type ServerConfig struct {
	// Services are what it answers. Required.
	Services []Service
	// TLS is how callers are spoken to, as it is in force at each handshake; nil for plain text.
	TLS func() (*tls.Config, error)
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger gets panics of doors. Required.
	Logger *slog.Logger
}

// NewServer makes a Server, which is to be stopped even if it never serves.
func NewServer(cfg ServerConfig) (*Server, error) {
	s := &Server{
		health: health.NewServer(), log: cfg.Logger, calls: map[string]bool{}, stopped: make(chan struct{}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "jeton_door_panics_total", Help: "Calls of doors that speak gRPC that ran into a bug."}),
	}
	if err := metrics.Register(cfg.Registerer, s.panics); err != nil {
		return nil, err
	}
	var err error
	if s.port, err = credentials.NewPort(credentials.PortConfig{Callers: cfg.TLS, Registerer: cfg.Registerer}); err != nil {
		return nil, err
	}
	s.grpc = grpc.NewServer(append(transport.ServerOptions(),
		grpc.Creds(s.port),
		grpc.ConnectionTimeout(credentials.HandshakeWithin),
		grpc.InTapHandle(s.begin),
		grpc.UnaryInterceptor(s.call),
		grpc.ChainStreamInterceptor(s.stream, transport.BoundStreams(&s.readers, s.panics)),
	)...)
	guard := &credentials.Guard{Server: s.grpc, Refused: func(string, error) {}, Port: access.Port{}}
	Register(cfg.Services)(guard)
	healthpb.RegisterHealthServer(guard, s.health)
	reflection.Register(guard)
	for service, info := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
		for _, m := range info.Methods {
			s.calls["/"+service+"/"+m.Name] = !m.IsClientStream && !m.IsServerStream
		}
	}
	return s, guard.Check()
}

// begin gives a call its deadline when its headers have come: its message is to come before that too.
func (s *Server) begin(ctx context.Context, info *tap.Info) (context.Context, error) {
	if !s.calls[info.FullMethodName] {
		return ctx, nil
	}
	within := callWithin
	if at, ok := ctx.Deadline(); ok {
		within = min(time.Until(at), callAtMost)
	}
	timed, cancel := context.WithTimeout(ctx, within)
	_ = cancel // ctx ends with the call, and so does what is made of it
	return timed, nil
}

// call survives the panic of a call. Its answer counts as held for the connection until it is sent.
func (s *Server) call(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	err = fault.Safely(s.panics, func() error {
		answer, err = next(ctx, m)
		return err
	})
	if err != nil {
		return nil, s.sent(ctx, info.FullMethod, err)
	}
	return transport.Held(answer, transport.ConnOf(ctx)), nil
}

// stream survives the panic of a stream, and ends it when the Server stops: those of the health protocol last as long as their clients like.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-s.stopped:
			cancel()
		case <-done:
		}
	}()
	return s.sent(ctx, info.FullMethod, fault.Safely(s.panics, func() error { return next(srv, endingStream{stream, ctx}) }))
}

// An endingStream is a stream whose context ends when the Server stops.
type endingStream struct {
	grpc.ServerStream

	ctx context.Context //nolint:containedctx // grpc.ServerStream hands its context out
}

func (s endingStream) Context() context.Context { return s.ctx }

// sent is an error as gRPC sends it. What is no status is a bug here.
func (s *Server) sent(ctx context.Context, method string, err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if at := status.FromContextError(err); at.Code() != codes.Unknown {
		return at.Err()
	}
	s.log.ErrorContext(ctx, "call failed", append(fault.Attrs(err), "method", method)...)
	return status.Error(codes.Internal, "internal error")
}

// SetServing says to clients of the health protocol whether a service serves; the empty name stands for the server. Those that were registered serve from the start.
func (s *Server) SetServing(service string, serves bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if serves {
		status = healthpb.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus(service, status)
}

// Serve answers the connections of l until [Server.Stop], and closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Stop takes no new calls and waits for those under way. When ctx ends before that, they are cut off, and the error says so. It may be called again.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		s.health.Shutdown()
		close(s.stopped)
		s.port.Stop()
	})
	defer s.readers.Wait()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
		return fmt.Errorf("calls of doors were aborted: %w", ctx.Err())
	}
}
