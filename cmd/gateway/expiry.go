package gateway

import (
	"crypto/tls"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/config"
)

// An expiry shows when the certificates end that a gateway presents, by the field of the document that names each.
type expiry struct {
	now  func() *setup // what is in force
	desc *prometheus.Desc
}

func newExpiry(now func() *setup) expiry {
	return expiry{now: now, desc: prometheus.NewDesc("jeton_gateway_certificate_expiry_timestamp_seconds",
		"When the certificates that this gateway presents expire, to clients of the proxy and of doors and to nodes, in seconds since 1970.", []string{"field"}, nil)}
}

// Describe implements prometheus.Collector.
func (x expiry) Describe(to chan<- *prometheus.Desc) { to <- x.desc }

// Collect implements prometheus.Collector.
func (x expiry) Collect(to chan<- prometheus.Metric) {
	s := x.now()
	show := func(field string, c *tls.Certificate) {
		if c != nil && c.Leaf != nil {
			to <- prometheus.MustNewConstMetric(x.desc, prometheus.GaugeValue, float64(c.Leaf.NotAfter.Unix()), field)
		}
	}
	show("proxy.tls", s.shown)
	show("doors.tls", s.atDoors)
	for i := range s.reaches {
		show(config.ClusterField(s.reaches[i].name)+".tls", s.reaches[i].presented)
	}
}
