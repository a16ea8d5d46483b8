// Package agreed is what the nodes of a cluster agree on: the members with their marks, the table of partitions, and the
// limits document. All of it is pure: no raft, no log, no clock.
//
// A [State] is an immutable value. A [Command] turns it into the next one, or is refused and changes nothing; raft (package
// ring/cluster/consensus) has every node apply the same commands in the same order. Plan, PlanRescues, PlanRemoval and
// PlanRecovery say which commands the leader, or an operator, is to propose. Start with [State] and [Command].
//
// Commands and states are JSON, in raft's log and in its snapshots.
package agreed
