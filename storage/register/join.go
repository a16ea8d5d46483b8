package register

import (
	"errors"
	"fmt"
)

// ErrTooFew means that those who were asked do not know all that the replica set has accepted.
var ErrTooFew = errors.New("too few replicas are sealed")

// Join is a register that is reserved wherever r, which is this replica's own, or other, which is another's, is: what is
// taken in one of them is taken in it, for a reservation of any generation that it does not refuse.
//
// It is the one of the later generation, or of the two in one generation the one that is reserved further. Where the other
// of the two lies beyond the later generation, the reset did not know of it, and it counts in full: H is raised to it.
//
// A reservation that this replica has not accepted itself is no repetition to it: its Epoch is 0 then. Else two owners
// could each count the replica for overlapping segments, one from before it took over the other's register.
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
	return later
}

// Join says what a replica must know of a partition, besides the registers of those whose states these are, to answer in
// the given epoch: the highest horizon, and a floor if there must be one. The states are of different replicas, each as
// it was when its registers were read or before, and enough is R − W + 1 of the replica set before.
//
// The registers are complete if enough replicas of the epoch before are sealed in it, or if one replica was installed for
// this epoch: it holds what they held. There is a floor only if fewer than enough of the sealed ones are without one and
// every installed one has one. The error is ErrTooFew if the registers are not complete.
func Join(states []Partition, enough int, epoch uint64) (joined Partition, err error) {
	var sealed, installed witnesses
	for _, p := range states {
		switch {
		case p.holds(epoch):
			installed.hear(p)
		case p.sealedBefore(epoch):
			sealed.hear(p)
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

// holds says whether the replica's registers are complete for that epoch: it has been installed for it.
func (p Partition) holds(epoch uint64) bool {
	return !p.Incomplete && epoch > 0 && (p.Installed == epoch || p.Epoch == epoch && p.Installed == 0)
}

// sealedBefore says whether the replica has its part in the end of the epoch before.
func (p Partition) sealedBefore(epoch uint64) bool {
	return p.Epoch > 0 && p.Epoch+1 == epoch && p.Installed == 0 && p.Sealed && !p.Incomplete
}

// witnesses are replicas that say how far the line of a partition's buckets is reserved.
type witnesses struct {
	all   int
	exact int   // without a floor
	floor int64 // the highest of the others
}

func (w *witnesses) hear(p Partition) {
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
