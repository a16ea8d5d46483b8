package storage

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// A power cut while partitions are dropped leaves each either as it was, with all that was answered, or known to be
// incomplete: never one that passes for complete without its registers.
func TestCrashWhileDropping(t *testing.T) {
	crashEverywhere(t, dropAll, examineDrops)
}

// dropAll drops every partition under the eyes of w, who goes on asking for what was answered in them.
func dropAll(t *testing.T, r *rig, w *witness) error {
	t.Helper()
	s, err := w.open(r)
	if err != nil {
		return err
	}
	if err := w.found(t, s); err != nil {
		return failed(t, s, err)
	}
	if err := raise(t, r, w, s, 4); err != nil {
		return failed(t, s, err)
	}
	for i := range s.partitions {
		p := ring.Partition(i)
		dropped := func(st *state) { st.sealed, st.incomplete, st.installed = true, true, 0 }
		if err := w.become(dropped, func() error { return s.Drop(t.Context(), p) }, p); err != nil {
			return failed(t, s, err)
		}
		keepHouse(t, s)
	}
	if err := w.shut(s); err != nil {
		return failed(t, s, err)
	}
	return nil
}

func examineDrops(t *testing.T, r *rig, w wreck) error {
	t.Helper()
	s, _, err := w.open(r, 0)
	if err != nil {
		return err
	}
	defer shut(t, s)
	for key, m := range w.answered {
		l := lookAt(t, s, key)
		if l.Partition.Incomplete {
			continue
		}
		if err := w.kept(m, l); err != nil {
			return err
		}
	}
	return nil
}
