// Package peers is how the nodes of a cluster speak to each other, jeton.v1.Peer: a [Client] asks other nodes, and a [Service] answers
// them from the node's registers. It decides nothing: the rules of a replica are in storage/register, those of a move in ring/move.
//
//	owner    ─▶ Client.Replica ─▶ remote ─▶ reserving ═ one stream to each node ═▶ reserveStream ─▶ Registers.Reserve
//	driver   ─▶ Client.Seal, Copy, Install ─▶ Service ─▶ copies ─▶ Client.export from each source ─▶ Registers.Merge, Install
//	cluster  ─▶ Client.Call ─▶ ServiceConfig.Handle
//
// A reservation that was taken is answered once: by the node, or with an error when its stream has broken. An error says nothing
// about what the node has stored. A node that answers nothing for 2 seconds counts as gone.
//
// Start with [Client.Replica].
package peers
