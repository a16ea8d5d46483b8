package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/storage/register"
)

// A Mark tells how far a data directory has come. Marks only rise, so a lower one betrays an old copy.
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

// meta is what a node remembers about itself, each value under a key of its own.
type meta struct {
	disk       DiskID
	partitions uint64
	mark       Mark
	confirmed  Mark // the mark of the last life in which this disk was found to be no old copy
	life       life
	ceiling    int64 // memory mode: no register was written at a later time than this
	floorDue   bool  // floors were set by a clock that has not been compared with others since
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

// readMeta reads everything; a new directory gets an identity, which the caller writes. A value that is there is whole:
// a mark or a life read as absent would pass for those of a new directory.
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
	if missing[metaConfirmed] { // by an older jeton, which was in no cluster
		m.confirmed = m.mark
	}
	m.life = life(read(metaLife, 1)[0])
	m.ceiling = int64(binary.BigEndian.Uint64(read(metaCeiling, 8)))
	m.floorDue = read(metaFloorDue, 1)[0] != 0
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
	floorDue := []byte{0}
	if m.floorDue {
		floorDue[0] = 1
	}
	for name, value := range map[string][]byte{
		metaDisk:       m.disk[:],
		metaPartitions: binary.BigEndian.AppendUint64(nil, m.partitions),
		metaMark:       m.mark.encode(),
		metaConfirmed:  m.confirmed.encode(),
		metaLife:       {byte(m.life)},
		metaCeiling:    binary.BigEndian.AppendUint64(nil, uint64(m.ceiling)),
		metaFloorDue:   floorDue,
	} {
		if err := b.Set(metaKey(name), value, nil); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
