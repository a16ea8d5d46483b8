package doors

import (
	"context"
	"sync"

	"github.com/jeton-dev/jeton/rpc/doors/extauthz"
	"github.com/jeton-dev/jeton/rpc/doors/gubernator"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
	"github.com/jeton-dev/jeton/rpc/doors/rlqs"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// all are the doors there are.
func all() []door {
	return []door{
		{"extauthz", openExtAuthz, lacksRoutes},
		{"gubernator", openGubernator, nil},
		{"kuadrant", openKuadrant, lacksKuadrantConfig},
		{"rls", openRLS, lacksRLSConfig},
		{"rlqs", openRLQS, nil},
	}
}

// names are those of the doors that can be opened with cfg.
func (cfg *Config) names() []string {
	var names []string
	for _, d := range all() {
		if d.name != "extauthz" || cfg.Authorize != nil {
			names = append(names, d.name)
		}
	}
	return names
}

func lacksRoutes(cfg *Config) string {
	if cfg.Authorize != nil {
		return ""
	}
	return "the routes of a gateway's document: open it at a gateway, by doors.grpc"
}

func openExtAuthz(cfg Config) (Service, error) {
	return extauthz.New(extauthz.Config{Handler: cfg.Authorize, Registerer: cfg.Registerer, Logger: cfg.Logger})
}

// A gubernatorDoor answers at the HTTP port too.
type gubernatorDoor struct{ *gubernator.Door }

// Paths implements WebService.
func (gubernatorDoor) Paths() []string {
	return []string{"/v1/GetRateLimits", "/v1/HealthCheck", "/v1/LiveCheck"}
}

var _ WebService = gubernatorDoor{}

func openGubernator(cfg Config) (Service, error) {
	d, err := gubernator.New(gubernator.Config{
		Limiter: cfg.Limiter, Limits: cfg.Limits, Ready: cfg.Ready, Peers: cfg.Nodes, KeepsBuckets: cfg.KeepsBuckets, Registerer: cfg.Registerer, Logger: cfg.Logger,
	})
	return gubernatorDoor{d}, err
}

func openRLQS(cfg Config) (Service, error) {
	return rlqs.New(rlqs.Config{Limiter: cfg.Limiter, Limits: cfg.Limits, Registerer: cfg.Registerer, Logger: cfg.Logger})
}

// A following door follows its files until it is closed.
type following struct {
	FileService

	end context.CancelFunc
	run sync.WaitGroup
}

// follow is a door whose files run follows.
func follow(s FileService, run func(context.Context)) *following {
	life, end := context.WithCancel(context.Background())
	d := &following{FileService: s, end: end}
	d.run.Go(func() { run(life) })
	return d
}

// Close implements io.Closer.
func (d *following) Close() error {
	d.end()
	d.run.Wait()
	return nil
}

func lacksKuadrantConfig(cfg *Config) string {
	if cfg.KuadrantConfig != "" {
		return ""
	}
	return "the file with its limits: give --kuadrant-config, or kuadrant_config in the doors of a gateway's document"
}

func openKuadrant(cfg Config) (Service, error) {
	d, err := kuadrant.New(kuadrant.Config{Limiter: cfg.Limiter, Path: cfg.KuadrantConfig, Registerer: cfg.Registerer, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	return follow(d, d.Run), nil
}

func lacksRLSConfig(cfg *Config) string {
	if cfg.RLSConfig != "" {
		return ""
	}
	return "the directory with its limits: give --rls-config, or rls_config in the doors of a gateway's document"
}

func openRLS(cfg Config) (Service, error) {
	d, err := rls.New(rls.Config{Limiter: cfg.Limiter, Directory: cfg.RLSConfig, Headers: rls.Headers{Enabled: cfg.RLSHeaders}, Metadata: cfg.RLSMetadata, Registerer: cfg.Registerer, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	return follow(d, d.Run), nil
}
