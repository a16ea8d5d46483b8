package consensus

import (
	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
)

// A Server is a member of raft's configuration.
type Server struct {
	ID      ring.NodeID
	Address string // of its raft
	Voter   bool
}

// Servers is raft's newest configuration here, committed or not. While raft does not run it is what the disk holds; empty
// means that this disk was never in a cluster, or was reset.
func (a *Agreement) Servers() []Server {
	configuration := *a.stored.Load()
	if r := a.running.Load(); r != nil {
		if future := r.GetConfiguration(); future.Error() == nil {
			configuration = future.Configuration()
		}
	}
	return serversOf(configuration)
}

// serversOf are the servers of a raft configuration.
func serversOf(configuration raft.Configuration) []Server {
	servers := make([]Server, 0, len(configuration.Servers))
	for _, s := range configuration.Servers {
		id, err := ring.ParseNodeID(string(s.ID))
		if err != nil {
			continue // not written by this package
		}
		servers = append(servers, Server{ID: id, Address: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	return servers
}

// configurationOf is the raft configuration with these servers.
func configurationOf(servers []Server) (configuration raft.Configuration) {
	for _, s := range servers {
		suffrage := raft.Nonvoter
		if s.Voter {
			suffrage = raft.Voter
		}
		configuration.Servers = append(configuration.Servers,
			raft.Server{Suffrage: suffrage, ID: serverID(s.ID), Address: raft.ServerAddress(s.Address)})
	}
	return configuration
}

// serverID is a node's name in raft.
func serverID(id ring.NodeID) raft.ServerID { return raft.ServerID(id.String()) }
