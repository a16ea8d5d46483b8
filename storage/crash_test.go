package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/disktest"
	"github.com/jeton-dev/jeton/storage/register"
)

// The crash tests cut the power before every operation that changes the disk (with the race detector, before one in stride),
// keep none, all or a random half of what was not synced, and open what is left. They stop at the first copy of the disk that
// breaks a promise.

// A witness records what was asked of a Store and what it answered.
type witness struct {
	mu       sync.Mutex
	asked    map[string]register.Reservation // the last one of each key
	answered map[string]register.Reservation // the last one of each key that was accepted
	opened   int                             // Opens that have returned
	disk     DiskID                          // of the first of them
	stopped  bool                            // cleanly, and not opened again
	states   map[ring.Partition]*states
	gone     map[string]ring.Partition // keys whose registers were dropped
}

// states are what a partition was asked to become, one after the other, and how much of that was answered.
type states struct {
	asked    []state
	answered int
}

// A state is what is asked for of a partition's state.
type state struct {
	epoch, installed   uint64
	sealed, incomplete bool
}

func stateOf(p register.Partition) state { return state{p.Epoch, p.Installed, p.Sealed, p.Incomplete} }

func newWitness() *witness {
	w := &witness{
		asked: map[string]register.Reservation{}, answered: map[string]register.Reservation{},
		states: map[ring.Partition]*states{}, gone: map[string]ring.Partition{},
	}
	for p := range ring.Partition(partitions) {
		w.states[p] = &states{asked: []state{{sealed: true}}}
	}
	return w
}

// become calls ask, which must change the states of these partitions as change does.
func (w *witness) become(change func(*state), ask func() error, ps ...ring.Partition) error {
	w.note(func() {
		for _, p := range ps {
			of := w.states[p]
			next := of.asked[len(of.asked)-1]
			change(&next)
			of.asked = append(of.asked, next)
		}
	})
	err := ask()
	if err == nil {
		w.note(func() {
			for _, p := range ps {
				w.states[p].answered = len(w.states[p].asked) - 1
			}
		})
	}
	return err
}

// found founds a Store, if it is not founded.
func (w *witness) found(t *testing.T, s *Store) error {
	t.Helper()
	begin := func(st *state) {
		if *st == (state{sealed: true}) {
			*st = state{epoch: ring.FirstEpoch}
		}
	}
	return w.become(begin, func() error { return s.Found(t.Context()) }, 0, 1, 2, 3)
}

// open opens a Store, and records that.
func (w *witness) open(r *rig, changes ...func(*Config)) (*Store, error) {
	w.note(func() { w.stopped = false })
	s, err := Open(r.with(changes...))
	if err != nil {
		return nil, err
	}
	w.note(func() { w.opened, w.disk = w.opened+1, s.Disk() })
	return s, nil
}

// shut closes a Store, and records that.
func (w *witness) shut(s *Store) error {
	err := s.Close()
	w.note(func() { w.stopped = err == nil })
	return err
}

func (w *witness) note(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

// ask reserves rs, and records the answers when they arrive. The channel gets the error, or nil.
func (w *witness) ask(t *testing.T, s *Store, rs ...register.Reservation) <-chan error {
	t.Helper()
	w.note(func() {
		for _, m := range rs {
			w.asked[m.Key] = m
		}
	})
	var calls atomic.Int64
	done := make(chan error, 1)
	s.Reserve(rs, func(as []register.Answer, err error) {
		if calls.Add(1) > 1 {
			t.Error("an answer was given twice")
			return
		}
		defer func() { done <- err }()
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, a := range as {
			if a.Verdict != register.Accepted {
				t.Errorf("reserve %s: %+v", rs[i].Key, a)
				return
			}
			w.answered[rs[i].Key] = rs[i]
		}
	})
	return done
}

// last is how far the key's line has been reserved.
func (w *witness) last(key string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered[key].To
}

// A wreck is a disk after a power cut, with what had been answered by then.
type wreck struct {
	where    string // the operation before which it was cut, and what was kept
	fs       *vfs.MemFS
	now      int64
	asked    map[string]register.Reservation
	answered map[string]register.Reservation
	opened   int
	disk     DiskID
	stopped  bool
	states   map[ring.Partition]states
	gone     map[string]ring.Partition
}

// wreck is a copy of what w has recorded.
func (w *witness) wreck(now int64) (left wreck) {
	w.note(func() {
		left = wreck{
			now: now, asked: maps.Clone(w.asked), answered: maps.Clone(w.answered),
			opened: w.opened, disk: w.disk, stopped: w.stopped,
			states: map[ring.Partition]states{}, gone: maps.Clone(w.gone),
		}
		for p, of := range w.states {
			left.states[p] = *of
		}
	})
	return left
}

// A breaker cuts the power of a disk before each of its operations and has the wrecks examined.
type breaker struct {
	disk    *disktest.Disk
	clock   *fakeClock
	witness *witness
	examine func(wreck)   // in a goroutine of its own
	seats   chan struct{} // one for each wreck that is examined at a time
	wait    sync.WaitGroup

	mu         sync.Mutex // one operation is cut at a time
	operations int
	cuts       int
	first      int // the first operation that is cut; then each that is stride further
	over       bool
	tables     bool // a memtable has been flushed
}

// kept are the percentages of unsynced data that a power cut leaves.
var kept = []int{0, 50, 100}

// theEnd is the kind of operation that comes after the last one.
const theEnd = "the end"

// step cuts the power, in a copy, and then lets o happen.
func (b *breaker) step(o disktest.Operation) error {
	if o.Kind != "close" && o.Kind != "lock" { // these change nothing that a power cut would leave
		b.cut(o)
	}
	return o.Do()
}

// cut takes wrecks as of now. What was answered is noted first: it must be in the wreck, which is taken after.
func (b *breaker) cut(before disktest.Operation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.operations++
	b.tables = b.tables || strings.HasSuffix(before.Path, ".sst")
	if before.Kind != theEnd && b.operations%stride != b.first {
		return
	}
	b.cuts++
	known := b.witness.wreck(b.clock.now())
	for _, percent := range kept {
		seed := rand.Uint64()
		w := known
		w.where = fmt.Sprintf("cut before operation %d, %v, keeping %d %% of what was not synced (seed %d)", b.operations, before, percent, seed)
		w.fs = b.disk.CutPower(percent, seed)
		b.seats <- struct{}{}
		b.wait.Go(func() {
			defer func() { <-b.seats }()
			b.examine(w)
		})
	}
}

// finish waits for the wrecks that are being examined.
func (b *breaker) finish() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.wait.Wait()
}

// crashEverywhere runs a story on a disk whose power is cut before each operation, and examines every wreck.
func crashEverywhere(t *testing.T, live story, examine func(*testing.T, *rig, wreck) error) {
	t.Helper()
	b := &breaker{witness: newWitness(), seats: make(chan struct{}, runtime.GOMAXPROCS(0)), first: rand.IntN(stride)}
	b.disk = &disktest.Disk{FS: vfs.NewCrashableMem(), Step: b.step}
	r := newRig(t, b.disk)
	b.clock = r.clock
	b.examine = func(w wreck) {
		if t.Failed() {
			return
		}
		if err := examine(t, r, w); err != nil {
			t.Errorf("%s: %v", w.where, err)
		}
	}
	defer b.finish()
	if err := live(t, r, b.witness); err != nil {
		t.Fatal(err)
	}
	b.cut(disktest.Operation{Kind: theEnd})
	b.finish()
	t.Logf("%d operations, %d wrecks", b.operations, b.cuts*len(kept))
	if b.operations < 100 || !b.tables {
		t.Error("the story does not make use of the disk")
	}
}

// raise has four concurrent callers reserve further on each of their keys, in batches, until one gets an error.
func raise(t *testing.T, r *rig, w *witness, s *Store, rounds int) error {
	t.Helper()
	const callers, keys = 4, 6
	for range rounds {
		var waiting []<-chan error
		for caller := range callers {
			batch := make([]register.Reservation, keys)
			for i := range batch {
				key := keyOf(caller*keys + i)
				from := max(w.last(key), r.clock.now())
				batch[i] = r.segment(key, from, from+int64(time.Millisecond))
				batch[i].Ledger = bytes.Repeat([]byte{byte(batch[i].Seq)}, 800) // some weight
			}
			waiting = append(waiting, w.ask(t, s, batch...))
		}
		var failed error
		for _, done := range waiting {
			select {
			case err := <-done:
				failed = errors.Join(failed, err)
			case <-time.After(patience):
				t.Fatalf("a batch was not answered within %v\n%s", patience, stacks())
			}
		}
		if failed != nil {
			return failed
		}
		r.clock.advance(time.Second)
	}
	return nil
}

// A story is a sequence of calls of a Store, up to the first error.
type story func(t *testing.T, r *rig, w *witness) error

// oneLife opens a Store, fills some memtables, sweeps everything, asks for more, and stops.
func oneLife(changes ...func(*Config)) story {
	return func(t *testing.T, r *rig, w *witness) error {
		t.Helper()
		s, err := w.open(r, changes...)
		if err != nil {
			return err
		}
		if err := w.found(t, s); err != nil {
			return failed(t, s, err)
		}
		if err := raise(t, r, w, s, 4); err != nil {
			return failed(t, s, err)
		}
		r.clock.advance(5 * time.Minute)
		for range partitions {
			keepHouse(t, s)
		}
		if err := raise(t, r, w, s, 1); err != nil {
			return failed(t, s, err)
		}
		if err := w.shut(s); err != nil {
			return failed(t, s, err)
		}
		return nil
	}
}

// twice runs a story two times on the same disk.
func twice(live story) story {
	return func(t *testing.T, r *rig, w *witness) error {
		t.Helper()
		if err := live(t, r, w); err != nil {
			return err
		}
		return live(t, r, w)
	}
}

func TestCrashFsync(t *testing.T) {
	crashEverywhere(t, twice(oneLife()), examineFsync)
}

// examineFsync holds a wreck of fsync mode against the promise that what was answered stays.
func examineFsync(t *testing.T, r *rig, w wreck) error {
	t.Helper()
	s, _, err := w.open(r, 0)
	if err != nil {
		return err
	}
	defer shut(t, s)
	var repetitions []register.Reservation
	for key, m := range w.answered {
		l := lookAt(t, s, key)
		if l.Partition.Floored {
			return fmt.Errorf("%s: a floor though every answer had been synced", key)
		}
		if err := w.kept(m, l); err != nil {
			return err
		}
		if w.repeatable(m, l) {
			repetitions = append(repetitions, m)
		}
	}
	if err := w.accepts(t, s, repetitions); err != nil {
		return err
	}
	if err := w.refuses(t, s, w.overlaps(0)); err != nil {
		return err
	}
	return w.accepts(t, s, w.fresh(s, w.now))
}

func TestCrashMemory(t *testing.T) {
	var floored, exact atomic.Int64
	defer func() {
		t.Logf("%d wrecks with a floor, %d exact", floored.Load(), exact.Load())
		if floored.Load() == 0 || exact.Load() == 0 {
			t.Error("there should be both")
		}
	}()
	crashEverywhere(t, twice(oneLife(inMemory)), func(t *testing.T, r *rig, w wreck) error {
		t.Helper()
		floor, err := examineMemory(t, r, w)
		if len(w.answered) > 0 && floor {
			floored.Add(1)
		} else if len(w.answered) > 0 {
			exact.Add(1)
		}
		return err
	})
}

// examineMemory holds a wreck of memory mode against the promise that a restart is exact or stricter, never looser. The
// clock is set back, which must not matter. It says whether there was a floor.
func examineMemory(t *testing.T, r *rig, w wreck) (floored bool, err error) {
	t.Helper()
	const back = 5 * time.Second
	s, clock, err := w.open(r, back, inMemory)
	if err != nil {
		return false, err
	}
	defer shut(t, s)
	floored = s.partitions[0].Floored
	if floored && w.stopped {
		return floored, errors.New("a floor after a clean stop")
	}
	var repetitions []register.Reservation
	for key, m := range w.answered {
		l := lookAt(t, s, key)
		if l.Partition.Floored != floored {
			return floored, fmt.Errorf("partition %d and partition 0 differ in having a floor", m.Partition)
		}
		if floored {
			l.Exists = true // it need not be
		} else if w.repeatable(m, l) {
			repetitions = append(repetitions, m)
		}
		if err := w.kept(m, l); err != nil {
			return floored, err
		}
	}
	if err := w.accepts(t, s, repetitions); err != nil {
		return floored, err
	}
	if err := w.refuses(t, s, w.overlaps(back)); err != nil {
		return floored, err
	}
	// A floor fades: once the clock has passed it, there is free line.
	clock.ns.Store(max(clock.now(), s.partitions[0].Floor))
	return floored, w.accepts(t, s, w.fresh(s, clock.now()))
}

// open opens a wreck with a clock that has been set back.
func (w wreck) open(r *rig, back time.Duration, changes ...func(*Config)) (*Store, *fakeClock, error) {
	clock := &fakeClock{}
	clock.ns.Store(w.now - int64(back))
	cfg := r.with(append(changes, onDisk(w.fs), func(c *Config) { c.Now = clock.now })...)
	s, err := Open(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be opened: %w", err)
	}
	switch {
	case w.opened > 0 && s.Disk() != w.disk:
		err = fmt.Errorf("the disk was %v, and calls itself %v", w.disk, s.Disk())
	case s.meta.mark.Boot <= uint64(w.opened):
		err = fmt.Errorf("boot %d after %d boots", s.meta.mark.Boot, w.opened)
	}
	for p, of := range w.states {
		if now := stateOf(s.Partition(p)); !slices.Contains(of.asked[of.answered:], now) && err == nil {
			err = fmt.Errorf("partition %d is %+v, want one of %+v", p, now, of.asked[of.answered:])
		}
	}
	if err == nil {
		err = s.Found(context.Background())
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, clock, nil
}

// kept says what is wrong with the register of m, which was answered.
func (w wreck) kept(m register.Reservation, l Looked) error {
	if spent := m.To < l.Partition.Horizon; !l.Exists && !spent {
		return fmt.Errorf("%s was answered up to %d ms, and its register is gone", m.Key, (m.To-epoch)/1e6)
	}
	if free := l.Partition.Free(l.Register, m.Generation, m.Reach, register.DefaultBounds()); free < m.To {
		return fmt.Errorf("%s was answered up to %d ms, and is free from %d ms on", m.Key, (m.To-epoch)/1e6, (free-epoch)/1e6)
	}
	return nil
}

// repeatable says whether m, which was answered, may be asked once more: unless its owner has gone on since, or it is
// spent and swept.
func (w wreck) repeatable(m register.Reservation, l Looked) bool {
	return w.asked[m.Key].Seq == m.Seq && (l.Exists || m.To >= l.Partition.Horizon)
}

// overlaps are reservations of line that was granted to another owner.
func (w wreck) overlaps(back time.Duration) (rs []register.Reservation) {
	for _, m := range w.answered {
		m.Writer, m.Now, m.From = register.Writer{2}, w.now-int64(back), m.To-1
		rs = append(rs, m)
	}
	return rs
}

// fresh are reservations of buckets that were never used.
func (w wreck) fresh(s *Store, now int64) (rs []register.Reservation) {
	for p := range s.partitions {
		m := register.Reservation{
			Writer: register.Writer{3}, Seq: 1, Epoch: ring.FirstEpoch, Now: now,
			Partition: ring.Partition(p), Key: "nobody", Limit: "demo", Reach: reach,
		}
		m.From = max(now, s.partitions[p].Free(register.Register{}, 0, reach, register.DefaultBounds()))
		m.To = m.From
		rs = append(rs, m)
	}
	return rs
}

func (w wreck) accepts(t *testing.T, s *Store, rs []register.Reservation) error {
	t.Helper()
	answers, err := try(t, s, rs...)
	for i, a := range answers {
		if m := rs[i]; a.Verdict != register.Accepted || a.Position != m.To {
			return fmt.Errorf("%s (%d, %d] by %d should be accepted: %+v", m.Key, m.From-epoch, m.To-epoch, m.Writer[0], a)
		}
	}
	return err
}

func (w wreck) refuses(t *testing.T, s *Store, rs []register.Reservation) error {
	t.Helper()
	answers, err := try(t, s, rs...)
	for i, a := range answers {
		if m := rs[i]; a.Verdict != register.Taken || a.Position < w.answered[m.Key].To {
			return fmt.Errorf("%s (%d, %d] by %d should be refused: %+v", m.Key, m.From-epoch, m.To-epoch, m.Writer[0], a)
		}
	}
	return err
}
