package storage

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/disktest"
	"github.com/jeton-dev/jeton/storage/files"
	"github.com/jeton-dev/jeton/storage/register"
)

// write puts a file below the data directory.
func write(t *testing.T, r *rig, name, text string) {
	t.Helper()
	file := path.Join(r.cfg.Dir, name)
	if err := r.cfg.FS.MkdirAll(path.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := r.cfg.FS.Create(file, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func refuses(t *testing.T, cfg Config, kind error, says string) {
	t.Helper()
	s, err := Open(cfg)
	if err == nil {
		shut(t, s)
		t.Fatalf("it was opened, want an error that says %q", says)
	}
	if kind != nil && !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("open: %v\nwant %v that says %q", err, kind, says)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		what   string
		text   string // of the format file; none if empty
		other  string // a file that is there
		change func(*Config)
		kind   error
		says   string
	}{
		{
			what: "a newer format", text: "jeton 5\n", kind: ErrNewerFormat,
			says: "/var/lib/jeton has version 5, this jeton knows up to 4: run the jeton that wrote it, or a newer one",
		},
		{what: "a much newer format", text: "jeton 17\nand more\n", kind: ErrNewerFormat, says: "has version 17"},
		{what: "garbage", text: "\x00\xff", says: "/var/lib/jeton/FORMAT does not begin with «jeton» and a version"},
		{what: "a version that is no number", text: "jeton one\n", says: "does not begin with"},
		{what: "half a line", text: "jeton", says: "does not begin with"},
		{what: "version 0", text: "jeton 0\n", says: "does not begin with"},
		{what: "a version below 0", text: "jeton -1\n", says: "does not begin with"},
		{what: "a directory of other files", other: "photos/cat.jpg", says: "/var/lib/jeton holds photos and is no data directory of jeton: give an empty or new directory with --data"},
		{what: "a database without its format file", other: "registers/000002.log", says: "holds registers"},
		{what: "an unknown durability", change: func(c *Config) { c.Durability = "fsnyc" }, says: `durability "fsnyc" is neither "fsync" nor "memory"`},
		{what: "too many partitions", change: func(c *Config) { c.Partitions = 65537 }, says: "65537 partitions are not between 1 and 65536"},
		{what: "less than no partitions", change: func(c *Config) { c.Partitions = -1 }, says: "-1 partitions are not between"},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			r := newRig(t, nil)
			if test.text != "" {
				write(t, r, datadir.FormatFile, test.text)
			}
			if test.other != "" {
				write(t, r, test.other, "")
			}
			if test.change == nil {
				test.change = func(*Config) {}
			}
			refuses(t, r.with(test.change), test.kind, test.says)
		})
	}
	t.Run("an empty format file", func(t *testing.T) {
		r := newRig(t, nil)
		write(t, r, datadir.FormatFile, "")
		refuses(t, r.cfg, nil, "does not begin with")
	})
}

func TestOpenTakesEmptyDirectory(t *testing.T) {
	r := newRig(t, nil)
	write(t, r, "FORMAT.new", "jet") // of a founding that was cut short
	write(t, r, "lost+found/nothing", "")
	write(t, r, "cluster/raft", "of the cluster") // which is not the Store's
	shut(t, r.open(t))
	shut(t, r.open(t))
	text, err := files.Read(r.cfg.FS, path.Join(r.cfg.Dir, datadir.FormatFile))
	if err != nil || text != "jeton 3\n" {
		t.Errorf("the format file says %q, %v", text, err)
	}
}

func TestOpenRefusesFileForDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, vfs.Default)
	refuses(t, r.with(func(c *Config) { c.Dir = file }), ErrUnwritable, "cannot use the data directory "+file)
	refuses(t, r.with(func(c *Config) { c.Dir = filepath.Join(file, "below") }), ErrUnwritable, "cannot use the data directory "+file)
}

func TestOpenRefusesOtherPartitionCount(t *testing.T) {
	r := newRig(t, nil)
	shut(t, r.open(t))
	other := func(c *Config) { c.Partitions = partitions + 1 }
	refuses(t, r.with(other), nil, fmt.Sprintf("was made with %d partitions, not %d: the number cannot be changed", partitions, partitions+1))
	shut(t, r.open(t)) // and has left it as it was
}

// Whatever cannot be written when a directory is founded or opened again, the error says which directory, and what to do.
func TestOpenUnwritable(t *testing.T) {
	for _, cause := range []error{syscall.EACCES, syscall.EPERM, syscall.EROFS} {
		for _, founded := range []bool{false, true} {
			refusals := 0
			for n := int64(1); ; n++ {
				d := &failingDisk{fault: disktest.Fault{Err: cause}, n: n}
				r := newLeakyRig(nil)
				if founded {
					shut(t, r.open(t))
				}
				s, err := Open(r.with(onDisk(&disktest.Disk{FS: r.cfg.FS, Step: d.step})))
				if err == nil {
					err = s.Close()
				}
				o := d.struck.Load()
				if o == nil {
					break
				}
				switch {
				case errors.Is(err, ErrUnwritable):
					refusals++
					if !strings.Contains(err.Error(), "cannot use the data directory /var/lib/jeton") ||
						!strings.Contains(err.Error(), "name a directory that this user can write to (--data)") {
						t.Errorf("%v fails with %v: %v", o, cause, err)
					}
				case err != nil && !telling(err):
					t.Errorf("%v fails with %v: %v", o, cause, err)
				}
			}
			if refusals < 10 {
				t.Errorf("%v (founded: %v) was met %d times", cause, founded, refusals)
			}
		}
	}
}

func TestLockedByThisProcess(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"in memory": vfs.NewMem(), "on disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fs)
			dir := "/var/lib/jeton"
			if fs == vfs.Default {
				dir = t.TempDir()
			}
			here := func(c *Config) { c.Dir = dir }
			s := r.open(t, here)
			accepted(t, s, r.segment("user", epoch, epoch+1))
			refuses(t, r.with(here), ErrLocked, "stop the jeton that runs on "+dir+", or give another directory with --data")
			accepted(t, s, r.segment("user", epoch+1, epoch+2))
			shut(t, s)
			s = r.open(t, here)
			refused(t, s, register.Taken, r.segment("user", epoch+1, epoch+2))
		})
	}
}

// A full disk is not a lock, nor a directory that may not be written.
func TestOpenOnFullDisk(t *testing.T) {
	for _, kind := range []string{"mkdir", "create", "lock"} {
		r := newRig(t, &disktest.Disk{FS: vfs.NewMem(), Step: func(o disktest.Operation) error {
			if o.Kind == kind {
				return disktest.Fault{Err: syscall.ENOSPC}.Strike(o)
			}
			return o.Do()
		}})
		refuses(t, r.cfg, ErrFailed, "make room on the disk of /var/lib/jeton")
	}
}

// Values about the node that are damaged must not pass for those of a new directory.
func TestOpenRefusesDamagedMeta(t *testing.T) {
	for name, value := range map[string]string{
		metaDisk: "short", metaPartitions: "", metaMark: "short", metaLife: "\x04", metaCeiling: "123456789",
		metaConfirmed: "", metaFloorDue: "",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t)
			if err := s.db.Set(metaKey(name), []byte(value), nil); err != nil {
				t.Fatal(err)
			}
			shut(t, s)
			refuses(t, r.cfg, register.ErrCorrupt, "read "+name)
		})
	}
	t.Run("a partition", func(t *testing.T) {
		r := newRig(t, nil)
		s := r.open(t)
		if err := s.db.Set(partitionKey(1), []byte("short"), nil); err != nil {
			t.Fatal(err)
		}
		shut(t, s)
		refuses(t, r.cfg, register.ErrCorrupt, "read partition 1")
	})
	t.Run("a register, in memory mode", func(t *testing.T) {
		r := newRig(t, nil)
		s := r.open(t)
		if err := s.db.Set(registerKey(nil, 1, "user", "demo"), []byte("short"), nil); err != nil {
			t.Fatal(err)
		}
		shut(t, s)
		refuses(t, r.with(inMemory), register.ErrCorrupt, "read register")
	})
}

// A damaged register ends the Store rather than counting as none.
func TestDamagedRegisterEndsStore(t *testing.T) {
	r := newLeakyRig(nil)
	s := r.open(t)
	m := r.segment("user", epoch, epoch+1)
	if err := s.db.Set(registerKey(nil, m.Partition, m.Key, m.Limit), []byte("short"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Look(t.Context(), m.Partition, m.Key, m.Limit); !errors.Is(err, register.ErrCorrupt) {
		t.Errorf("look: %v", err)
	}
	_, err := try(t, s, m)
	if !errors.Is(failed(t, s, err), register.ErrCorrupt) {
		t.Errorf("reserve: %v", err)
	}
}

func TestMetrics(t *testing.T) {
	r := newRig(t, nil)
	registry := prometheus.NewPedanticRegistry()
	s := r.open(t, func(c *Config) { c.Metrics = registry })
	accepted(t, s, r.segment("a", epoch, epoch+1), r.segment("b", epoch, epoch+1))
	refused(t, s, register.Taken, r.segment("a", epoch, epoch+1))
	r.clock.advance(2 * time.Minute)
	for range partitions {
		keepHouse(t, s)
	}
	shut(t, s)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			got[family.GetName()] = metric.GetCounter().GetValue() + metric.GetHistogram().GetSampleSum()
		}
	}
	if got["jeton_storage_commit_seconds"] <= 0 {
		t.Error("commits took no time")
	}
	delete(got, "jeton_storage_commit_seconds")
	maps.DeleteFunc(got, func(name string, _ float64) bool { return strings.HasPrefix(name, "jeton_storage_inline_") }) // see TestInlineRegistersAreBounded
	want := map[string]float64{
		"jeton_storage_reservations_total":    3,
		"jeton_storage_commit_registers":      2,
		"jeton_storage_swept_registers_total": 2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A directory of the version before is taken over, for good.
func TestOpenTakesOlderFormat(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	accepted(t, s, r.segment("user", epoch, epoch+1))
	shut(t, s)
	path := r.cfg.FS.PathJoin(r.cfg.Dir, datadir.FormatFile)
	f, err := r.cfg.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("jeton 1\n")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = r.open(t)
	if l := lookAt(t, s, "user"); l.Register.H != epoch+1 {
		t.Errorf("%+v, want it reserved up to %d", l, epoch+1)
	}
	if text, err := files.Read(r.cfg.FS, path); err != nil || text != "jeton 3\n" {
		t.Errorf("the format file says %q, %v", text, err)
	}
}

// A directory is of the format of its cluster's level, which is never lowered, neither by another call nor by a restart.
func TestRaiseFormat(t *testing.T) {
	r := newRig(t, nil)
	format := func() string {
		t.Helper()
		text, err := files.Read(r.cfg.FS, path.Join(r.cfg.Dir, datadir.FormatFile))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	s := r.open(t)
	for _, to := range []int{datadir.LowestFormat, datadir.NewestFormat, datadir.LowestFormat} {
		if err := s.RaiseFormat(to); err != nil {
			t.Fatal(err)
		}
	}
	newest := fmt.Sprintf("jeton %d\n", datadir.NewestFormat)
	if text := format(); text != newest {
		t.Errorf("the format file says %q, want %q", text, newest)
	}
	shut(t, s)
	shut(t, r.open(t))
	if text := format(); text != newest {
		t.Errorf("after a restart the format file says %q, want %q", text, newest)
	}
	if seen, err := datadir.Look(r.cfg.FS, r.cfg.Dir); err != nil || seen.Format != datadir.NewestFormat {
		t.Errorf("it is seen as %+v, %v", seen, err)
	}
}
