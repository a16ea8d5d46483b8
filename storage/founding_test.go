package storage

import (
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

// Found starts the named partitions, and no others.
func TestFoundSome(t *testing.T) {
	r := newRig(t, nil)
	s := r.openBlank(t)
	must(t, s.Found(t.Context(), 1))
	accepted(t, s, r.in(1, 1, "user", epoch, epoch+1))
	refused(t, s, register.WrongEpoch, r.in(0, 1, "user", epoch, epoch+1))
	_, err := s.Seal(t.Context(), 0, 1)
	fails(t, err, ErrEpoch)
	if err := s.Found(t.Context(), 0, 9999); err == nil || s.Partition(0).Epoch != 0 {
		t.Errorf("a partition that is not there: %v, and partition 0 is %+v", err, s.Partition(0))
	}
}

// A replica that is installed for the epoch after the one that is to be sealed has never answered in that one, and never
// will. That counts as a seal: otherwise it could not be a source, although it has all registers.
func TestSealOfReplicaInstalledForTheNextEpoch(t *testing.T) {
	r := newRig(t, nil)
	s := r.openBlank(t)
	ctx := t.Context()
	must(t, s.Install(ctx, 0, 2, register.Partition{}))
	_, err := s.Seal(ctx, 0, 2) // it may enter that yet
	fails(t, err, ErrEpoch)
	must(t, s.Install(ctx, 0, 3, register.Partition{}))
	part, err := s.Seal(ctx, 0, 2)
	if err != nil || part.Installed != 3 {
		t.Fatalf("sealed: %+v, %v", part, err)
	}
	fails(t, s.Enter(ctx, 0, 2), ErrEpoch)
	if _, err := register.Join([]register.Partition{part}, 2, 3); err != nil {
		t.Errorf("it does not count as a source: %v", err)
	}
}

// A drop voids a copy even if no register was merged before.
func TestDropVoidsEmptyCopy(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	ctx := t.Context()
	must(t, s.Merge(ctx, 0, nil))
	must(t, s.Drop(ctx, 0))
	fails(t, s.Install(ctx, 0, 2, register.Partition{}), ErrIncomplete)
	must(t, s.Install(ctx, 0, 2, register.Partition{}))
}
