package pb

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/ring"
)

// What calls carry beside their messages, as gRPC metadata. A mark is there or not; its value is "1". A CheckStream may
// last, so its answers have fields for what other calls say in trailers.
const (
	// MarkRouted, of a request: it was sent to this node because it is a replica by the sender's table. Every marked
	// request has it.
	MarkRouted = "jeton-routed"
	// MarkForwarded, of a routed request: a node sent it. It is not sent on again.
	MarkForwarded = "jeton-forwarded"
	// TableVersion, of an answer: the node's table is of that version, a decimal number, and the request did not fit it.
	TableVersion = "jeton-table"
	// MarkRefuses, of an answer: the node refuses every check.
	MarkRefuses = "jeton-refuses"
)

// A View is what a node knows of the cluster, for clients: where every key lives, and who the nodes are. It never
// changes: what changes is another View.
type View struct {
	Version uint64   // goes up with every change that is agreed
	Cluster [16]byte // which cluster it is
	Nodes   []Node
	// Table says where every partition is. Only the epochs and the replicas of its places travel.
	Table *ring.Table
	// LimitsVersion goes up when the limits change, and Limits are the limits document in YAML.
	LimitsVersion uint64
	Limits        []byte
}

// A Node is a member of the cluster, as clients see it.
type Node struct {
	ID   ring.NodeID
	Name string
	Zone string
	GRPC string // host:port
	HTTP string // host:port
	// Leaving says that the node is about to stop, and is not to be asked any more where another one can be.
	Leaving bool
}

// EncodeView is v as a message. A replica that is not among the nodes is left out: no client could reach it.
func EncodeView(v *View) *WatchResponse {
	m := &WatchResponse{
		Version: v.Version, Cluster: v.Cluster[:], LimitsVersion: v.LimitsVersion, Limits: text(string(v.Limits)),
		Nodes: make([]*ClusterNode, len(v.Nodes)),
	}
	index := make(map[ring.NodeID]uint32, len(v.Nodes))
	for i, n := range v.Nodes {
		index[n.ID] = uint32(i)
		m.Nodes[i] = &ClusterNode{
			Id: n.ID[:], Name: text(n.Name), Zone: text(n.Zone), Grpc: text(n.GRPC), Http: text(n.HTTP), Leaving: n.Leaving,
		}
	}
	if v.Table == nil {
		return m
	}
	m.Places = make([]*Place, len(v.Table.Places))
	for p, place := range v.Table.Places {
		out := &Place{Epoch: place.Epoch, Replicas: make([]uint32, 0, len(place.Replicas))}
		for _, id := range place.Replicas {
			if i, ok := index[id]; ok {
				out.Replicas = append(out.Replicas, i)
			}
		}
		m.Places[p] = out
	}
	return m
}

// text is s as protobuf can send it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// maxPartitions is how many a ring.Partition can tell apart.
const maxPartitions = 1 << 16

// DecodeView reads a message. The error says what has no meaning in it.
func DecodeView(m *WatchResponse) (*View, error) {
	v := &View{
		Version: m.GetVersion(), Nodes: make([]Node, len(m.GetNodes())), Table: new(ring.Table),
		LimitsVersion: m.GetLimitsVersion(), Limits: []byte(m.GetLimits()),
	}
	if n := copy(v.Cluster[:], m.GetCluster()); n != len(v.Cluster) || n != len(m.GetCluster()) {
		return nil, fmt.Errorf("table: the cluster's id has %d bytes, not %d", len(m.GetCluster()), len(v.Cluster))
	}
	seen := make(map[ring.NodeID]bool, len(v.Nodes))
	for i, n := range m.GetNodes() {
		if len(n.GetId()) != len(ring.NodeID{}) {
			return nil, fmt.Errorf("table: the id of node %d has %d bytes, not %d", i, len(n.GetId()), len(ring.NodeID{}))
		}
		id := ring.NodeID(n.GetId())
		if seen[id] {
			return nil, fmt.Errorf("table: node %v appears twice", id)
		}
		seen[id] = true
		v.Nodes[i] = Node{
			ID: id, Name: n.GetName(), Zone: n.GetZone(), GRPC: n.GetGrpc(), HTTP: n.GetHttp(), Leaving: n.GetLeaving(),
		}
	}
	if n := len(m.GetPlaces()); n > maxPartitions {
		return nil, fmt.Errorf("table: %d partitions, the maximum is %d", n, maxPartitions)
	}
	v.Table.Places = make([]ring.Place, len(m.GetPlaces()))
	for p, place := range m.GetPlaces() {
		replicas := make([]ring.NodeID, len(place.GetReplicas()))
		for i, at := range place.GetReplicas() {
			if uint64(at) >= uint64(len(v.Nodes)) {
				return nil, fmt.Errorf("table: partition %d names node %d of %d", p, at, len(v.Nodes))
			}
			replicas[i] = v.Nodes[at].ID
		}
		v.Table.Places[p] = ring.Place{Epoch: place.GetEpoch(), Replicas: replicas}
	}
	return v, nil
}
