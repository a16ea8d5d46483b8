package joining

import (
	"sync/atomic"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
)

// An Identity knows which cluster this node belongs to, by what is agreed, by its disk, or by what gossip has shown.
type Identity struct {
	State  func() *agreed.State
	record *record
	chosen atomic.Value // the id, a string, of a cluster that exists and that this node is to join
}

// NewIdentity reads what the disk tells. step is called before and after each write of it.
func NewIdentity(in folder.Folder, id ring.NodeID, state func() *agreed.State, step func(string) error) (*Identity, error) {
	r, err := openRecord(in, id, step)
	if err != nil {
		return nil, err
	}
	return &Identity{State: state, record: r}, nil
}

// DecidedNodes are the members of the cluster that this node has decided to found, if it has.
func (i *Identity) DecidedNodes() []agreed.Node {
	if f := i.record.get(); f.Decided != nil {
		return f.Decided.Nodes
	}
	return nil
}

// Belong notes, durably, that this node is a member of a cluster.
func (i *Identity) Belong(cluster agreed.Unique) error { return i.record.belong(cluster) }

// Cluster is the id of the cluster that this node knows to be its own, in hexadecimal; empty while it knows of none.
func (i *Identity) Cluster() string {
	s, f := i.State(), i.record.get()
	switch {
	case s.Founded():
		return s.Cluster.String()
	case f.Member != nil:
		return f.Member.String()
	case f.Decided != nil:
		return f.Decided.Cluster.String()
	}
	chosen, _ := i.chosen.Load().(string)
	return chosen
}

// alone says whether this node founds a cluster by itself.
func (j *Joiner) alone() bool {
	return j.config.Expect == 1 || j.config.Expect == 0 && len(j.config.Join) == 0
}

// belongs says whether this node is in a cluster, or goes for one that exists.
func (j *Joiner) belongs() bool {
	return j.settled.Load() || j.id.Cluster() != "" || len(j.agreement.Servers()) > 0
}
