package actor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// ErrMoved answers what is asked of a System about a key of whose partition this node keeps no registers: another node is
// to be asked.
var ErrMoved = fmt.Errorf("%w: this node is no replica of the key's partition", limit.ErrUnavailable)

// A Placement is where the registers of one partition are kept, in one epoch. It never changes.
type Placement struct {
	Epoch uint64
	Set   *ReplicaSet
}

// A ReplicaSet is the replicas of all partitions that the same nodes keep. It never changes, and it is known by its
// address: make one for each set of nodes, with the nodes in the same order for every partition. What is reserved in
// partitions of one set goes to each replica in one message.
type ReplicaSet struct {
	Replicas []Replica
	Names    []string // of the replicas' nodes, for people to read
}

// NewReplicaSet is the set of replicas on the nodes of those names. It panics unless there are 1 to owner.MaxReplicas, and
// a name for each: tables have nothing else.
func NewReplicaSet(replicas []Replica, names []string) *ReplicaSet {
	if n := len(replicas); n < 1 || n > owner.MaxReplicas || n != len(names) {
		panic(fmt.Sprintf("a set of %d replicas with %d names", n, len(names)))
	}
	return &ReplicaSet{Replicas: replicas, Names: names}
}

// A Replica keeps registers: this node's storage, or a peer.
type Replica interface {
	// Reserve calls done once and never again, from any goroutine, with the answers to rs in their order, once they are durable; or with
	// an error if this replica will not answer, which may be ErrGone. It must not block, and keeps rs until then. Now is left open in rs: this
	// node's storage has the same clock, and a peer's messages are stamped when they are sent.
	Reserve(rs []register.Reservation, done func([]register.Answer, error))
	// Look returns a register as it stands. Nothing may be decided from it.
	Look(ctx context.Context, p ring.Partition, key, limit string) (storage.Looked, error)
}

// ErrGone is the error of a Replica that has not been reachable for Patience: no check waits for it.
var ErrGone = errors.New("it has been out of reach for long")

// Patience is how long a check waits for a majority of replicas that was lost just now.
const Patience = time.Duration(owner.DefaultPatience)

// fixedPlacement is the placement of every partition on the same replicas, for as long as the node runs.
func fixedPlacement(replicas []Replica, node string) (func(ring.Partition) *Placement, error) {
	if n := len(replicas); n < 1 || n > owner.MaxReplicas {
		return nil, fmt.Errorf("%d replicas: there must be 1 to %d", n, owner.MaxReplicas)
	}
	names := make([]string, len(replicas))
	for i := range names {
		names[i] = node
	}
	at := &Placement{Epoch: ring.FirstEpoch, Set: NewReplicaSet(replicas, names)}
	return func(ring.Partition) *Placement { return at }, nil
}

// lostError is err with the names of the nodes that do not answer.
func (set *ReplicaSet) lostError(err *owner.LostError) error {
	var names []string
	for _, i := range err.Lost {
		if i < len(set.Names) && set.Names[i] != "" {
			names = append(names, set.Names[i])
		}
	}
	switch n := len(names); n {
	case 0:
		return err
	case 1:
		return fmt.Errorf("%w (%s does not)", err, names[0])
	default:
		return fmt.Errorf("%w (%s and %s do not)", err, strings.Join(names[:n-1], ", "), names[n-1])
	}
}

// A place is where a partition is, as a shard has last seen it, and the terms of the actors that act there: one with other
// terms has not followed yet.
type place struct {
	*Placement // nil: this node is no replica
	terms      *owner.Terms
}

// placeOf is where a partition is now.
func (sh *shard) placeOf(p ring.Partition) *place {
	at := &sh.places[p]
	if now := sh.placement(p); now != at.Placement {
		sh.updatePlace(at, now)
	}
	return at
}

// updatePlace notes that a partition is elsewhere. All partitions of the same set and epoch have the same terms.
func (sh *shard) updatePlace(at *place, to *Placement) {
	if to == nil {
		*at = place{}
		return
	}
	same := func(other *place) bool {
		return other.Placement != nil && other.Set == to.Set && other.Epoch == to.Epoch
	}
	if same(at) {
		at.Placement = to
		return
	}
	terms := (*owner.Terms)(nil)
	for i := range sh.places {
		if same(&sh.places[i]) {
			terms = sh.places[i].terms
			break
		}
	}
	if terms == nil {
		terms = owner.NewTerms(&sh.owners[len(to.Set.Replicas)], sh.id, to.Epoch)
	}
	*at = place{Placement: to, terms: terms}
}

// explain says in an error to callers what only this package knows.
func (sh *shard) explain(p ring.Partition, err error) error {
	if lost, ok := errors.AsType[*owner.LostError](err); ok {
		if at := sh.places[p]; at.Placement != nil {
			return at.Set.lostError(lost)
		}
	}
	return err
}
