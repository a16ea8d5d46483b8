package register

import "github.com/jeton-dev/jeton/ring"

// These are the steps of one replica in a change of a partition's replica set. Each returns the next state of the partition,
// which must be durable before it is reported. If ok is false, the step is not possible, and the state does not change.

// Found enters the first epoch, without a register. Only a founding node of the cluster may call it, since no check was
// admitted before. A partition in any other state than that of a new directory does not change.
func (p Partition) Found() Partition {
	if p.Epoch == 0 && p.Installed == 0 && !p.Incomplete {
		p.Epoch, p.Sealed = ring.FirstEpoch, false
	}
	return p
}

// Seal ends the acceptance of reservations in that epoch. The epoch is the present one, or the one before that for which the
// partition is installed: it accepts none in that one, even if it has never entered it.
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

// Install makes the partition complete for a later epoch: the registers of the sources of join, which [Join] has computed,
// were merged. It seals the partition in its present epoch. A partition in that epoch already does not change.
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

// End ends the acceptance of reservations in all epochs before the one that a forced recovery is about to begin
// ([ring.Recovered]): the partition counts as installed for the last one before that, so it can neither be installed for an
// epoch of the lost nodes nor be a source for one.
func (p Partition) End() Partition {
	p.Sealed, p.Installed = true, ring.Recovered(max(p.Epoch, p.Installed))-1
	return p
}

// EnterFloored enters an epoch that a forced recovery began. No node knows all that was accepted before it, so every bucket
// counts as emptied until the floor, or until the partition's own floor if that is later. What the lost nodes installed for
// epochs up to that one has no effect. A partition in that epoch already does not change.
func (p Partition) EnterFloored(epoch uint64, floor int64) (after Partition, ok bool) {
	if p.Floored {
		floor = max(floor, p.Floor)
	}
	if after, ok = p.Install(epoch, Partition{Floored: true, Floor: floor}); !ok {
		return p, false
	}
	return after.Enter(epoch)
}

// Enter enters the epoch for which the partition is installed: the cluster has agreed on it. A partition in that epoch
// already does not change, sealed or not.
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

// Drop is for a node that is no replica any more and deletes the registers: the partition stays sealed in its epoch, and is
// no source until it is installed again.
func (p Partition) Drop() Partition {
	p.Sealed, p.Incomplete, p.Installed = true, true, 0
	return p
}
