package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/metering"
)

// A Cluster decides checks by the limits that it has.
type Cluster struct {
	// Checker decides: a client of the cluster, or an embedded node. Required. Only if it is a [limit.Returner] too can a request
	// give back what it took.
	Checker limit.Checker
	// Limits returns those in force, nil while they are not known. Headers tell clients their refill, and they say what happens
	// when the cluster does not decide. Required.
	Limits func() *limit.Document
}

// A cluster is one that checks ask.
type cluster struct {
	Cluster

	name  string            // empty for the one that checks ask which name none
	at    int               // where its guard is among those of the rules
	holds *metering.Cluster // of requests to language models
}

// clusters are those of cfg, the one without a name first; or what is missing in cfg.
func (cfg *Config) clusters() (all []*cluster, err error) {
	add := func(name string, c Cluster) {
		if c.Checker == nil || c.Limits == nil {
			err = errors.New("gateway: Config needs a Checker and Limits, of each of its Clusters too")
			return
		}
		all = append(all, &cluster{Cluster: c, name: name, at: len(all)})
	}
	if n := len(cfg.Clusters); n > config.MaxClusters {
		return nil, fmt.Errorf("gateway: Config has %d Clusters: at most %d", n, config.MaxClusters)
	}
	if cfg.Checker != nil || cfg.Limits != nil || len(cfg.Clusters) == 0 {
		add("", Cluster{cfg.Checker, cfg.Limits})
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Clusters)) {
		add(name, cfg.Clusters[name])
	}
	return all, err
}

// A guarded is a guard between the gateway and a cluster, made by what a document says of that.
type guarded struct {
	*fallback.Guard

	metrics *prometheus.Registry // its own: another document may make another guard
	by      config.Cluster
}
