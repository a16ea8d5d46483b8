package storage

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A DiskID names one data directory from its founding on: 128 random bits. An empty directory gets a new one.
type DiskID [16]byte

// String is the name in hexadecimal.
func (d DiskID) String() string { return hex.EncodeToString(d[:]) }

// A Mark tells how far a data directory has come. Marks only rise, so a lower one betrays an old copy.
type Mark struct {
	Boot   uint64 // starts of a node on this directory
	Minute int64  // minutes since the Unix epoch, by the node clock
}

// formatFile names the version of everything below the data directory. It is read before anything else is touched.
const (
	formatFile    = "FORMAT"
	formatVersion = 1
)

// checkFormat makes sure that dir is a data directory of this version, or makes an empty one into one.
func checkFormat(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return unwritable(dir, err)
	}
	path := fs.PathJoin(dir, formatFile)
	f, err := fs.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return found(fs, dir, path)
	}
	if err != nil {
		return unwritable(dir, err)
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	var version int
	if _, err := fmt.Sscanf(string(text), "jeton %d\n", &version); err != nil {
		return fmt.Errorf("%s does not begin with «jeton» and a version: is %s a data directory of jeton?", path, dir)
	}
	if version > formatVersion {
		return fmt.Errorf("%w: %s has version %d, this jeton knows up to %d: run the jeton that wrote it, or a newer one",
			ErrNewerFormat, dir, version, formatVersion)
	}
	return nil
}

// found writes the format file into an empty directory. It appears whole or not at all.
func found(fs vfs.FS, dir, path string) error {
	there, err := fs.List(dir)
	if err != nil {
		return unwritable(dir, err)
	}
	for _, name := range there {
		if name != formatFile+".new" && name != "lost+found" {
			return fmt.Errorf("%s holds %s and is no data directory of jeton: give an empty or new directory with --data", dir, name)
		}
	}
	write := func() error {
		f, err := fs.Create(path+".new", vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "jeton %d\n", formatVersion)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		if err := fs.Rename(path+".new", path); err != nil {
			return err
		}
		return errors.Join(syncDir(fs, dir), syncDir(fs, fs.PathDir(dir)))
	}
	if err := write(); err != nil {
		return unwritable(dir, err)
	}
	return nil
}

func unwritable(dir string, err error) error {
	return fmt.Errorf("%w %s: %w: give one that this user may write with --data", ErrUnwritable, dir, err)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// meta is what a node remembers about itself, each value under a key of its own.
type meta struct {
	disk       DiskID
	partitions uint64
	mark       Mark
	life       life
	ceiling    int64 // memory mode: no register was written at a later time than this
}

// A life says how the registers were kept since the last start, and so whether those on disk are complete.
type life byte

const (
	lifeNone   life = iota // the directory is new: no register was ever written
	lifeFsync              // every register was on disk before it was answered
	lifeMemory             // registers were in memory, and have not been saved
	lifeSaved              // registers were in memory, and a clean stop has saved them all
)

const (
	metaDisk       = "disk"
	metaPartitions = "partitions"
	metaMark       = "mark"
	metaLife       = "life"
	metaCeiling    = "ceiling"
)

// readMeta reads everything; a new directory gets an identity, which the caller writes.
func readMeta(db *pebble.DB, partitions int) (m meta, err error) {
	read := func(name string) []byte {
		v, closer, gerr := db.Get(metaKey(name))
		if errors.Is(gerr, pebble.ErrNotFound) || err != nil {
			return nil
		}
		if gerr != nil {
			err = fmt.Errorf("read %s: %w", name, gerr)
			return nil
		}
		defer closer.Close() //nolint:errcheck // it only returns memory
		return append([]byte(nil), v...)
	}
	number := func(name string) uint64 {
		if v := read(name); len(v) == 8 {
			return binary.BigEndian.Uint64(v)
		}
		return 0
	}
	if id := read(metaDisk); len(id) == len(m.disk) {
		m.disk = DiskID(id)
	} else if _, rerr := rand.Read(m.disk[:]); rerr != nil {
		return meta{}, rerr
	}
	m.partitions = number(metaPartitions)
	m.ceiling = int64(number(metaCeiling))
	if v := read(metaMark); len(v) == 16 {
		m.mark = Mark{Boot: binary.BigEndian.Uint64(v), Minute: int64(binary.BigEndian.Uint64(v[8:]))}
	}
	if v := read(metaLife); len(v) == 1 {
		m.life = life(v[0])
	}
	if m.partitions == 0 {
		m.partitions = uint64(partitions)
	}
	if m.partitions != uint64(partitions) && err == nil {
		err = fmt.Errorf("the data directory was made with %d partitions, not %d: the number is fixed for ever", m.partitions, partitions)
	}
	return m, err
}

func (m meta) write(b *pebble.Batch) error {
	mark := binary.BigEndian.AppendUint64(nil, m.mark.Boot)
	mark = binary.BigEndian.AppendUint64(mark, uint64(m.mark.Minute))
	for name, value := range map[string][]byte{
		metaDisk:       m.disk[:],
		metaPartitions: binary.BigEndian.AppendUint64(nil, m.partitions),
		metaMark:       mark,
		metaLife:       {byte(m.life)},
		metaCeiling:    binary.BigEndian.AppendUint64(nil, uint64(m.ceiling)),
	} {
		if err := b.Set(metaKey(name), value, nil); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
