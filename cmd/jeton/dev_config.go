package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A devConfig says what dev runs, and where its files are.
type devConfig struct {
	nodes  int
	data   string // the data directory; empty: complete sets it
	limits string // the limits file; empty: that of the sample limits
	port   int    // of the first node's gRPC; 0 takes any free ports

	gateways    int // how many
	gatewayPort int // of the first gateway's proxy; 0 takes any free ports
}

// sampleFile is the file with the sample limits in the data directory.
const sampleFile = "limits.yaml"

// rlsFolder is the folder with the sample limits of Envoy's rate limit service in the data directory.
const rlsFolder = "rls"

// sampleRLS are they.
const sampleRLS = `# Limits as envoyproxy/ratelimit writes them: nodes of jeton dev follow the files of this folder.
domain: sample
descriptors:
  - key: user
    rate_limit:
      unit: minute
      requests_per_unit: 10
`

// rls is the path of the folder.
func (cfg devConfig) rls() string { return filepath.Join(cfg.data, rlsFolder) }

// seedRLS writes them, unless there are some.
func (cfg devConfig) seedRLS() error {
	if err := os.MkdirAll(cfg.rls(), 0o700); err != nil {
		return err
	}
	return seedFile(filepath.Join(cfg.rls(), "sample.yaml"), sampleRLS)
}

// seedFile writes a file, unless it is there.
func seedFile(path, text string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// kuadrantFile is the file with the sample limits of Kuadrant in the data directory.
const kuadrantFile = "kuadrant.yaml"

// sampleKuadrant are they.
const sampleKuadrant = `# Limits as Kuadrant's Limitador reads them: nodes of jeton dev follow this file.
- namespace: sample
  max_value: 1000
  seconds: 60
  name: tokens
  conditions: []
  variables: ["descriptors[0].user"]
`

// kuadrant is the path of the file.
func (cfg devConfig) kuadrant() string { return filepath.Join(cfg.data, kuadrantFile) }

// documentFile is that with the document of the i-th gateway.
func documentFile(i int) string { return numbered("gateway", i) + ".yaml" }

// sampleLimits are the limits of dev if no limits file is given.
const sampleLimits = `limits:
  demo:            # ten, then one every six minutes
    capacity: 10
    refill: 10/1h
  login:           # five attempts, then one every twelve seconds
    capacity: 5
    refill: 5/1m
    on_unavailable: deny
  items:           # sixty requests, then one a second: what the gateway asks for /v1/items
    capacity: 60
    refill: 1/s
  api:             # fifty requests a second, bursts up to a hundred
    capacity: 100
    refill: 50/s
  search:          # a thousand at once, then a hundred a second: gateways take tokens ahead, and decide by themselves
    capacity: 1000
    refill: 100/s
    consistency: leased
  tokens:          # a hundred thousand tokens of a language model a minute: taken by an estimate, settled by what was used
    capacity: 100000
    refill: 100000/1m
    hold: 10m
  budget:          # and five dollars a month, in millionths of one
    algorithm: fixed-window
    limit: 5000000
    per: month
    hold: 10m
  streams:         # and five answers at once
    algorithm: concurrency
    limit: 5
    lease: 1m
`

// document is the path of the i-th gateway's document.
func (cfg devConfig) document(i int) string { return filepath.Join(cfg.data, documentFile(i)) }

// complete sets the paths that are not given.
func (cfg *devConfig) complete() {
	if cfg.data == "" {
		cfg.data = devData(cfg.nodes)
	}
	if cfg.limits == "" {
		cfg.limits = filepath.Join(cfg.data, sampleFile)
	}
}

// devData is the directory of dev's data if none is given: always the same for that number of nodes, so that a cluster that was
// killed finds its data again.
func devData(nodes int) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "jeton", fmt.Sprintf("dev-%d", nodes))
}

// samples says whether the limits are those of the sample.
func (cfg devConfig) samples() bool { return cfg.limits == filepath.Join(cfg.data, sampleFile) }

// begins says whether no node has data yet: then they found a cluster. One that is there has limits of its own, which the sample may differ from.
func (cfg devConfig) begins() bool {
	found, err := filepath.Glob(filepath.Join(cfg.data, "node-*"))
	return err == nil && len(found) == 0
}

// seed writes the sample limits for a new cluster, or checks the limits file that was given.
func (cfg devConfig) seed() error {
	if err := errors.Join(cfg.seedRLS(), seedFile(cfg.kuadrant(), sampleKuadrant)); err != nil {
		return err
	}
	switch {
	case cfg.samples() && cfg.begins():
		return os.WriteFile(cfg.limits, []byte(sampleLimits), 0o600)
	case cfg.samples():
		return nil
	}
	text, err := os.ReadFile(cfg.limits)
	if err != nil {
		return fmt.Errorf("--limits: %w", err)
	}
	if _, err := limit.ReadDocument(text); err != nil {
		return fmt.Errorf("%s: %w", cfg.limits, err)
	}
	return nil
}
