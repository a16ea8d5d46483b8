package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// exported is what an export yields, by key; each key must come once.
func exported(t *testing.T, s *Store, p ring.Partition, since []byte) map[string]register.Register {
	t.Helper()
	got, _ := exportedSince(t, s, p, since)
	return got
}

func exportedSince(t *testing.T, s *Store, p ring.Partition, since []byte) (got map[string]register.Register, cursor []byte) {
	t.Helper()
	got = map[string]register.Register{}
	cursor, part, err := s.Export(t.Context(), p, since, func(piece []Exported) error {
		if len(piece) == 0 || len(piece) > exportStepLen {
			t.Errorf("a piece of %d registers", len(piece))
		}
		for _, x := range piece {
			if _, again := got[x.Key]; again || x.Limit != "demo" {
				t.Errorf("%s of limit %s comes again, or of another limit", x.Key, x.Limit)
			}
			got[x.Key] = x.Register
		}
		return nil
	})
	if err != nil {
		t.Fatalf("export: %v", err)
	}
	if part != s.Partition(p) {
		t.Errorf("the partition is %+v, and %+v is said", s.Partition(p), part)
	}
	return got, cursor
}

// An export yields every register once, as it was last written, wherever it is stored. With a cursor, it yields only those
// written since.
func TestExport(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			const count = 2*exportStepLen + 100
			keys := make([]string, count)
			for i := range keys {
				keys[i] = keyOf(i)
			}
			reserve := func(to int64, keys ...string) {
				t.Helper()
				for part := range slices.Chunk(keys, 200) {
					var batch []register.Reservation
					for _, key := range part {
						batch = append(batch, r.in(0, 1, key, to-1, to))
					}
					accepted(t, s, batch...)
				}
			}
			holds := func(got map[string]register.Register, to int64, keys ...string) {
				t.Helper()
				if len(got) != len(keys) {
					t.Errorf("%d registers, want %d", len(got), len(keys))
				}
				for _, key := range keys {
					if got[key].H != to {
						t.Errorf("%s is at %d, want %d", key, got[key].H-epoch, to-epoch)
					}
				}
			}
			reserve(epoch+1, keys...)
			accepted(t, s, r.in(1, 1, "elsewhere", epoch, epoch+1))
			keepHouse(t, s)
			reserve(epoch+2, keys[:count/2]...)
			reserve(epoch+2, keys[count/2:]...)
			all, cursor := exportedSince(t, s, 0, nil)
			holds(all, epoch+2, keys...)
			none, second := exportedSince(t, s, 0, cursor)
			holds(none, 0)
			reserve(epoch+3, keys[5:10]...)
			keepHouse(t, s)
			reserve(epoch+4, keys[5:10]...)
			must(t, s.Merge(t.Context(), 0, []Exported{{"new", "demo", register.Register{H: epoch + 4}}}))
			refused(t, s, register.Taken, r.in(0, 1, keys[0], epoch, epoch+1))
			changed := append([]string{"new"}, keys[5:10]...)
			if name == "memory" { // where they have not been settled in between
				holds(exported(t, s, 0, second), epoch+4, changed...)
			}
			since := map[string]register.Register{}
			_, _, err := s.Export(t.Context(), 0, cursor, func(piece []Exported) error {
				for _, x := range piece {
					since[x.Key] = since[x.Key].Join(x.Register)
				}
				return nil
			})
			must(t, err)
			holds(since, epoch+4, changed...)
			for what, cursor := range map[string][]byte{
				"another life's": func() []byte { c := slices.Clone(cursor); c[3]++; return c }(),
				"cut off":        cursor[:len(cursor)-1],
				"another number": func() []byte { c := slices.Clone(cursor); c[19]++; return c }(),
				"beyond its end": func() []byte { c := slices.Clone(cursor); c[20]++; return c }(),
			} {
				if got := exported(t, s, 0, cursor); len(got) != count+1 {
					t.Errorf("a cursor that is %s: %d registers, want all %d", what, len(got), count+1)
				}
			}
			if got := exported(t, s, 1, cursor); len(got) != 1 {
				t.Errorf("a cursor of another partition: %d registers, want the one that there is", len(got))
			}
			shut(t, s)
			s = r.open(t, mode)
			if got := exported(t, s, 0, cursor); len(got) != count+1 {
				t.Errorf("after a restart: %d registers, want all %d", len(got), count+1)
			}
		})
	}
}

// Changes of a partition during its export remove nothing from what the export yields.
func TestExportIsOfOneMoment(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			ctx := t.Context()
			there := others(0, 0, 3*exportStepLen)
			must(t, s.Merge(ctx, 0, there[:exportStepLen]))
			keepHouse(t, s)
			must(t, s.Merge(ctx, 0, there[exportStepLen:]))
			got := map[string]bool{}
			_, part, err := s.Export(ctx, 0, nil, func(piece []Exported) error {
				for _, x := range piece {
					got[x.Key] = true
				}
				switch len(got) {
				case exportStepLen:
					keepHouse(t, s)
				case 2 * exportStepLen:
					must(t, s.Drop(ctx, 0))
					must(t, s.Merge(ctx, 0, others(0, 10_000, 5)))
				}
				return nil
			})
			must(t, err)
			if len(got) != len(there) || part.Incomplete {
				t.Errorf("%d registers of %+v, want %d", len(got), part, len(there))
			}
		})
	}
}

// The caller may end an export early, and Close does not wait for it.
func TestExportEndsEarly(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			must(t, s.Merge(t.Context(), 0, others(0, 0, 3*exportStepLen)))
			keepHouse(t, s)
			enough := errors.New("enough")
			_, _, err := s.Export(t.Context(), 0, nil, func([]Exported) error { return enough })
			fails(t, err, enough)
			ctx, cancel := context.WithCancel(t.Context())
			_, _, err = s.Export(ctx, 0, nil, func([]Exported) error { cancel(); return nil })
			if err != nil { // it may have read the next piece first
				fails(t, err, context.Canceled)
			}
			_, _, err = s.Export(t.Context(), 0, nil, func([]Exported) error { shut(t, s); return nil })
			fails(t, err, ErrClosed)
			_, _, err = s.Export(t.Context(), 0, nil, nil)
			fails(t, err, ErrClosed)
		})
	}
}

// A change log is removed when it is too long, or when no export has read it for a while.
func TestChangeLogsEnd(t *testing.T) {
	var rs changeLogs
	rs.byPartition = make([]*changeLog, 2)
	fill := func(p ring.Partition, n int) {
		for range n {
			if of := rs.byPartition[p]; of != nil {
				rs.add(of, &memtable.Entry{})
			}
		}
	}
	rs.start(0)
	fill(0, maxLogged)
	if rs.byPartition[0] == nil || rs.total != maxLogged {
		t.Fatalf("it ended early: %d entries", rs.total)
	}
	rs.start(1)
	fill(1, 10)
	fill(0, 1)
	if rs.byPartition[0] != nil || rs.total != 10 {
		t.Errorf("it goes on, or %d entries count, want 10", rs.total)
	}
	rs.total = maxLoggedTotal
	if fill(1, 1); rs.byPartition[1] != nil || rs.total != maxLoggedTotal-10 {
		t.Errorf("it goes on though there are enough in all, %d", rs.total)
	}
	rs = changeLogs{byPartition: make([]*changeLog, 1)}
	first := rs.start(0)
	e := &memtable.Entry{}
	rs.add(first, e)
	rs.add(first, e)
	if len(first.entries) != 1 {
		t.Errorf("one entry was noted %d times", len(first.entries))
	}
	first.readTo = 1
	rs.add(first, e)
	if len(first.entries) != 2 {
		t.Errorf("an entry that was written after an export had asked was noted %d times, want 2", len(first.entries))
	}

	r := newRig(t, nil)
	s := r.open(t)
	must(t, s.Merge(t.Context(), 0, others(0, 0, 3)))
	_, cursor := exportedSince(t, s, 0, nil)
	for _, later := range []struct {
		by   int64
		want int
	}{{0, 0}, {changeLogIdle, 0}, {changeLogIdle, 0}, {changeLogIdle + 1, 3}} {
		r.clock.advance(time.Duration(later.by))
		must(t, onCommitter(s, func() error { s.dropIdleChangeLogs(r.clock.now()); return nil }))
		if got := exported(t, s, 0, cursor); len(got) != later.want {
			t.Errorf("%v later: %d registers, want %d", time.Duration(later.by), len(got), later.want)
		}
	}
}

// A merged register refuses taken line, and does not count as accepted here: its reservation cannot be repeated. Merging an
// older state changes nothing.
func TestMerge(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			here, there := r.open(t, mode), newLeakyRig(nil).open(t, mode)
			ctx := t.Context()
			mine, far := r.in(0, 1, "mine", epoch, epoch+9), r.in(0, 1, "far", epoch, epoch+9)
			accepted(t, here, mine, r.in(0, 1, "far", epoch, epoch+3))
			accepted(t, there, r.in(0, 1, "mine", epoch, epoch+5), far, r.in(0, 1, "new", epoch, epoch+5))
			var all []Exported
			_, _, err := there.Export(ctx, 0, nil, func(piece []Exported) error {
				all = append(all, piece...)
				return nil
			})
			must(t, err)
			for range 2 {
				must(t, here.Merge(ctx, 0, all))
				accepted(t, here, mine)
				refused(t, here, register.Taken, far)
				for key, want := range map[string]int64{"mine": 9, "far": 9, "new": 5} {
					if l := lookIn(t, here, 0, key); l.Register.H != epoch+want {
						t.Errorf("%s is at %d, want %d", key, l.Register.H-epoch, want)
					}
				}
			}
			r.clock.advance(time.Hour)
			sweepAll(t, here)
			must(t, here.Merge(ctx, 0, all)) // all of it is spent
			if got := exported(t, here, 0, nil); len(got) != 0 {
				t.Errorf("%d spent registers came back", len(got))
			}
			err = here.Merge(ctx, 0, []Exported{{}, {Key: fmt.Sprintf("%70000d", 1)}})
			if err == nil || err.Error() != "register 1 has a key of 70000 bytes, which is too long" {
				t.Errorf("a key that is too long: %v", err)
			}
		})
	}
}
