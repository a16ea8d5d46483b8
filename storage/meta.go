package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A DiskID identifies one data directory from its creation on. An empty directory gets a new one.
type DiskID = ring.NodeID

// A Mark says how recent a data directory is. Marks only rise: a directory with a lower mark than it once had is an old
// copy.
type Mark struct {
	Boot   uint64 // starts of a node on this directory
	Minute int64  // minutes since the Unix epoch, by the node clock
}

// markSize is that of an encoded mark, in bytes.
const markSize = 16

func (m Mark) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, m.Boot), uint64(m.Minute))
}

func decodeMark(text []byte) Mark {
	return Mark{Boot: binary.BigEndian.Uint64(text), Minute: int64(binary.BigEndian.Uint64(text[8:]))}
}

// A completeness says how the registers were kept since the last start, and so whether those on disk are complete.
type completeness byte

const (
	newDirectory completeness = iota // no register was ever written
	syncedWrites                     // every register was on disk before it was answered
	onlyInMemory                     // registers were in memory, and were not saved
	savedMemory                      // registers were in memory, and a clean stop has saved all of them
)

// meta is what a node stores about itself, each value under its own key.
type meta struct {
	disk         DiskID
	partitions   uint64
	mark         Mark
	confirmed    Mark // the last mark of the process that last called Confirm
	completeness completeness
	ceiling      int64 // memory mode: no register was written later than this time
	floorDue     bool  // floors were set by a clock that was not compared with other clocks since
}

const (
	metaDisk       = "disk"
	metaPartitions = "partitions"
	metaMark       = "mark"
	metaConfirmed  = "confirmed"
	metaLife       = "life"
	metaCeiling    = "ceiling"
	metaFloorDue   = "floor due"
)

// readMeta reads all values. In a new directory it draws an identity, which the caller writes. A value of the wrong size is
// an error: taken as absent, it would make the directory look new.
func readMeta(db *pebble.DB, partitions int) (m meta, err error) {
	missing := map[string]bool{}
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
		if missing[name] = errors.Is(gerr, pebble.ErrNotFound); !missing[name] {
			err = errors.Join(err, fmt.Errorf("read %s: %w", name, gerr))
		}
		return make([]byte, size)
	}
	m.disk = DiskID(read(metaDisk, len(m.disk)))
	m.partitions = binary.BigEndian.Uint64(read(metaPartitions, 8))
	m.mark = decodeMark(read(metaMark, markSize))
	m.confirmed = decodeMark(read(metaConfirmed, markSize))
	if missing[metaConfirmed] { // written by an older jeton, which knew no clusters
		m.confirmed = m.mark
	}
	m.completeness = completeness(read(metaLife, 1)[0])
	m.ceiling = int64(binary.BigEndian.Uint64(read(metaCeiling, 8)))
	m.floorDue = read(metaFloorDue, 1)[0] != 0
	if err != nil {
		return meta{}, err
	}
	if m.completeness > savedMemory {
		return meta{}, fmt.Errorf("read %s: %w", metaLife, register.ErrCorrupt)
	}
	if m.disk == (DiskID{}) {
		if _, err := rand.Read(m.disk[:]); err != nil {
			return meta{}, err
		}
		m.partitions = uint64(partitions)
	}
	if m.partitions != uint64(partitions) {
		return meta{}, fmt.Errorf("the data directory was made with %d partitions, not %d: the number cannot be changed", m.partitions, partitions)
	}
	return m, nil
}

// write adds all values to a batch.
func (m meta) write(b *pebble.Batch) error {
	floorDue := []byte{0}
	if m.floorDue {
		floorDue[0] = 1
	}
	for name, value := range map[string][]byte{
		metaDisk:       m.disk[:],
		metaPartitions: binary.BigEndian.AppendUint64(nil, m.partitions),
		metaMark:       m.mark.encode(),
		metaConfirmed:  m.confirmed.encode(),
		metaLife:       {byte(m.completeness)},
		metaCeiling:    binary.BigEndian.AppendUint64(nil, uint64(m.ceiling)),
		metaFloorDue:   floorDue,
	} {
		if err := b.Set(metaKey(name), value, nil); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
