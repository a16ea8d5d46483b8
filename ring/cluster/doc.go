// Package cluster keeps the nodes of a cluster together: who belongs to it, what they have agreed on, and the moves that
// change where registers are kept. It is never in the path of a check.
//
// It assembles its parts, which stand below it because only it runs them, and which import one another in one direction:
//
//	ring/agreed      what is agreed: states and commands, pure; others use it too
//	  message        what nodes ask one another, and the leader
//	  gossip         finds nodes and detects their failures; knows their addresses
//	  consensus      raft
//	  health, clocks which members answer, and how far their clocks are apart
//	  joining        founds a cluster, or joins one
//	  recovery       makes a cluster of the surviving nodes after a loss
//	  driver         carries out moves, on the raft leader
//
// This package itself has the administration of a cluster ([Cluster.SetLimits], [Cluster.Drain]) and its [Status]. Start with
// [New] and [Cluster.Run].
//
// Messages, commands and snapshots are JSON: they are small and rare, and people can read them.
package cluster
