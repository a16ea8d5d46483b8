package standin

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"

	"github.com/jeton-dev/jeton/rpc/doors/rls"
	"github.com/jeton-dev/jeton/rpc/doors/rls/xds"
)

// openRules makes the door that Envoy asks.
func (s *Settings) openRules(b *buckets, all *prometheus.Registry, log *slog.Logger) (*rls.Door, error) {
	cfg := rls.Config{
		Limiter: &outage{Limiter: b, log: log}, Directory: s.Directory, AllFiles: true, Merge: s.Merge, Reported: true, Shadow: s.Shadow, Headers: s.Headers, Metadata: s.Metadata, Registerer: all, Logger: log,
	}
	if s.XDS != nil {
		source, err := s.XDS.client(all, log)
		if err != nil {
			return nil, err
		}
		cfg.Source = source
	}
	door, err := rls.New(cfg)
	if err != nil && s.XDS == nil {
		err = fmt.Errorf("RUNTIME_ROOT, RUNTIME_SUBDIRECTORY, RUNTIME_APPDIRECTORY: %w", err)
	}
	return door, err
}

// client follows the server. Files that are wrong at the start are an error; later ones are a server that cannot be asked.
func (x *XDS) client(all *prometheus.Registry, log *slog.Logger) (*xds.Client, error) {
	cfg := xds.Config{
		Server: x.Server, Node: x.Node, Metadata: x.Metadata, Headers: x.Headers, MaxMessage: x.MaxMessage, Pause: x.Pause, MaxPause: x.MaxPause, Registerer: all, Logger: log.With("variable", "CONFIG_GRPC_XDS_SERVER_URL"),
	}
	if x.TLS != nil {
		if _, err := x.TLS.Now(log); err != nil {
			return nil, err
		}
		cfg.Credentials = func() (credentials.TransportCredentials, error) {
			config, err := x.TLS.client(log)
			if err != nil {
				return nil, err
			}
			config.ServerName = x.ServerName
			return credentials.NewTLS(config), nil
		}
	}
	return xds.New(cfg)
}
