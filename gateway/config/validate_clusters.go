package config

import (
	"strings"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// MaxClusters bounds the clusters of a document that have names: each has connections and a memory of its own.
const MaxClusters = 16

// clusters checks the clusters that have a name.
func (f *findings) clusters(all map[string]Cluster) {
	if n := len(all); n > MaxClusters {
		f.add("clusters", "%d clusters are too many: at most %d", n, MaxClusters)
	}
	for _, name := range sorted(all) {
		path, c := ClusterField(name), all[name]
		if !isName(name) {
			f.add(path, "%.64q is not a valid name: write 1 to %d letters, digits, dots, dashes and underscores", name, maxName)
		}
		f.cluster(path, c)
		if c.MaxInFlight != 0 {
			f.add(path+".max_in_flight", "counts the requests of all clusters: write it under cluster")
		}
		if c.MaxInFlightPerClient != 0 {
			f.add(path+".max_in_flight_per_client", "counts the requests of all clusters: write it under cluster")
		}
	}
}

// askedCluster checks the name of the cluster that a check asks, which may be empty.
func (f *findings) askedCluster(path, name string) {
	if _, ok := f.document.Clusters[name]; ok || name == "" {
		return
	}
	if len(f.document.Clusters) == 0 {
		f.add(path, "%.64q is not a cluster: the document has no clusters", name)
		return
	}
	f.add(path, "%.64q is not a cluster: use one of %s", name, strings.Join(sorted(f.document.Clusters), ", "))
}

// Unreachable is what is missing in a document for a gateway that connects to its clusters: the servers of one, or the cluster that a check asks.
// A gateway that is given the clusters in another way needs neither.
func (d *Document) Unreachable() error {
	f := &findings{document: d}
	for _, name := range sorted(d.Clusters) {
		if len(d.Clusters[name].Servers) == 0 {
			f.add(ClusterField(name)+".servers", "is missing: name the gRPC addresses of nodes, such as [%s]", DefaultServer)
		}
	}
	if d.Asked()[0] != "" {
		for i := range d.Routes {
			for n := range d.Routes[i].Checks {
				if d.Routes[i].Checks[n].Cluster == "" {
					f.add(strictyaml.Item(strictyaml.Item("routes", i)+".checks", n)+".cluster", "is missing: name one of %s, or add cluster.servers", strings.Join(sorted(d.Clusters), ", "))
				}
			}
		}
	}
	if len(f.list) == 0 {
		return nil
	}
	return joined(f.list)
}
