package doors

import (
	"context"
	"errors"
	"sync"

	"github.com/jeton-dev/jeton/rpc/doors/extauthz"
	"github.com/jeton-dev/jeton/rpc/doors/gubernator"
	"github.com/jeton-dev/jeton/rpc/doors/rlqs"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// all are the doors there are.
func all() []door {
	return []door{
		{"extauthz", openExtAuthz},
		{"gubernator", openGubernator},
		{"rls", openRLS},
		{"rlqs", openRLQS},
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

func openExtAuthz(cfg Config) (Service, error) {
	if cfg.Authorize == nil {
		return nil, errors.New("extauthz: needs the routes of a gateway's document: open it at a gateway, by doors.grpc")
	}
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

// An rlsDoor follows its files until it is closed.
type rlsDoor struct {
	*rls.Door

	end       context.CancelFunc
	following sync.WaitGroup
}

// Close implements io.Closer.
func (d *rlsDoor) Close() error {
	d.end()
	d.following.Wait()
	return nil
}

func openRLS(cfg Config) (Service, error) {
	if cfg.RLSConfig == "" {
		return nil, errors.New("rls: needs the directory with its limits: give --rls-config, or rls_config in the doors of a gateway's document")
	}
	d, err := rls.New(rls.Config{Limiter: cfg.Limiter, Directory: cfg.RLSConfig, Headers: rls.Headers{Enabled: cfg.RLSHeaders}, Metadata: cfg.RLSMetadata, Registerer: cfg.Registerer, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	open := &rlsDoor{Door: d, end: end}
	open.following.Go(func() { d.Run(life) })
	return open, nil
}
