package node

import (
	"slices"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A view is what callers are told; without a table before the first state.
type view struct {
	table   *pb.View
	changed chan struct{} // closed when there is a newer one
}

// publishView publishes what callers go by, if that has changed: most of what is agreed does not concern them.
func (m *membership) publishView(s *agreed.State) {
	table, before := viewOf(s), m.view.Load()
	if before.table != nil && sameView(before.table, table) {
		return
	}
	m.view.Store(&view{table: table, changed: make(chan struct{})})
	close(before.changed)
}

// sameView says whether callers would do the same by both.
func sameView(a, b *pb.View) bool {
	return a.Cluster == b.Cluster && a.Table == b.Table && a.LimitsVersion == b.LimitsVersion && slices.Equal(a.Nodes, b.Nodes)
}

// viewOf is a state as callers see it.
func viewOf(s *agreed.State) *pb.View {
	v := &pb.View{
		Version: s.Version, Cluster: s.Cluster, Table: s.Table, LimitsVersion: s.LimitsVersion, Limits: s.Limits,
	}
	for id, n := range s.Nodes {
		v.Nodes = append(v.Nodes, pb.Node{ID: id, Name: n.Name, Zone: n.Zone, GRPC: n.GRPC, HTTP: n.HTTP, Leaving: n.Leaving})
	}
	slices.SortFunc(v.Nodes, func(a, b pb.Node) int { return a.ID.Compare(b.ID) })
	return v
}

// tables is what callers go by now, and a channel that is closed when that has changed.
func (m *membership) tables() (*pb.View, <-chan struct{}) {
	v := m.view.Load()
	return v.table, v.changed
}
