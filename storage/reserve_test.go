package storage

import (
	"context"
	"errors"
	"reflect"
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

// modes are the durabilities, for what is the same in both.
var modes = map[string]func(*Config){"fsync": func(*Config) {}, "memory": inMemory}

// Reservations are decided in their order, each by itself, also where one batch asks for the same line twice.
func TestReserveInOrder(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			first := r.segment("a", epoch, epoch+10)
			rs := []register.Reservation{
				first,
				r.segment("b", epoch, epoch+5),
				r.segment("a", epoch+10, epoch+20), // after the first
				r.segment("a", epoch+15, epoch+30), // overlaps it
				r.segment("a", epoch+20, epoch+30),
				r.segment("b", epoch+7, epoch+8), // leaves a gap
				first,                            // no longer the last that was accepted
			}
			rs = append(rs, rs[4]) // a repetition
			want := []register.Answer{
				{Verdict: register.Accepted, Position: epoch + 10},
				{Verdict: register.Accepted, Position: epoch + 5},
				{Verdict: register.Accepted, Position: epoch + 20},
				{Verdict: register.Taken, Position: epoch + 20},
				{Verdict: register.Accepted, Position: epoch + 30},
				{Verdict: register.Accepted, Position: epoch + 8},
				{Verdict: register.Taken, Position: epoch + 30},
				{Verdict: register.Accepted, Position: epoch + 30},
			}
			got := ask(t, s, rs...)
			if len(got) != len(want) {
				t.Fatalf("%d answers, want %d", len(got), len(want))
			}
			for i := range want {
				want[i].Epoch = ring.FirstEpoch
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("answer %d is %+v, want %+v", i, got[i], want[i])
				}
			}
		})
	}
}

// The Store decides by its own clock, and knows which epoch and partitions there are.
func TestReserveVerdicts(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			change := func(change func(*register.Reservation)) register.Reservation {
				m := r.segment("user", epoch, epoch+1)
				change(&m)
				return m
			}
			bounds := register.DefaultBounds()
			refused(t, s, register.Skewed, change(func(m *register.Reservation) { m.Now += bounds.EpsMax + 1 }))
			refused(t, s, register.Skewed, change(func(m *register.Reservation) { m.Now -= bounds.EpsMax + 1 }))
			refused(t, s, register.TooFar, change(func(m *register.Reservation) { m.To = epoch + m.Reach + bounds.Slack() + 1 }))
			refused(t, s, register.WrongEpoch, change(func(m *register.Reservation) { m.Epoch++ }))
			refused(t, s, register.WrongEpoch, change(func(m *register.Reservation) { m.Partition = partitions }))
			refused(t, s, register.WrongEpoch, change(func(m *register.Reservation) { m.Partition, m.Epoch = 65535, 0 }))
			// Without a time of its own, a reservation is decided at the Store's.
			accepted(t, s, change(func(m *register.Reservation) { m.Key, m.Now = "own", 0 }))
			refused(t, s, register.TooFar, change(func(m *register.Reservation) { m.Now, m.To = 0, epoch+m.Reach+bounds.Slack()+1 }))
			accepted(t, s, change(func(m *register.Reservation) { m.Generation = 7 }))
			refused(t, s, register.OldGeneration, change(func(m *register.Reservation) { m.Generation = 6 }))
			if _, err := s.Look(t.Context(), partitions, "user", "demo"); err == nil || !strings.Contains(err.Error(), "there is no partition 4") {
				t.Errorf("a look at a partition that is not there: %v", err)
			}
		})
	}
}

// A batch of nothing but repetitions is accepted again, and writes nothing.
func TestReserveRepeated(t *testing.T) {
	var syncs atomic.Int64
	r := newRig(t, &disktest.Disk{FS: vfs.NewMem(), Step: func(o disktest.Operation) error {
		if o.Kind == "sync" && strings.HasSuffix(o.Path, ".log") {
			syncs.Add(1)
		}
		return o.Do()
	}})
	s := r.open(t)
	rs := []register.Reservation{r.segment("a", epoch, epoch+1), r.segment("b", epoch, epoch+2), r.segment("c", epoch, epoch)}
	accepted(t, s, rs...)
	before := syncs.Load()
	r.clock.advance(time.Hour)
	for i := range rs {
		rs[i].Now = r.clock.now() // each sending stamps it anew
	}
	accepted(t, s, rs...)
	rs[0].Now = 0 // even by a clock that is off
	accepted(t, s, rs...)
	if n := syncs.Load() - before; n > 0 {
		t.Errorf("repetitions cost %d fsyncs", n)
	}
	rs[1].To++
	refused(t, s, register.Taken, rs[1]) // the same number, for something else
}

func TestReserveNothing(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			if got := ask(t, r.open(t, mode)); len(got) != 0 {
				t.Errorf("got %+v for no reservation", got)
			}
		})
	}
}

// A caller may change its reservations after the answer without changing the registers.
func TestReserveKeepsNothing(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			m := r.segment("user", epoch, epoch+1)
			m.Ledger = []byte("first")
			accepted(t, s, m)
			copy(m.Ledger, "wrong")
			if l := lookAt(t, s, "user"); string(l.Register.Ledger) != "first" {
				t.Errorf("the register holds %q", l.Register.Ledger)
			}
		})
	}
}

// done may call Reserve on the goroutine that answers.
func TestReserveFromDone(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			done := make(chan struct{})
			var next func(from int64)
			next = func(from int64) {
				s.Reserve([]register.Reservation{r.segment("user", from, from+1)}, func(as []register.Answer, err error) {
					switch {
					case err != nil || as[0].Verdict != register.Accepted:
						t.Errorf("got %+v, %v", as, err)
						close(done)
					case from == epoch+100:
						close(done)
					default:
						next(from + 1)
					}
				})
			}
			next(epoch)
			await(t, done, "the last of a hundred reservations")
		})
	}
}

// A batch that is larger than Pebble's memtable goes another way through it.
func TestReserveLargeBatch(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem())
	s := r.open(t)
	for round := range int64(3) {
		batch := make([]register.Reservation, 1000)
		for i := range batch {
			batch[i] = r.segment(keyOf(i), epoch+round, epoch+round+1)
			batch[i].Ledger = make([]byte, 100)
		}
		accepted(t, s, batch...)
		accepted(t, s, r.segment("small", epoch+round, epoch+round+1))
	}
	r.kill(t, s)
	s = r.open(t)
	for i := range 1000 {
		refused(t, s, register.Taken, r.segment(keyOf(i), epoch+2, epoch+3))
	}
}

// A gate holds up the fsync of every commit.
type gate struct {
	reached chan struct{} // gets a token for each fsync that waits
	pass    chan struct{} // lets one go for each token, and all once it is closed
	open    func()        // closes pass
}

// behindGate opens a Store on a disk whose commits wait at a gate. At the end of the test it opens.
func behindGate(t *testing.T) (*gate, *rig, *Store) {
	t.Helper()
	g := &gate{reached: make(chan struct{}, 1000), pass: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.pass) })
	var shut atomic.Bool
	r := newRig(t, &disktest.Disk{FS: vfs.NewMem(), Step: func(o disktest.Operation) error {
		if o.Kind == "sync" && strings.HasSuffix(o.Path, ".log") && shut.Load() {
			g.reached <- struct{}{}
			<-g.pass
		}
		return o.Do()
	}})
	s := r.open(t)
	shut.Store(true)
	t.Cleanup(g.open)
	return g, r, s
}

// An answer comes after the fsync, and reservations that were queued meanwhile share the next one.
func TestReserveWaitsForFsync(t *testing.T) {
	g, r, s := behindGate(t)
	var answered atomic.Int64
	all := make(chan struct{})
	const later = 10
	count := func(as []register.Answer, err error) {
		if err != nil || as[0].Verdict != register.Accepted {
			t.Errorf("got %+v, %v", as, err)
		}
		if answered.Add(1) == 1+later {
			close(all)
		}
	}
	s.Reserve([]register.Reservation{r.segment("user", epoch, epoch+1)}, count)
	await(t, g.reached, "the fsync of the first")
	for i := range later {
		s.Reserve([]register.Reservation{r.segment(keyOf(i), epoch, epoch+1)}, count)
	}
	if n := answered.Load(); n > 0 {
		t.Fatalf("%d answers before the fsync", n)
	}
	g.pass <- struct{}{}
	await(t, g.reached, "the fsync of the others")
	if n := answered.Load(); n != 1 {
		t.Fatalf("%d answers after the first fsync", n)
	}
	g.pass <- struct{}{}
	await(t, all, "the last answer")
	if len(g.reached) > 0 {
		t.Error("there was a third fsync")
	}
}

// Close waits until all that was queued before is answered.
func TestCloseAnswersEverything(t *testing.T) {
	g, r, s := behindGate(t)
	const count = 50
	errs := make(chan error, count+1)
	reserve := func(key string) {
		s.Reserve([]register.Reservation{r.segment(key, epoch, epoch+1)}, func(_ []register.Answer, err error) { errs <- err })
	}
	reserve("user")
	await(t, g.reached, "the fsync of the first")
	for i := range count - 1 {
		reserve(keyOf(i))
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for s.Err() == nil { // until Close has begun
		lookUp, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Look(lookUp, 0, "user", "demo"); !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) {
			t.Errorf("a look that is not waited for: %v", err)
		}
	}
	reserve("late")
	if err := receive(t, errs); !errors.Is(err, ErrClosed) {
		t.Errorf("a reservation while closing: %v", err)
	}
	select {
	case err := <-closed:
		t.Fatalf("Close has returned before the fsync: %v", err)
	default:
	}
	g.open()
	for range count {
		if err := receive(t, errs); err != nil {
			t.Errorf("a reservation that was handed in before: %v", err)
		}
	}
	if err := receive(t, closed); err != nil {
		t.Errorf("close: %v", err)
	}
}

// A Reserve during Close gets one answer, and what was accepted is there afterwards.
func TestReserveWhileClosing(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			const callers = 8
			last := make([]register.Reservation, callers)
			started := make(chan struct{}, callers)
			var wait sync.WaitGroup
			for caller := range callers {
				template := r.segment(keyOf(caller), 0, 0)
				wait.Go(func() {
					for n := int64(0); ; n++ {
						m := template
						m.Seq, m.From, m.To = uint64(n), epoch+n, epoch+n+1
						answers, err := try(t, s, m)
						switch {
						case errors.Is(err, ErrClosed):
							return
						case err != nil || answers[0].Verdict != register.Accepted:
							t.Errorf("got %+v, %v", answers, err)
							return
						}
						if last[caller] = m; n == 10 {
							started <- struct{}{}
						}
					}
				})
			}
			for range callers {
				await(t, started, "ten answers to each caller")
			}
			var closing sync.WaitGroup
			for range 3 {
				closing.Go(func() {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
			}
			closing.Wait()
			wait.Wait()
			s = r.open(t, mode)
			for _, m := range last {
				if l := lookAt(t, s, m.Key); l.Register.H != m.To || l.Register.Seq != m.Seq {
					t.Errorf("%s: the register is %+v, the last that was accepted %+v", m.Key, l.Register, m)
				}
			}
			accepted(t, s, last...) // repeated in the next life
		})
	}
}

func TestLook(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			if l := lookAt(t, s, "user"); l.Exists || l.Partition.Epoch != ring.FirstEpoch || l.Partition.Floored {
				t.Errorf("a bucket never heard of looks like %+v", l)
			}
			m := r.segment("user", epoch, epoch+5)
			m.Ledger = []byte("ledger")
			accepted(t, s, m)
			want := register.Register{H: m.To, Writer: m.Writer, Seq: m.Seq, Epoch: m.Epoch, From: m.From, Reach: m.Reach, Version: m.From}
			l := lookAt(t, s, "user")
			ledger := l.Register.Ledger
			l.Register.Ledger = nil
			if !l.Exists || string(ledger) != "ledger" || !reflect.DeepEqual(l.Register, want) {
				t.Errorf("got %+v with %q, want %+v", l, ledger, want)
			}
			shut(t, s)
			s = r.open(t, mode)
			again := lookAt(t, s, "user")
			if string(again.Register.Ledger) != "ledger" {
				t.Errorf("after a restart: %+v", again)
			}
		})
	}
}
