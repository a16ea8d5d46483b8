// Package cluster keeps the nodes of a cluster together: who belongs to it, what they have agreed on, and the moves that
// change where registers are kept. It is never in the path of a check.
//
// It has three parts. Membership finds nodes and senses their failures by gossip, founds a cluster or joins one, and
// keeps the nodes' clocks together. The agreement is a raft log of small things that change seldom: the registry of nodes
// with their marks, the table, the limits document. What it has agreed on is a [State], an immutable value that commands
// turn into the next one. The driver, on the raft leader, carries out changes of replica sets. Start with [New] and
// [Cluster.Run].
//
// Messages, commands and snapshots are JSON: they are small and seldom, and people can read them.
package cluster
