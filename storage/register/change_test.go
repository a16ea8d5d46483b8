package register_test

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A replica goes through a change, and is asked for steps that it cannot take: then it stays as it is.
func TestSteps(t *testing.T) {
	type partition = register.Partition
	fine := partition{Horizon: 9, Floored: true, Floor: 7}
	seal := func(epoch uint64) func(partition) (partition, bool) {
		return func(p partition) (partition, bool) { return p.Seal(epoch) }
	}
	install := func(epoch uint64) func(partition) (partition, bool) {
		return func(p partition) (partition, bool) { return p.Install(epoch, fine) }
	}
	enter := func(epoch uint64) func(partition) (partition, bool) {
		return func(p partition) (partition, bool) { return p.Enter(epoch) }
	}
	floored := func(p partition) (partition, bool) { return p.EnterFloored(5, 3) }
	for _, tt := range []struct {
		name   string
		step   func(partition) (partition, bool)
		before partition
		after  partition
		ok     bool
	}{
		{"seal", seal(2), partition{Epoch: 2}, partition{Epoch: 2, Sealed: true}, true},
		{"seal again", seal(2), partition{Epoch: 2, Sealed: true}, partition{Epoch: 2, Sealed: true}, true},
		{"seal what is past", seal(1), partition{Epoch: 2}, partition{Epoch: 2}, false},
		{"seal what is to come", seal(3), partition{Epoch: 2}, partition{Epoch: 2}, false},
		{"seal none", seal(0), partition{Sealed: true}, partition{Sealed: true}, false},
		{"seal what was dropped", seal(2), partition{Epoch: 2, Sealed: true, Incomplete: true}, partition{Epoch: 2, Sealed: true, Incomplete: true}, false},
		{"seal before what is installed", seal(2), partition{Installed: 3, Sealed: true}, partition{Installed: 3, Sealed: true}, true},
		{"install", install(3), partition{Epoch: 2, Horizon: 4}, partition{Epoch: 2, Installed: 3, Sealed: true, Horizon: 9, Floored: true, Floor: 7}, true},
		{"install what was dropped", install(3), partition{Epoch: 1, Sealed: true, Incomplete: true, Horizon: 11}, partition{Epoch: 1, Installed: 3, Sealed: true, Horizon: 11, Floored: true, Floor: 7}, true},
		{"install the present one", install(2), partition{Epoch: 2, Installed: 3, Sealed: true}, partition{Epoch: 2, Installed: 3, Sealed: true}, true},
		{"install what is past", install(1), partition{Epoch: 2}, partition{Epoch: 2}, false},
		{"install before what is installed", install(3), partition{Epoch: 2, Installed: 4, Sealed: true}, partition{Epoch: 2, Installed: 4, Sealed: true}, false},
		{"enter with a floor", floored, partition{Epoch: 2, Floored: true, Floor: 8}, partition{Epoch: 5, Floored: true, Floor: 8}, true},
		{"enter with a floor what was installed without", floored, partition{Epoch: 2, Installed: 5, Sealed: true}, partition{Epoch: 5, Floored: true, Floor: 3}, true},
		{"enter with a floor what was ended", floored, partition{Epoch: 2, Sealed: true, Incomplete: true}, partition{Epoch: 5, Floored: true, Floor: 3}, true},
		{"enter with a floor again", floored, partition{Epoch: 5, Floored: true, Floor: 2}, partition{Epoch: 5, Floored: true, Floor: 2}, true},
		{"enter with a floor what is past", floored, partition{Epoch: 6}, partition{Epoch: 6}, false},
		{"enter with a floor before what is installed", floored, partition{Epoch: 2, Installed: 6, Sealed: true}, partition{Epoch: 2, Installed: 6, Sealed: true}, false},
		{"enter", enter(3), partition{Epoch: 2, Installed: 3, Sealed: true}, partition{Epoch: 3}, true},
		{"enter again", enter(3), partition{Epoch: 3, Sealed: true}, partition{Epoch: 3, Sealed: true}, true},
		{"enter another", enter(4), partition{Epoch: 2, Installed: 3, Sealed: true}, partition{Epoch: 2, Installed: 3, Sealed: true}, false},
		{"enter none", enter(0), partition{Sealed: true}, partition{Sealed: true}, false},
	} {
		if after, ok := tt.step(tt.before); after != tt.after || ok != tt.ok {
			t.Errorf("%s: %+v becomes %+v, %v; want %+v, %v", tt.name, tt.before, after, ok, tt.after, tt.ok)
		}
	}
	for before, after := range map[partition]partition{
		{Sealed: true}:                   {Epoch: 1},
		{Installed: 2, Sealed: true}:     {Installed: 2, Sealed: true},
		{Epoch: 3}:                       {Epoch: 3},
		{Sealed: true, Incomplete: true}: {Sealed: true, Incomplete: true},
	} {
		if got := before.Found(); got != after {
			t.Errorf("%+v is founded as %+v, want %+v", before, got, after)
		}
	}
	for _, before := range []partition{{Epoch: 3}, {Epoch: 3, Installed: 4, Sealed: true}, {Sealed: true}, {Epoch: 3, Sealed: true, Incomplete: true}} {
		ended := before.End()
		if !ended.Sealed || ended.End() != ended {
			t.Errorf("%+v ends as %+v, and then as %+v", before, ended, ended.End())
		}
		for epoch := uint64(1); epoch < 6; epoch++ {
			_, installed := ended.Install(epoch, partition{})
			_, entered := ended.Enter(epoch)
			_, err := register.Join([]partition{ended}, 1, epoch)
			if installed && ended.Epoch != epoch || entered && ended.Epoch != epoch || err == nil || ended.Found() != ended {
				t.Errorf("%+v takes part in epoch %d after its end: installs %v, enters %v, is a source: %v", before, epoch, installed, entered, err)
			}
		}
		again := ring.Recovered(ended.Installed)
		for _, epoch := range []uint64{again, again + 1} {
			if after, ok := ended.Install(epoch, partition{}); !ok || after.Installed != epoch {
				t.Errorf("%+v is not installed for epoch %d of the recovery: %+v", before, epoch, after)
			}
		}
		if after, ok := ended.EnterFloored(again, 3); !ok || after != (partition{Epoch: again, Floored: true, Floor: 3}) {
			t.Errorf("%+v enters the recovered epoch as %+v", before, after)
		}
	}
	if got := (partition{Epoch: 3, Installed: 4}).Drop(); got != (partition{Epoch: 3, Sealed: true, Incomplete: true}) {
		t.Errorf("dropped: %+v", got)
	}
}
