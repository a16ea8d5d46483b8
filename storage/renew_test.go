package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/disktest"
	"github.com/jeton-dev/jeton/storage/files"
	"github.com/jeton-dev/jeton/storage/register"
)

// oldCopy is a data directory with a register, and with files of a cluster.
func oldCopy(t *testing.T, fs vfs.FS) (*rig, DiskID) {
	t.Helper()
	r := newLeakyRig(fs)
	s := r.open(t)
	accepted(t, s, r.segment("user", epoch, epoch+1))
	id := s.Disk()
	shut(t, s)
	write(t, r, "cluster/raft.db", "of the old one")
	return r, id
}

// A renewed directory is like a new one: it has another identity, no register, no mark, and no files of its cluster.
func TestRenew(t *testing.T) {
	r, old := oldCopy(t, vfs.NewMem())
	s := r.open(t)
	if err := datadir.Renew(r.cfg.FS, r.cfg.Dir); !errors.Is(err, ErrLocked) {
		t.Errorf("renewed while it is open: %v", err)
	}
	shut(t, s)
	for range 2 {
		must(t, datadir.Renew(r.cfg.FS, r.cfg.Dir))
		if _, err := r.cfg.FS.Stat(path.Join(r.cfg.Dir, datadir.ClusterDir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the cluster's files: %v, want them gone", err)
		}
	}
	s = r.openBlank(t)
	if s.Disk() == old || s.MarkBefore() != (Mark{}) || s.Mark().Boot != 1 {
		t.Errorf("the disk is %v with mark %v after %v, and was %v", s.Disk(), s.Mark(), s.MarkBefore(), old)
	}
	is(t, s, state{sealed: true})
	must(t, s.Found(t.Context()))
	accepted(t, s, r.segment("user", epoch, epoch+1))
	write(t, r, "other/FORMAT", "photos")
	if err := datadir.Renew(r.cfg.FS, path.Join(r.cfg.Dir, "other")); err == nil || !strings.Contains(err.Error(), "a data directory of jeton?") {
		t.Errorf("renewed a directory that is not jeton's: %v", err)
	}
}

// wholeOrNew makes sure that a directory is the old one with all that it had, or a new one with nothing.
func wholeOrNew(t *testing.T, r *rig, fs vfs.FS, old DiskID) (isNew bool, err error) {
	t.Helper()
	s, err := Open(r.with(onDisk(fs)))
	if err != nil {
		return false, err
	}
	defer shut(t, s)
	isNew = s.Disk() != old
	_, clusterErr := fs.Stat(path.Join(r.cfg.Dir, datadir.ClusterDir, "raft.db"))
	l := lookAt(t, s, "user")
	want := state{epoch: 1}
	if isNew {
		want = state{sealed: true}
	}
	if cluster := clusterErr == nil; l.Exists == isNew || cluster == isNew || stateOf(l.Partition) != want {
		return isNew, fmt.Errorf("new: %v, with %+v and the cluster's files: %v", isNew, l, cluster)
	}
	return isNew, nil
}

// Wherever Renew is interrupted, the next Open opens the old directory or a new one, and nothing in between.
func TestCrashRenew(t *testing.T) {
	memory := vfs.NewCrashableMem()
	r, old := oldCopy(t, memory)
	must(t, syncTree(memory, r.cfg.Dir))
	var wrecks []wreck
	d := &disktest.Disk{FS: memory}
	d.Step = func(o disktest.Operation) error {
		for _, percent := range kept {
			seed := rand.Uint64()
			wrecks = append(wrecks, wreck{where: fmt.Sprintf("cut before %v, keeping %d %% (seed %d)", o, percent, seed), fs: d.CutPower(percent, seed)})
		}
		if o.Kind == "remove" { // the file system in memory makes no removal durable by itself, but another may
			durable := d.CutPower(0, 0)
			word, _ := durable.Stat(path.Join(r.cfg.Dir, datadir.RenewFile))
			registers, _ := durable.Stat(path.Join(r.cfg.Dir, datadir.RegistersDir))
			if word == nil || strings.HasSuffix(o.Path, datadir.RenewFile) && registers != nil {
				t.Errorf("%v, while %v and %v are durable", o, word, registers)
			}
		}
		return o.Do()
	}
	must(t, datadir.Renew(d, r.cfg.Dir))
	for _, percent := range kept {
		wrecks = append(wrecks, wreck{where: "cut at the end", fs: d.CutPower(percent, 0)})
	}
	count := map[bool]int{}
	for i, w := range wrecks {
		isNew, err := wholeOrNew(t, r, w.fs, old)
		if err != nil || i >= len(wrecks)-len(kept) && !isNew {
			t.Errorf("%s: new: %v, %v", w.where, isNew, err)
		}
		count[isNew]++
	}
	t.Logf("%d wrecks are the old directory, %d a new one", count[false], count[true])
	if count[false] < 10 || count[true] < 10 {
		t.Error("too few of one kind")
	}
}

// syncTree makes a directory and all that is in it durable.
func syncTree(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		file := fs.PathJoin(dir, name)
		info, err := fs.Stat(file)
		if err == nil && info.IsDir() {
			err = syncTree(fs, file)
		} else if err == nil {
			var f vfs.File
			if f, err = fs.Open(file); err == nil {
				err = errors.Join(f.Sync(), f.Close())
			}
		}
		if err != nil {
			return err
		}
	}
	return files.SyncDir(fs, dir)
}

// Whatever fails, or fails but happens, the error says so, and what is left is the old directory or a new one.
func TestFailureRenew(t *testing.T) {
	for _, f := range []disktest.Fault{{Err: syscall.EIO}, {Err: syscall.EIO, Happened: true}} {
		for n := int64(1); ; n++ {
			memory := vfs.NewCrashableMem()
			r, old := oldCopy(t, memory)
			must(t, syncTree(memory, r.cfg.Dir))
			failing := &failingDisk{fault: f, n: n}
			d := &disktest.Disk{FS: memory, Step: failing.step}
			err := datadir.Renew(d, r.cfg.Dir)
			o := failing.struck.Load()
			if o == nil {
				if n < 10 {
					t.Errorf("%d operations are too few", n)
				}
				break
			}
			if !errors.Is(err, ErrFailed) && o.Kind != "close" {
				t.Errorf("%v, %v: %v", o, f, err)
			}
			for _, percent := range []int{0, 100} {
				if _, err := wholeOrNew(t, r, d.CutPower(percent, 0), old); err != nil {
					t.Errorf("%v, %v, %d %%: %v", o, f, percent, err)
				}
			}
			if _, err := wholeOrNew(t, r, memory, old); err != nil {
				t.Errorf("%v, %v, as it is: %v", o, f, err)
			}
		}
	}
}

// MarkBefore shows that a directory is an old copy until Confirm is called, however often it is started.
func TestOldCopyStaysKnown(t *testing.T) {
	memory := vfs.NewCrashableMem()
	r := newRig(t, memory)
	s := r.open(t)
	must(t, s.Confirm(t.Context()))
	accepted(t, s, r.segment("user", epoch, epoch+1))
	copied := memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
	shut(t, s)
	s = r.open(t)
	must(t, s.Confirm(t.Context()))
	known := s.Mark()
	shut(t, s)
	for range 3 {
		r.clock.advance(1e12)
		s = r.open(t, onDisk(copied))
		if before := s.MarkBefore(); before.Boot >= known.Boot {
			t.Errorf("an old copy has mark %v before it starts, and %v is known", before, known)
		}
		refused(t, s, register.Taken, r.segment("user", epoch, epoch+1))
		shut(t, s)
	}
}
