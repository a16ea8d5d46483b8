package gateway

import (
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A cluster is one that checks ask, as this gateway reaches it.
type cluster struct {
	name   string // empty for the one that checks ask which name none
	client *client.Client

	fetched atomic.Pointer[fetchedLimits] // of a node that is alone; nil for none
	sights  sights

	problems []Problem // of routes with the limits in force, that are in the log; used by Run only
	warned   bool      // the log says that no node has sent the limits; used by Run only
}

// field is the path of the document that describes the cluster.
func (c *cluster) field() string { return config.ClusterField(c.name) }

// log is the logger of what happens to the cluster.
func (c *cluster) log(l *slog.Logger) *slog.Logger {
	if c.name == "" {
		return l
	}
	return l.With("cluster", c.name)
}

// register registers the metrics of the cluster, told apart where there are several. Then those of the one without a name have the label
// too, as an empty one, which is as good as none: what one registry collects has the same labels.
func (c *cluster) register(all prometheus.Registerer, doc *config.Document) prometheus.Registerer {
	if len(doc.Clusters) == 0 {
		return all
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{"cluster": c.name}, all)
}
