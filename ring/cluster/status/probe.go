package status

// The ports of a node that other nodes need, as a [Path] names them.
const (
	PortGRPC      = "grpc"
	PortGossipTCP = "gossip-tcp"
	PortGossipUDP = "gossip-udp"
	PortRaft      = "raft"
)

// A Probed is what a member found when it tried to reach every other one.
type Probed struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Error is why the member has not tried; empty if it has.
	Error string `json:"error,omitempty"`
	Paths []Path `json:"paths,omitempty"` // by To and Port
}

// A Path is one try of one member to reach a port of another one.
type Path struct {
	To      string  `json:"to"` // the name of the other member
	Port    string  `json:"port"`
	Address string  `json:"address"`         // that was tried
	Millis  float64 `json:"ms,omitempty"`    // that the answer took
	Error   string  `json:"error,omitempty"` // why there was no answer; empty if there was one
}
