// Package embed runs a node of jeton inside a Go program, as "jeton serve" runs one in a process of its own:
//
//	node, err := embed.Open(embed.Config{Data: "/var/lib/app/jeton", Limits: "limits.yaml"})
//	…
//	defer node.Close(context.Background())
//	d, err := node.Check(ctx, jeton.Request{Key: "user:42", Limits: []jeton.Ref{jeton.Named("login")}})
//
// A node that is alone decides without any network, and every decision is on its disk before it is answered. A program that
// gives it the addresses of other nodes (ListenGossip, ListenRaft, Join) makes it a member of a cluster.
//
// Start with [Open]. The package stands apart from [github.com/jeton-dev/jeton] because a node brings its storage engine, raft
// and gossip with it, about as much code again as the rest: a client of a cluster does without.
package embed

import (
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/storage"
)

type (
	// A Node is a running node. It is a [github.com/jeton-dev/jeton.Limiter], safe for concurrent use.
	Node = node.Node
	// A Config says what a node is. Only Data is required.
	Config = node.Config
)

// The values of Config.Durability. The zero value means Fsync.
const (
	Fsync  = storage.Fsync  // a decision is on disk before it is answered
	Memory = storage.Memory // it is not; after a crash every bucket counts as empty
)

// Open starts a node, which must be closed. A node that is alone can decide when Open returns; one that waits for others can
// as soon as Ready returns nil. Its error names the option that is wrong and says what would be right.
func Open(cfg Config) (*Node, error) { return node.Open(cfg) }
