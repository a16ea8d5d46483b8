package storage

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/storage/register"
)

// inline is a reservation by a limit that a request defines.
func (r *rig) inline(key string, from, to int64) register.Reservation {
	m := r.segment(key, from, to)
	m.Inline = true
	return m
}

// counted waits until the count at the start is complete, and returns the number of inline registers.
func counted(t *testing.T, s *Store) int64 {
	t.Helper()
	for more := true; more; {
		err := s.runStep(t.Context(), func() (int, error) {
			more = int(s.inline.partition) < len(s.partitions)
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s.inline.total.Load()
}

// TestInlineRegistersAreBounded fills a store with registers of limits that requests define: it refuses more of them, serves
// the existing ones and all stored limits, and counts again after a restart.
func TestInlineRegistersAreBounded(t *testing.T) {
	const most = 50
	bounded := func(c *Config) { c.Inline = most }
	for name, how := range map[string][]func(*Config){"on disk": {bounded}, "in memory": {bounded, inMemory}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, how...)
			fill := func(from, count, want int) {
				t.Helper()
				got := 0
				for i := range count {
					switch a := ask(t, s, r.inline(keyOf(from+i), r.clock.now(), r.clock.now()+1))[0]; a.Verdict {
					case register.Accepted:
						got++
					case register.Full:
					default:
						t.Fatalf("number %d: %+v", from+i, a)
					}
				}
				if got != want {
					t.Errorf("%d of %d were accepted, want %d", got, count, want)
				}
			}
			fill(0, 2*most, most)
			r.clock.advance(time.Second)
			fill(0, most, most) // those are there
			accepted(t, s, r.segment("stored", r.clock.now(), r.clock.now()+1))
			accepted(t, s, r.segment(keyOf(0), r.clock.now()+1, r.clock.now()+2)) // by a stored limit of that name from now on
			if n := counted(t, s); n != most-1 {
				t.Errorf("%d are counted, want %d", n, most-1)
			}
			fill(1000, 2, 1)
			shut(t, s)

			s = r.open(t, how...)
			if n := counted(t, s); n != most {
				t.Errorf("%d are counted in the next life, want %d", n, most)
			}
			fill(2000, 1, 0)
			r.clock.advance(time.Hour)
			sweepAll(t, s)
			if n := counted(t, s); n != 0 {
				t.Errorf("%d are counted when all were swept", n)
			}
			fill(3000, 2*most, most)
		})
	}
}

// Merged registers are accepted beyond the bound, and counted.
func TestInlineRegistersAreHandedOver(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t, func(c *Config) { c.Inline, c.Metrics = 2, prometheus.NewRegistry() })
	m := r.inline("a", epoch, epoch+1)
	registers := make([]Exported, 5)
	for i := range registers {
		registers[i] = Exported{Key: keyOf(i), Limit: m.Limit, Register: register.Register{H: epoch + 1, From: epoch, Inline: true}}
	}
	if err := s.Merge(context.WithoutCancel(t.Context()), m.Partition, registers); err != nil {
		t.Fatal(err)
	}
	if n := counted(t, s); n != 5 {
		t.Errorf("%d are counted, want 5", n)
	}
	if a := ask(t, s, r.inline("new", epoch, epoch+1))[0]; a.Verdict != register.Full {
		t.Errorf("one more: %+v", a)
	}
	if err := s.Drop(t.Context(), m.Partition); err != nil {
		t.Fatal(err)
	}
	if n := counted(t, s); n != 0 {
		t.Errorf("%d are counted when their partition was dropped", n)
	}
}

// A register that was written before limits that requests define were told apart is one of a stored limit.
func TestInlineIsKept(t *testing.T) {
	for _, inline := range []bool{false, true} {
		was := register.Register{H: epoch, From: epoch - 5, Epoch: 1, Reach: 7, Inline: inline}
		text := was.Append(nil)
		got, err := register.Decode(text)
		if err != nil || got.Inline != inline || got.H != was.H || got.Reach != was.Reach {
			t.Errorf("%+v is read back as %+v, %v", was, got, err)
		}
		if text[0] != 1 && !inline {
			t.Errorf("the register of a stored limit has layout %d", text[0])
		}
	}
}
