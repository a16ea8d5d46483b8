// Package journal is the write-ahead log of the registers: an append-only sequence of records in numbered files. Every
// commit of a store appends one record, with one write and one fsync, however many registers it holds.
//
// A file begins where the last one ends. The caller releases it when all that it says is in Pebble. Released files are
// written again, because an fsync is cheaper where the file has its size already.
//
// A file is named after its number, in hexadecimal, and is a sequence of records:
//
//	┌────────────────┬───────────────┬──────────────────────┬─────────┐
//	│ file mark      │ length        │ CRC-32C of the rest  │ payload │
//	│ 8, big endian  │ 4, big endian │ 4, big endian        │ length  │
//	└────────────────┴───────────────┴──────────────────────┴─────────┘
//
// The file mark is the number of the file. No number is used twice, so a record from an earlier use of the file is never
// taken for one of this use. Each record is synced before the next one is written: after a crash only the last record of
// the last file may be torn. Any other incomplete record is damage, and the journal cannot be replayed. File marks and
// checksums are mixed with the identity of the disk, which no client knows: no key can be chosen to look like a record.
//
// Start with [Open].
package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/files"
	"github.com/jeton-dev/jeton/storage/register"
)

// A Journal is used by one goroutine at a time.
type Journal struct {
	fs       vfs.FS
	dir      string
	fileSize int64  // bytes allocated for a file before it is written to
	markMix  uint64 // is mixed into every file mark
	sumSeed  uint32 // every checksum starts with it

	file   vfs.File // the one that is written, or nil
	number uint64   // of file
	size   int64    // of what was written to file
	older  []uint64 // files that are still needed, oldest first
	spare  []uint64 // released files, oldest first, all before the older ones
}

// RecordHead is the size of the header of a record, in bytes.
const RecordHead = 16

// maxPayload is the largest length that the header of a record can hold.
const maxPayload = 1<<32 - 1

const fileSuffix = ".log"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Open opens the journal in dir, which it creates. id is the identity of the disk, and fileSize how many bytes to allocate
// for a new file. Replay and then StartFile must follow.
func Open(fs vfs.FS, dir string, id [16]byte, fileSize int64) (*Journal, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := files.SyncDir(fs, fs.PathDir(dir)); err != nil {
		return nil, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	secret := sha256.Sum256(id[:])
	j := &Journal{
		fs: fs, dir: dir, fileSize: fileSize,
		markMix: binary.BigEndian.Uint64(secret[:]), sumSeed: binary.BigEndian.Uint32(secret[8:]),
	}
	for _, name := range names {
		hex, isFile := strings.CutSuffix(name, fileSuffix)
		if n, err := strconv.ParseUint(hex, 16, 64); isFile && err == nil {
			j.older = append(j.older, n)
		}
	}
	slices.Sort(j.older)
	return j, nil
}

// Number is the number of the file that is written.
func (j *Journal) Number() uint64 { return j.number }

// Size is how many bytes were written to that file.
func (j *Journal) Size() int64 { return j.size }

// Fresh reports whether there is a file to write to and nothing was written to it.
func (j *Journal) Fresh() bool { return j.file != nil && j.size == 0 }

func (j *Journal) path(number uint64) string {
	return j.fs.PathJoin(j.dir, fmt.Sprintf("%016x%s", number, fileSuffix))
}

// Replay calls record with the payload of every record, in the order in which they were written, and fileDone after each
// file. record must not keep the payload.
func (j *Journal) Replay(record func(payload []byte) error, fileDone func() error) error {
	for i, number := range j.older {
		err := j.replayFile(number, i+1 == len(j.older), record)
		if err == nil {
			err = fileDone()
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", j.path(number), err)
		}
	}
	return nil
}

func (j *Journal) replayFile(number uint64, last bool, record func(payload []byte) error) error {
	text, err := files.Read(j.fs, j.path(number))
	if err != nil {
		return err
	}
	rest := []byte(text)
	for {
		payload, size := j.parse(rest, number)
		if size == 0 {
			break
		}
		if err := record(payload); err != nil {
			return err
		}
		rest = rest[size:]
	}
	torn := j.hasMark(rest, number)
	if torn && !last || j.find(rest, number) >= 0 {
		return fmt.Errorf("%w: it is damaged at byte %d, and whole records follow", register.ErrCorrupt, len(text)-len(rest))
	}
	return nil
}

// parse reads the record at the start of text; the size is 0 if there is none, or an incomplete one.
func (j *Journal) parse(text []byte, number uint64) (payload []byte, size int) {
	if len(text) < RecordHead || !j.hasMark(text, number) {
		return nil, 0
	}
	length := int64(binary.BigEndian.Uint32(text[8:]))
	if length > int64(len(text)-RecordHead) {
		return nil, 0
	}
	end := RecordHead + int(length)
	if binary.BigEndian.Uint32(text[12:]) != j.checkSum(text[:end]) {
		return nil, 0
	}
	return text[RecordHead:end], end
}

func (j *Journal) mark(number uint64) uint64 { return number ^ j.markMix }

// hasMark reports whether text begins with the mark of a file.
func (j *Journal) hasMark(text []byte, number uint64) bool {
	return len(text) >= 8 && binary.BigEndian.Uint64(text) == j.mark(number)
}

// checkSum is that of a whole record.
func (j *Journal) checkSum(record []byte) uint32 {
	return crc32.Update(crc32.Update(j.sumSeed, castagnoli, record[:12]), castagnoli, record[RecordHead:])
}

// find is where in text the first whole record begins, or -1.
func (j *Journal) find(text []byte, number uint64) int {
	mark := binary.BigEndian.AppendUint64(nil, j.mark(number))
	for from := 0; ; from++ {
		i := bytes.Index(text[from:], mark)
		if i < 0 {
			return -1
		}
		from += i
		if _, size := j.parse(text[from:], number); size > 0 {
			return from
		}
	}
}

// StartFile closes the present file and continues in a new one. The number must be higher than all before.
func (j *Journal) StartFile(number uint64) (err error) {
	if err := j.Close(); err != nil {
		return err
	}
	if len(j.spare) > 0 {
		j.file, err = j.fs.ReuseForWrite(j.path(j.spare[0]), j.path(number), vfs.WriteCategoryUnspecified)
		j.spare = slices.Delete(j.spare, 0, 1)
	} else {
		j.file, err = j.create(number)
	}
	if err != nil {
		return err
	}
	j.number, j.size = number, 0
	return files.SyncDir(j.fs, j.dir)
}

// create allocates a file of fileSize bytes: an fsync then writes the appended data only, and no metadata.
func (j *Journal) create(number uint64) (vfs.File, error) {
	blank := j.fs.PathJoin(j.dir, blankFile)
	f, err := j.fs.Create(blank, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, min(j.fileSize, 1<<20))
	for size := int64(0); size < j.fileSize && err == nil; size += int64(len(zeros)) {
		_, err = f.Write(zeros)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return j.fs.ReuseForWrite(blank, j.path(number), vfs.WriteCategoryUnspecified)
}

// blankFile is the name of a new file until it is written to. One that a crash left behind is overwritten.
const blankFile = "blank"

// Close closes the present file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	j.older = append(j.older, j.number)
	return err
}

// Append writes a record and syncs it. The payload stands in record from RecordHead on; Append fills in what is before.
func (j *Journal) Append(record []byte) error {
	if int64(len(record)-RecordHead) > maxPayload {
		return fmt.Errorf("a record of %d bytes is too large", len(record))
	}
	binary.BigEndian.PutUint64(record, j.mark(j.number))
	binary.BigEndian.PutUint32(record[8:], uint32(len(record)-RecordHead))
	binary.BigEndian.PutUint32(record[12:], j.checkSum(record))
	n, err := j.file.Write(record)
	if err == nil && n < len(record) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = j.file.SyncData()
	}
	j.size += int64(n)
	return err
}

// Release says that the files with lower numbers are not needed any more. At most maxSpare of them are kept, to be written
// again. Until then Replay reads them like the others, which is harmless as long as no file is missing between them and
// the needed ones: so the oldest is removed first, durably before the next one.
func (j *Journal) Release(before uint64, maxSpare int) error {
	released := 0
	for released < len(j.older) && j.older[released] < before {
		released++
	}
	j.spare = append(j.spare, j.older[:released]...)
	j.older = slices.Delete(j.older, 0, released)
	for len(j.spare) > maxSpare {
		if err := j.fs.Remove(j.path(j.spare[0])); err != nil {
			return err
		}
		j.spare = slices.Delete(j.spare, 0, 1)
		if err := files.SyncDir(j.fs, j.dir); err != nil {
			return err
		}
	}
	return nil
}
