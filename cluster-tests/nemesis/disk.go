package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster"
)

var (
	kindWiped = Kind{
		Name: "disk wiped", Weight: 2, Shortest: 100 * time.Millisecond, Longest: 4 * time.Second, Recovery: 8 * time.Second,
		Draw: func(d *Drawing) Fault { return wiped{d.one()} },
	}
	kindCopied = Kind{
		Name: "disk copied", Weight: 1, Recovery: time.Second,
		Draw: func(d *Drawing) Fault {
			if d.Time < oldEnough {
				return nil // it would be copied for nothing
			}
			n := d.one()
			d.copied[n] = d.At
			return copied{node: n}
		},
	}
	kindRestored = Kind{
		Name: "disk restored", Weight: 2, Shortest: 100 * time.Millisecond, Longest: 2 * time.Second, Recovery: 8 * time.Second,
		Draw: func(d *Drawing) Fault {
			var old []int
			for _, n := range d.Candidates {
				if at, ok := d.copied[n]; ok && d.At-at >= oldEnough {
					old = append(old, n)
				}
			}
			if len(old) == 0 {
				return nil
			}
			return restored{node: old[d.IntN(len(old))]}
		},
	}
	kindRestoredLastLife = Kind{
		Name: "disk restored of the last life", Weight: 1, Shortest: 100 * time.Millisecond, Longest: 2 * time.Second, Recovery: 8 * time.Second,
		Draw: func(d *Drawing) Fault { return restored{node: d.one(), lastLife: true} },
	}
)

// oldEnough is how old a copy must be for the cluster to notice that it is one, with some seconds besides: a rollback of
// less than two minutes within one life goes unnoticed, as the protocol says.
const oldEnough = 130 * time.Second

// wiped is a node that is killed, loses its disk, and is started again with an empty one.
type wiped struct{ node int }

func (f wiped) String() string { return names(f.node) + " is killed and loses its disk" }

// Begin kills it and empties the disk.
func (f wiped) Begin(_ context.Context, s *Stage) error {
	h := s.host(f.node)
	if err := h.kill(); err != nil {
		return err
	}
	return h.wipe()
}

// End starts it, and waits until it has its registers again: another disk that is lost before that is one too many.
func (f wiped) End(ctx context.Context, s *Stage) error {
	if err := s.back(ctx, s.host(f.node)); err != nil {
		return err
	}
	return s.settled(ctx, s.host(f.node).name)
}

// copied is a disk that is copied, as the snapshot of a virtual machine does: at one moment, in the middle of a life.
type copied struct {
	instant

	node int
}

func (f copied) String() string { return "the disk of " + names(f.node) + " is copied" }

// Begin copies it, with the process frozen meanwhile.
func (f copied) Begin(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	if err := h.freeze(); err != nil {
		return err
	}
	at := time.Now()
	err := h.copyTo(h.copies("old"))
	if thawed := h.thaw(); err == nil {
		err = thawed
	}
	if err != nil {
		return fmt.Errorf("copy the disk of %s: %w", h.name, err)
	}
	s.copiedAt.Store(h.name, at)
	return s.ready(ctx, h)
}

// restored is a node that is killed and started again with an old copy of its disk: one that is old enough, or one that was
// made just before its last start.
type restored struct {
	node     int
	lastLife bool
}

func (f restored) String() string {
	if f.lastLife {
		return names(f.node) + " is killed, and gets its disk back as it was in the last life"
	}
	return names(f.node) + " is killed, and gets an old copy of its disk"
}

// Begin kills it and puts the copy in place.
func (f restored) Begin(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	folder := h.copies("old")
	if f.lastLife {
		folder = h.copies("last-life")
		if err := f.liveOn(ctx, s, folder); err != nil {
			return err
		}
	} else if at, ok := s.copiedAt.Load(h.name); ok {
		// Played late, the copying was later too.
		if err := pause(ctx, time.Until(at.(time.Time).Add(oldEnough))); err != nil { //nolint:forcetypeassert // stored above
			return err
		}
	} else {
		return fmt.Errorf("there is no copy of the disk of %s", h.name)
	}
	if err := h.kill(); err != nil {
		return err
	}
	return h.copyFrom(folder)
}

// liveOn ends a life, copies the disk, and lets the node live on: what it admits then is not in the copy.
func (f restored) liveOn(ctx context.Context, s *Stage, folder string) error {
	h := s.host(f.node)
	if err := h.kill(); err != nil {
		return err
	}
	if err := h.copyTo(folder); err != nil {
		return err
	}
	if err := s.back(ctx, h); err != nil {
		return err
	}
	return pause(ctx, s.setting.scale(3*time.Second))
}

// removedForEver is what a node says whose disk was replaced by another one since it was copied.
const removedForEver = "was permanently removed from the cluster"

// End starts it. It must notice: the disk joins as a new one, or is refused.
func (f restored) End(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	before, err := s.diskID(ctx, h)
	if err != nil {
		return err
	}
	h.excuse(true)
	if err := s.back(ctx, h); err != nil {
		if wanted, _ := h.is(); wanted || !strings.Contains(h.log(), removedForEver) {
			return err
		}
		// The operator does as it says.
		if err := errors.Join(h.wipe(), s.back(ctx, h)); err != nil {
			return err
		}
	}
	h.excuse(false)
	if err := s.settled(ctx, h.name); err != nil {
		return err
	}
	after, err := s.diskID(ctx, h)
	if err != nil {
		return err
	}
	if after == before {
		return fmt.Errorf("%s was given an old copy of its disk, and goes on as %s as if nothing was", h.name, after)
	}
	return nil
}

// diskID is the id under which the cluster knows a node.
func (s *Stage) diskID(ctx context.Context, h *host) (id ring.NodeID, err error) {
	err = s.until(ctx, h.name+" is a member", func(ctx context.Context) error {
		st, err := s.status(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(st.Nodes, func(n cluster.NodeStatus) bool { return n.Name == h.name })
		if i < 0 {
			return fmt.Errorf("%s is no member: %+v", h.name, st.Nodes)
		}
		id = st.Nodes[i].ID
		return nil
	})
	return id, err
}
