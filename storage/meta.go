package storage

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/storage/register"
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

// meta is what a node remembers about itself, each value under a key of its own.
type meta struct {
	disk       DiskID
	partitions uint64
	mark       Mark
	life       life
	ceiling    int64 // memory mode: no register was written at a later time than this
}

const (
	metaDisk       = "disk"
	metaPartitions = "partitions"
	metaMark       = "mark"
	metaLife       = "life"
	metaCeiling    = "ceiling"
)

// readMeta reads everything; a new directory gets an identity, which the caller writes. A value that is there is whole:
// a mark or a life read as absent would pass for those of a new directory.
func readMeta(db *pebble.DB, partitions int) (m meta, err error) {
	read := func(name string, size int) (value []byte) {
		v, closer, gerr := db.Get(metaKey(name))
		if gerr == nil {
			value = append(value, v...)
			gerr = closer.Close()
		}
		if gerr == nil && len(value) != size {
			gerr = register.ErrCorrupt
		}
		if gerr == nil {
			return value
		}
		if !errors.Is(gerr, pebble.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("read %s: %w", name, gerr))
		}
		return make([]byte, size)
	}
	m.disk = DiskID(read(metaDisk, len(m.disk)))
	m.partitions = binary.BigEndian.Uint64(read(metaPartitions, 8))
	mark := read(metaMark, 16)
	m.mark = Mark{Boot: binary.BigEndian.Uint64(mark), Minute: int64(binary.BigEndian.Uint64(mark[8:]))}
	m.life = life(read(metaLife, 1)[0])
	m.ceiling = int64(binary.BigEndian.Uint64(read(metaCeiling, 8)))
	if err != nil {
		return meta{}, err
	}
	if m.life > lifeSaved {
		return meta{}, fmt.Errorf("read %s: %w", metaLife, register.ErrCorrupt)
	}
	if m.disk == (DiskID{}) {
		if _, err := rand.Read(m.disk[:]); err != nil {
			return meta{}, err
		}
		m.partitions = uint64(partitions)
	}
	if m.partitions != uint64(partitions) {
		return meta{}, fmt.Errorf("the data directory was made with %d partitions, not %d: the number is fixed for ever", m.partitions, partitions)
	}
	return m, nil
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
