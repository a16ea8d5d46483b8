package storage

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

	"github.com/jeton-dev/jeton/storage/register"
)

// A journal is where registers become durable: every commit appends one record, with one write and one fsync, whatever
// the number of registers in it. A file begins where the last one ends, and is dropped when all that it says is in
// Pebble. Dropped files are written again, because an fsync is cheaper where the file has its size already.
//
// A file is named after its number, in hexadecimal, and is a sequence of records:
//
//	┌────────────────┬───────────────┬──────────────────────┬─────────┐
//	│ mark of file   │ length        │ CRC-32C of the rest  │ payload │
//	│ 8, big endian  │ 4, big endian │ 4, big endian        │ length  │
//	└────────────────┴───────────────┴──────────────────────┴─────────┘
//
// The mark is the number of the file, and no number is ever used twice, so what a file said in an earlier use is not
// taken for its own. Each record is synced before the next one is written: after a crash only the last one of the last
// file may be torn. Any other that is not whole has been damaged later, and the directory cannot be opened. Marks and
// check sums are mixed with the identity of the disk, which no caller knows: a key cannot be made to look like a record.
type journal struct {
	fs  vfs.FS
	dir string
	cap int64  // bytes to lay out for a file before it is written to
	mix uint64 // which is in every mark
	sum uint32 // with which check sums begin

	file   vfs.File
	number uint64
	size   int64
	older  []uint64 // files that are still needed, oldest first
	spare  []uint64 // files that are not, oldest first, all before the older ones
}

const recordHead = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal prepares the journal in dir, which it makes. Replay and then begin must follow.
func openJournal(fs vfs.FS, dir string, disk DiskID, size int64) (*journal, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := syncDir(fs, fs.PathDir(dir)); err != nil {
		return nil, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	secret := sha256.Sum256(disk[:])
	j := &journal{
		fs: fs, dir: dir, cap: size,
		mix: binary.BigEndian.Uint64(secret[:]), sum: binary.BigEndian.Uint32(secret[8:]),
	}
	for _, name := range names {
		hex, isFile := strings.CutSuffix(name, journalSuffix)
		if n, err := strconv.ParseUint(hex, 16, 64); isFile && err == nil {
			j.older = append(j.older, n)
		}
	}
	slices.Sort(j.older)
	return j, nil
}

const journalSuffix = ".log"

func (j *journal) path(number uint64) string {
	return j.fs.PathJoin(j.dir, fmt.Sprintf("%016x%s", number, journalSuffix))
}

// replay calls f with the payload of every record, in the order in which they were written, and done after each file. f
// must not keep it.
func (j *journal) replay(f func(payload []byte) error, done func() error) error {
	for i, number := range j.older {
		err := j.replayFile(number, i+1 == len(j.older), f)
		if err == nil {
			err = done()
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", j.path(number), err)
		}
	}
	return nil
}

func (j *journal) replayFile(number uint64, last bool, f func(payload []byte) error) error {
	text, err := readFile(j.fs, j.path(number))
	if err != nil {
		return err
	}
	rest := []byte(text)
	for {
		payload, size := j.parse(rest, number)
		if size == 0 {
			break
		}
		if err := f(payload); err != nil {
			return err
		}
		rest = rest[size:]
	}
	torn := j.marked(rest, number)
	if torn && !last || j.find(rest, number) >= 0 {
		return fmt.Errorf("%w: it is damaged at byte %d, and went on after that", register.ErrCorrupt, len(text)-len(rest))
	}
	return nil
}

// parse reads the record at the start of text; the size is 0 if there is none, or not a whole one.
func (j *journal) parse(text []byte, number uint64) (payload []byte, size int) {
	if len(text) < recordHead || !j.marked(text, number) {
		return nil, 0
	}
	length := int64(binary.BigEndian.Uint32(text[8:]))
	if length > int64(len(text)-recordHead) {
		return nil, 0
	}
	end := recordHead + int(length)
	if binary.BigEndian.Uint32(text[12:]) != j.checkSum(text[:end]) {
		return nil, 0
	}
	return text[recordHead:end], end
}

func (j *journal) mark(number uint64) uint64 { return number ^ j.mix }

// marked says whether text begins with the mark of a file.
func (j *journal) marked(text []byte, number uint64) bool {
	return len(text) >= 8 && binary.BigEndian.Uint64(text) == j.mark(number)
}

// checkSum is that of a whole record.
func (j *journal) checkSum(record []byte) uint32 {
	return crc32.Update(crc32.Update(j.sum, castagnoli, record[:12]), castagnoli, record[recordHead:])
}

// find is where in text the first whole record begins, or -1.
func (j *journal) find(text []byte, number uint64) int {
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

// begin starts a file, which must have a higher number than all before, and goes on in it.
func (j *journal) begin(number uint64) (err error) {
	if err := j.end(); err != nil {
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
	return syncDir(j.fs, j.dir)
}

// create makes a file that has its size and its place on the disk already: an fsync has nothing to do then but to write
// what was appended.
func (j *journal) create(number uint64) (vfs.File, error) {
	blank := j.fs.PathJoin(j.dir, blankFile)
	f, err := j.fs.Create(blank, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, min(j.cap, 1<<20))
	for size := int64(0); size < j.cap && err == nil; size += int64(len(zeros)) {
		_, err = f.Write(zeros)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return j.fs.ReuseForWrite(blank, j.path(number), vfs.WriteCategoryUnspecified)
}

// blankFile is what a new file is called until it is written to. One that was left behind is written anew.
const blankFile = "blank"

// end closes the file that is written.
func (j *journal) end() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	j.older = append(j.older, j.number)
	return err
}

// append writes a record and syncs it. The payload stands in record from recordHead on; what is before it is
// overwritten.
func (j *journal) append(record []byte) error {
	if int64(len(record)-recordHead) > maxPayload {
		return fmt.Errorf("a record of %d bytes is too large", len(record))
	}
	binary.BigEndian.PutUint64(record, j.mark(j.number))
	binary.BigEndian.PutUint32(record[8:], uint32(len(record)-recordHead))
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

// maxPayload is what the length of a record can say.
const maxPayload = 1<<32 - 1

// drop says that the files before that number are not needed any more. At most so many spare ones are kept to be
// written again. Until then they are replayed like the others, which is harmless as long as no file is missing between
// them and those that are needed: so the oldest goes first, and for good before the next one goes.
func (j *journal) drop(before uint64, spare int) error {
	dropped := 0
	for dropped < len(j.older) && j.older[dropped] < before {
		dropped++
	}
	j.spare = append(j.spare, j.older[:dropped]...)
	j.older = slices.Delete(j.older, 0, dropped)
	for len(j.spare) > spare {
		if err := j.fs.Remove(j.path(j.spare[0])); err != nil {
			return err
		}
		j.spare = slices.Delete(j.spare, 0, 1)
		if err := syncDir(j.fs, j.dir); err != nil {
			return err
		}
	}
	return nil
}
