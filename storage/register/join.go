package register

import (
	"errors"
	"fmt"
)

// ErrTooFew means that the replicas that answered may not know all that the replica set has accepted.
var ErrTooFew = errors.New("too few replicas are sealed")

// Join merges r, which is this replica's register, with another replica's: what is taken in either of them is taken in the
// result, for a reservation of any generation that the result does not refuse.
//
// The result is the register of the later generation, or in one generation the one that is reserved further. If the other
// one's H lies beyond the later generation, the reset did not know of it: it counts in full, and H is raised to it. Its ledger is
// the one of the higher version, wherever H comes from: a claim raises H and brings no ledger.
//
// If this replica has not accepted the result's last reservation itself, Epoch is 0, and no repetition matches it. Otherwise
// two owners could each count this replica for overlapping segments, one of them from before the merge.
func (r Register) Join(other Register) Register {
	later, earlier := r, other
	if other.Generation > r.Generation || other.Generation == r.Generation && other.H > r.H {
		later, earlier = other, r
		later.Epoch = 0
	}
	if earlier.H > later.H && earlier.H > later.Generation {
		later.H, later.Epoch = earlier.H, 0
	}
	later.Expire = max(later.Expire, earlier.Expire)
	if earlier.Version > later.Version {
		later.Version, later.Ledger, later.Epoch = earlier.Version, earlier.Ledger, 0
	}
	return later
}

// Join computes what a replica needs, besides the registers of these replicas, to answer in the given epoch: the highest
// horizon, and a floor if there must be one. The states are of different replicas, each read no later than its registers,
// and enough is R − W + 1 of the previous replica set.
//
// The registers are complete if enough replicas of the previous epoch are sealed in it, or if one replica was installed for
// this epoch: it holds what they held. There is a floor only if fewer than enough of the sealed ones have none and every
// installed one has one. The error is ErrTooFew if the registers are not complete.
func Join(states []Partition, enough int, epoch uint64) (joined Partition, err error) {
	var sealed, installed witnesses
	for _, p := range states {
		switch {
		case p.holds(epoch):
			installed.add(p)
		case p.sealedBefore(epoch):
			sealed.add(p)
		default:
			continue
		}
		joined.Horizon = max(joined.Horizon, p.Horizon)
	}
	switch {
	case installed.exact > 0, sealed.exact >= enough:
	case sealed.all >= enough:
		joined.Floored, joined.Floor = true, sealed.floor
	case installed.all > 0:
		joined.Floored, joined.Floor = true, installed.floor
	default:
		return Partition{}, fmt.Errorf("%w: %d of %d replicas are complete and sealed in epoch %d, %d are needed, and none is in epoch %d",
			ErrTooFew, sealed.all, len(states), epoch-1, enough, epoch)
	}
	return joined, nil
}

// holds reports whether the replica's registers are complete for that epoch: it was installed for it.
func (p Partition) holds(epoch uint64) bool {
	return !p.Incomplete && epoch > 0 && (p.Installed == epoch || p.Epoch == epoch && p.Installed == 0)
}

// sealedBefore reports whether the replica is complete and sealed in the previous epoch.
func (p Partition) sealedBefore(epoch uint64) bool {
	return p.Epoch > 0 && p.Epoch+1 == epoch && p.Installed == 0 && p.Sealed && !p.Incomplete
}

// witnesses counts the replicas whose registers are complete, and those of them that need no floor.
type witnesses struct {
	all   int
	exact int   // without a floor
	floor int64 // the highest floor of the others
}

func (w *witnesses) add(p Partition) {
	w.all++
	switch {
	case !p.Floored:
		w.exact++
	case w.all-w.exact == 1:
		w.floor = p.Floor
	default:
		w.floor = max(w.floor, p.Floor)
	}
}
