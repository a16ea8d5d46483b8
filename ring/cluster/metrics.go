package cluster

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the counters. Gauges have no field: they are read from the cluster when they are collected.
type metrics struct {
	calls   *prometheus.CounterVec
	changes prometheus.Counter
}

// newMetrics registers the metrics of this node's part in the cluster.
func (c *Cluster) newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("jeton_cluster_nodes", "Members of the cluster.", func() float64 { return float64(len(c.State().Nodes)) })
	gauge("jeton_cluster_alive_nodes", "Members of the cluster that are alive according to gossip.", func() float64 {
		alive := 0
		for id := range c.State().Nodes {
			if c.gossip.Alive(id) {
				alive++
			}
		}
		return float64(alive)
	})
	gauge("jeton_cluster_leads", "1 on the raft leader, else 0.", func() float64 {
		if leading, _ := c.agreement.Leading(); leading {
			return 1
		}
		return 0
	})
	gauge("jeton_cluster_state_version", "Version of the cluster's agreed state that this node has applied.", func() float64 {
		return float64(c.State().Version)
	})
	gauge("jeton_cluster_moving_partitions", "Partitions that are between two replica sets.", func() float64 {
		return float64(movesOf(c.State()).UnderWay)
	})
	gauge("jeton_cluster_undecided_partitions", "Partitions whose keys no node can decide, as far as this node can reach the others.", func() float64 {
		return float64(c.Deciding().Undecided)
	})
	gauge("jeton_cluster_endangered_partitions", "Partitions that have lost replicas and have no more than a majority left: if one more is lost, their keys cannot be decided.", func() float64 {
		return float64(c.Deciding().Endangered)
	})
	gauge("jeton_cluster_clock_offset_seconds", "How far the clocks of a majority of the live nodes are ahead of this node's clock.", func() float64 {
		ahead, _ := c.ClockOffset()
		return ahead.Seconds()
	})
	return &metrics{
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_cluster_messages_total",
			Help: "Messages from other nodes that this node has answered, including refusals.",
		}, []string{"kind"}),
		changes: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_cluster_state_changes_total",
			Help: "Changes of the cluster's state that this node has seen, including nodes that start or stop leaving.",
		}),
	}
}
