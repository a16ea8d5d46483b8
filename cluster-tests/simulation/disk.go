package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A life says how registers were kept since the last start; see storage.
type life uint8

const (
	lifeNone life = iota
	lifeFsync
	lifeMemory
	lifeSaved
)

// A cell is the place of a bucket's register, which may be empty.
type cell struct {
	register.Register

	exists bool
}

// A disk is what has been made durable on a machine.
type disk struct {
	id        ring.NodeID
	mark      mark
	confirmed mark // of the last life in which it was found to be no old copy
	life      life
	ceiling   int64
	floorDue  bool
	parts     []register.Partition
	cells     []cell // by bucket
}

// newDisk is an empty one, the how-manieth of its slot.
func (w *World) newDisk(slot int) *disk {
	n := &w.nodes[slot]
	n.disks++
	d := &disk{id: ring.NodeID{byte(slot + 1), byte(n.disks >> 8), byte(n.disks)}}
	d.parts = make([]register.Partition, w.partitions)
	for i := range d.parts {
		d.parts[i].Sealed = true
	}
	d.cells = make([]cell, len(w.keys)*len(w.limits))
	return d
}

// copy is a copy of d as it is now. What registers point to never changes.
func (d *disk) copy() *disk {
	c := *d
	c.parts, c.cells = slices.Clone(d.parts), slices.Clone(d.cells)
	return &c
}

// A write is what is to become durable, as a whole or not at all.
type write func(d *disk)
