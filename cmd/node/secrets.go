package node

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
)

// rereadEvery is how often the files of keys, certificates and tokens are looked at. They are small.
const rereadEvery = 2 * time.Second

// redisTokenOption names the file with the tokens of clients that speak Redis' protocol.
const redisTokenOption = "redis-token-file"

// secrets are what a node knows others by: the cluster key, certificates and tokens. All follow their files.
type secrets struct {
	key          *key.Key                  // nil for none
	certificates *credentials.Certificates // nil: callers speak plainly
	tokens       *credentials.Tokens       // of operators; nil for none
	redis        *credentials.Tokens       // of clients that speak Redis' protocol; nil for none

	log     *slog.Logger
	mu      sync.Mutex
	watched []*watchedFiles // what follows its files
}

// watchedFiles are files that are read again when they change.
type watchedFiles struct {
	options string // that name them
	reload  func() (changed bool, err error)
	wrong   string // what was wrong with them last, and was logged; empty when nothing was
}

// read reads all files for the first time.
func (s *secrets) read(cfg *Config, metrics prometheus.Registerer) (err error) {
	s.log = cfg.Logger
	if cfg.ClusterKeyFile != "" {
		if s.key, err = key.Read(cfg.ClusterKeyFile, cfg.Insecure); err != nil {
			return err
		}
		s.watched = append(s.watched, &watchedFiles{options: "cluster-key-file", reload: s.key.Reload})
		if err := metrics.Register(keyMetrics{s.key}); err != nil {
			return err
		}
	}
	files := cfg.tlsFiles()
	given, err := files.Given()
	if err != nil {
		return err
	}
	if given {
		s.certificates, err = credentials.NewCertificates(credentials.CertificatesConfig{Files: files, Registerer: metrics})
		if err != nil {
			return err
		}
		s.watched = append(s.watched, &watchedFiles{options: "tls-cert, tls-key, tls-ca", reload: s.certificates.Reload})
	}
	if cfg.RedisTokenFile != "" {
		s.redis, err = credentials.NewTokens(credentials.TokensConfig{File: cfg.RedisTokenFile, Option: redisTokenOption, Insecure: cfg.Insecure})
		if err != nil {
			return err
		}
		s.watched = append(s.watched, &watchedFiles{options: redisTokenOption, reload: s.redis.Reload})
	}
	if s.key == nil && cfg.AdminTokenFile == "" {
		return nil
	}
	s.tokens, err = credentials.NewTokens(credentials.TokensConfig{Key: s.key, File: cfg.AdminTokenFile, Insecure: cfg.Insecure, Registerer: metrics})
	if err == nil && cfg.AdminTokenFile != "" {
		s.watched = append(s.watched, &watchedFiles{options: "admin-token-file", reload: s.tokens.Reload})
	}
	return err
}

// reread reads again what has changed. What is wrong changes nothing, and is logged: once, or every time if the operator
// asks for it.
func (s *secrets) reread(asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.watched {
		changed, err := k.reload()
		switch {
		case err != nil && (asked || err.Error() != k.wrong):
			s.log.Error("cannot reload files: what was read before stays in force", "options", k.options, "error", err)
		case err == nil && changed:
			s.log.Info("reloaded files", "options", k.options)
		case err == nil && k.wrong != "":
			s.log.Info("files match what is in force again", "options", k.options)
		}
		k.wrong = ""
		if err != nil {
			k.wrong = err.Error()
		}
	}
}

// watch follows the files until the node stops.
func (s *secrets) watch(stopping <-chan struct{}) {
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.reread(false)
		case <-stopping:
			return
		}
	}
}
