package cluster

import (
	"errors"

	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// Why a node cannot take part, or no longer can, and why an administrator's request is refused. Package message documents
// these; package agreed has the others.
var (
	ErrOldCopy  = message.ErrOldCopy
	ErrNoLeader = message.ErrNoLeader
)

// ErrClosed says that this node's part in the cluster has ended.
var ErrClosed = errors.New("this node is stopping")
