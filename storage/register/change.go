package register

import "github.com/jeton-dev/jeton/ring"

// These are the steps of one replica in a change of a partition's replica set. Each returns the partition afterwards, which
// must be durable before anybody hears of it. Where ok is false, the step cannot be taken, and the partition stays as it is.

// Found enters the first epoch, without a register. Only a founder of the cluster may, for whom nothing was ever admitted
// before: a partition that has been anything else stays as it is.
func (p Partition) Found() Partition {
	if p.Epoch == 0 && p.Installed == 0 && !p.Incomplete {
		p.Epoch, p.Sealed = ring.FirstEpoch, false
	}
	return p
}

// Seal accepts nothing in that epoch any more. The epoch is the present one, or the one before that for which the partition
// is installed: it accepts nothing in that one, even if it has never entered it.
func (p Partition) Seal(epoch uint64) (after Partition, ok bool) {
	switch {
	case epoch == 0:
		return p, false
	case p.Installed == epoch+1:
	case p.Epoch != epoch || p.Incomplete:
		return p, false
	}
	p.Sealed = true
	return p, true
}

// Install is complete for a later epoch: the registers of the sources of join, which [Join] has made, were taken over. It
// is sealed in its present one. In that epoch already it stays as it is.
func (p Partition) Install(epoch uint64, join Partition) (after Partition, ok bool) {
	switch {
	case p.Epoch == epoch:
		return p, true
	case p.Epoch > epoch || p.Installed > epoch:
		return p, false
	}
	p.Installed, p.Sealed, p.Incomplete = epoch, true, false
	p.Floored, p.Floor = join.Floored, join.Floor
	p.Horizon = max(p.Horizon, join.Horizon)
	return p, true
}

// End accepts nothing any more, and takes part in no epoch before the one that a forced recovery is about to begin
// ([ring.Recovered]): it counts as installed for the last one below, so it can be installed for none of those who are lost,
// and is a source for none.
func (p Partition) End() Partition {
	p.Sealed, p.Installed = true, ring.Recovered(max(p.Epoch, p.Installed))-1
	return p
}

// EnterFloored answers in an epoch that a forced recovery began: nobody knows all that was accepted before it, so every
// bucket counts as emptied until the floor, or until the partition's own if that is later. Whatever was installed for an
// epoch up to that one, by those who are lost, counts for nothing. In that epoch already it stays as it is.
func (p Partition) EnterFloored(epoch uint64, floor int64) (after Partition, ok bool) {
	if p.Floored {
		floor = max(floor, p.Floor)
	}
	if after, ok = p.Install(epoch, Partition{Floored: true, Floor: floor}); !ok {
		return p, false
	}
	return after.Enter(epoch)
}

// Enter answers in the epoch for which the partition is installed: the cluster has agreed on it. In that epoch already it
// stays as it is, sealed if it was.
func (p Partition) Enter(epoch uint64) (after Partition, ok bool) {
	switch {
	case epoch == 0:
		return p, false
	case p.Epoch == epoch:
		return p, true
	case p.Installed != epoch:
		return p, false
	}
	p.Epoch, p.Installed, p.Sealed = epoch, 0, false
	return p, true
}

// Drop is for a replica that keeps the partition no more and deletes its registers: it stays sealed in its epoch, and is no
// source for anybody until it is installed again.
func (p Partition) Drop() Partition {
	p.Sealed, p.Incomplete, p.Installed = true, true, 0
	return p
}
