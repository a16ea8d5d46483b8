package config

import (
	"maps"
	"strings"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// Asked are the names of the clusters that a gateway connects to, in their order: first the one of the field cluster, whose name is empty. It is
// none of them where clusters names some, and cluster names no servers.
func (d *Document) Asked() []string {
	names := sorted(d.Clusters)
	if len(names) == 0 || len(d.Cluster.Servers) > 0 {
		return append([]string{""}, names...)
	}
	return names
}

// ClusterOf is the cluster of that name, which may be empty, with what it leaves out as the field cluster has it.
func (d *Document) ClusterOf(name string) Cluster {
	if name == "" {
		return d.Cluster
	}
	c := d.Clusters[name]
	if c.DecideWithin == 0 {
		c.DecideWithin = d.Cluster.DecideWithin
	}
	if c.RepeatDenials == nil {
		c.RepeatDenials = d.Cluster.RepeatDenials
	}
	if c.Gateways == 0 {
		c.Gateways = d.Cluster.Gateways
	}
	return c
}

// Checks says whether a check asks the cluster of that name, or there is none that asks any.
func (d *Document) Checks(cluster string) bool {
	none := true
	for i := range d.Routes {
		for n := range d.Routes[i].Checks {
			if d.Routes[i].Checks[n].Cluster == cluster {
				return true
			}
			none = false
		}
	}
	return none
}

// ClusterField is the path of the field that describes the cluster of that name.
func ClusterField(name string) string {
	if name == "" {
		return "cluster"
	}
	return strictyaml.Under("clusters", name)
}

// ShownLimit is a limit as people see it, in headers, metrics, logs and records: behind the name of its cluster, where that has one. So limits of
// two clusters are told apart, whatever their names.
func ShownLimit(cluster, limit string) string {
	if cluster == "" {
		return limit
	}
	return cluster + "/" + limit
}

// LimitShown is the limit of a cluster that [ShownLimit] shows so; known is false where it is one of another cluster.
func LimitShown(cluster, shown string) (limit string, known bool) {
	limit, known = strings.CutPrefix(shown, ShownLimit(cluster, ""))
	return limit, known && !strings.Contains(limit, "/")
}

// KeepAuthorities makes the authorities of nodes those of before, where both documents have them.
func (d *Document) KeepAuthorities(before *Document) {
	kept := func(now, before *MutualTLS) *MutualTLS {
		if now == nil || before == nil {
			return now
		}
		is := *now
		is.CA = before.CA
		return &is
	}
	d.Cluster.TLS = kept(d.Cluster.TLS, before.Cluster.TLS)
	d.Clusters = maps.Clone(d.Clusters)
	for name, c := range d.Clusters {
		c.TLS = kept(c.TLS, before.Clusters[name].TLS)
		d.Clusters[name] = c
	}
}
