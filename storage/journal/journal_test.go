package journal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/files"
	"github.com/jeton-dev/jeton/storage/register"
)

// A fixture is a journal on a file system in memory, for tests that open it repeatedly.
type fixture struct{ fs *vfs.MemFS }

func newFixture() fixture { return fixture{vfs.NewMem()} }

func (s fixture) open(t *testing.T) *Journal {
	t.Helper()
	j, err := Open(s.fs, "/journal", [16]byte{1}, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// write appends a record for each text.
func (s fixture) write(t *testing.T, j *Journal, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := j.Append(append(make([]byte, RecordHead), text...)); err != nil {
			t.Fatal(err)
		}
	}
}

func (s fixture) begin(t *testing.T, j *Journal, number uint64, texts ...string) {
	t.Helper()
	if err := j.StartFile(number); err != nil {
		t.Fatal(err)
	}
	s.write(t, j, texts...)
}

// read is what a new life finds.
func (s fixture) read(t *testing.T) (texts []string, err error) {
	t.Helper()
	err = s.open(t).Replay(func(payload []byte) error {
		texts = append(texts, string(payload))
		return nil
	}, func() error { return nil })
	return texts, err
}

func (s fixture) holds(t *testing.T, want ...string) {
	t.Helper()
	if got, err := s.read(t); err != nil || !slices.Equal(got, want) {
		t.Errorf("the journal says %q, %v, want %q", got, err, want)
	}
}

func (s fixture) bytes(t *testing.T, j *Journal, number uint64) []byte {
	t.Helper()
	text, err := files.Read(s.fs, j.path(number))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func (s fixture) put(t *testing.T, path string, text []byte) {
	t.Helper()
	f, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Clone(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestJournalReplaysInOrder(t *testing.T) {
	s := newFixture()
	j := s.open(t)
	s.holds(t)
	s.begin(t, j, 0x9, "a", "b")
	s.begin(t, j, 0x10) // in hexadecimal, or it would come before
	s.begin(t, j, 1<<32, "c", "")
	s.holds(t, "a", "b", "c", "")
}

// A file that is written again says nothing of what it said before, however short its new text.
func TestJournalWritesFilesAgain(t *testing.T) {
	s := newFixture()
	j := s.open(t)
	for number := uint64(1); number < 20; number++ {
		s.begin(t, j, number, "a", fmt.Sprint("this is the text of file ", number))
		if err := j.Release(number, 1); err != nil {
			t.Fatal(err)
		}
		want := []string{"a", fmt.Sprint("this is the text of file ", number)}
		if number > 1 { // a spare one, and what it says is older
			want = append([]string{"a", fmt.Sprint("this is the text of file ", number-1)}, want...)
		}
		s.holds(t, want...)
	}
	s.begin(t, j, 20, "b")
	s.holds(t, "a", "this is the text of file 19", "b")
	if err := j.Release(20, 0); err != nil {
		t.Fatal(err)
	}
	s.holds(t, "b")
	if names, err := s.fs.List("/journal"); err != nil || len(names) != 1 {
		t.Errorf("%q, %v: want a single file", names, err)
	}
}

// What was torn by a crash is the end of a file; what was damaged later is an error.
func TestJournalTellsTornFromDamaged(t *testing.T) {
	s := newFixture()
	j := s.open(t)
	s.begin(t, j, 7, "one", "two", "three")
	ends := []int{RecordHead + 3, 2*RecordHead + 6, 3*RecordHead + 11}
	path, whole := j.path(7), s.bytes(t, j, 7)[:ends[2]]
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	texts := []string{"one", "two", "three"}
	for cut := range whole {
		s.put(t, path, whole[:cut])
		left := 0
		for left < len(ends) && ends[left] <= cut {
			left++
		}
		s.holds(t, texts[:left]...)
	}
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x20
		s.put(t, path, damaged)
		if at >= ends[1] { // in the last record, where it may have been torn
			s.holds(t, texts[:2]...)
			continue
		}
		if _, err := s.read(t); !errors.Is(err, register.ErrCorrupt) {
			t.Fatalf("byte %d is damaged: %v", at, err)
		}
	}
}

// Before another file is begun, all of a file has been synced: the end of an older one cannot have been torn by a crash.
func TestJournalTakesNoTornEndOfAnOlderFile(t *testing.T) {
	s := newFixture()
	j := s.open(t)
	s.begin(t, j, 7, "one", "two")
	s.begin(t, j, 8, "three")
	path, whole := j.path(7), s.bytes(t, j, 7)
	for at := RecordHead + 3 + 8; at < 2*RecordHead+6; at++ { // behind the mark of the second record
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x20
		s.put(t, path, damaged)
		if texts, err := s.read(t); !errors.Is(err, register.ErrCorrupt) {
			t.Fatalf("byte %d is damaged: %q, %v", at, texts, err)
		}
	}
}

// FuzzJournalFile reads any bytes as a file: what is found in them is what was written there.
func FuzzJournalFile(f *testing.F) {
	record := func(text string) []byte {
		s := newFixture()
		j, err := Open(s.fs, "/journal", [16]byte{1}, 0)
		if err == nil {
			err = j.StartFile(3)
		}
		if err == nil {
			err = j.Append(append(make([]byte, RecordHead), text...))
		}
		if err != nil {
			f.Fatal(err)
		}
		got, err := files.Read(s.fs, j.path(3))
		if err != nil {
			f.Fatal(err)
		}
		return []byte(got)
	}
	f.Add([]byte{})
	f.Add(record("one"))
	f.Add(append(record("one"), record("two")...))
	f.Add(append(append(record("one"), 0), record("two")...))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newFixture()
		j := s.open(t)
		s.put(t, j.path(3), text)
		var again []byte
		err := s.open(t).Replay(func(payload []byte) error {
			again = append(again, record(string(payload))...)
			return nil
		}, func() error { return nil })
		if err != nil && !errors.Is(err, register.ErrCorrupt) {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, again) {
			t.Errorf("%q was read from %q", again, text)
		}
		if at := s.open(t).find(text[len(again):], 3); (at >= 0) != (err != nil) {
			t.Errorf("a whole record at %d behind the end, and the error is %v", at, err)
		}
	})
}
