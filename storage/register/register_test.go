package register_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/storage/register"
)

// bounds are small, so that every edge is near.
var bounds = register.Bounds{EpsMax: 10, DeltaMax: 100} // slack 120

const now = int64(10_000)

// The base of the table: a register reserved to 9,000 in generation 5, and a reservation that fits behind it.
func base() (register.Partition, register.Register, register.Reservation) {
	return register.Partition{Epoch: 3, Horizon: 7_000},
		register.Register{Generation: 5, H: 9_000, Writer: register.Writer{1}, Seq: 7, Epoch: 3, From: 8_000, Reach: 1_000},
		register.Reservation{
			Writer: register.Writer{2}, Seq: 8, Epoch: 3, Now: now,
			Key: "k", Limit: "l", Generation: 5, From: 9_000, To: 9_500, Reach: 1_000,
		}
}

func TestReserve(t *testing.T) {
	type (
		partition   = register.Partition
		stored      = register.Register
		reservation = register.Reservation
	)
	for _, tt := range []struct {
		name    string
		change  func(*partition, *stored, *reservation)
		verdict register.Verdict
		pos     int64
	}{
		{"free", func(*partition, *stored, *reservation) {}, register.Accepted, 9_500},
		{"a gap before it", func(_ *partition, _ *stored, m *reservation) { m.From = 9_400 }, register.Accepted, 9_500},
		{"empty", func(_ *partition, _ *stored, m *reservation) { m.To = 9_000 }, register.Accepted, 9_000},
		{"one nanosecond too early", func(_ *partition, _ *stored, m *reservation) { m.From = 8_999 }, register.Taken, 9_000},
		{"already reserved that far, by another", func(_ *partition, _ *stored, m *reservation) { m.From, m.To = 8_000, 9_000 }, register.Taken, 9_000},
		{"backwards", func(_ *partition, _ *stored, m *reservation) { m.From, m.To = 9_500, 9_400 }, register.Taken, 9_000},
		{"before the horizon", func(p *partition, r *stored, m *reservation) {
			*r, p.Horizon, m.From, m.To = stored{}, 9_001, 9_000, 9_500
		}, register.Taken, 9_001},
		{"at the horizon", func(p *partition, r *stored, m *reservation) {
			*r, p.Horizon, m.From, m.To = stored{}, 9_000, 9_000, 9_500
		}, register.Accepted, 9_500},
		{"below the floor", func(p *partition, _ *stored, m *reservation) {
			p.Floored, p.Floor, m.From, m.To = true, 9_000, 10_119, 10_200 // one before floor, reach and slack
		}, register.Taken, 10_120},
		{"at the floor", func(p *partition, _ *stored, m *reservation) {
			p.Floored, p.Floor, m.From, m.To = true, 9_000, 10_120, 10_200
		}, register.Accepted, 10_200},
		{"a floor that is not set", func(p *partition, _ *stored, _ *reservation) { p.Floor = 9_000 }, register.Accepted, 9_500},
		{"an older generation", func(_ *partition, _ *stored, m *reservation) { m.Generation = 4 }, register.OldGeneration, 9_000},
		{"a reset that knew of everything", func(_ *partition, _ *stored, m *reservation) {
			m.Generation, m.From, m.To = 9_000, 8_000, 8_000
		}, register.Accepted, 8_000},
		{"a reset that did not", func(_ *partition, _ *stored, m *reservation) {
			m.Generation, m.From, m.To = 8_999, 8_000, 8_000
		}, register.Taken, 9_000},
		{"the owner's clock 10 ahead", func(_ *partition, _ *stored, m *reservation) { m.Now = now + 10 }, register.Accepted, 9_500},
		{"the owner's clock 11 ahead", func(_ *partition, _ *stored, m *reservation) { m.Now = now + 11 }, register.Skewed, 9_000},
		{"the owner's clock 10 behind", func(_ *partition, _ *stored, m *reservation) { m.Now = now - 10 }, register.Accepted, 9_500},
		{"the owner's clock 11 behind", func(_ *partition, _ *stored, m *reservation) { m.Now = now - 11 }, register.Skewed, 9_000},
		{"waiting at the replica", func(_ *partition, _ *stored, m *reservation) { m.Now, m.Arrived = now-500, now-505 }, register.Accepted, 9_500},
		{"arrived 11 after it was sent", func(_ *partition, _ *stored, m *reservation) { m.Now, m.Arrived = now-500, now-489 }, register.Skewed, 9_000},
		{"as far ahead as may be", func(_ *partition, _ *stored, m *reservation) { m.To = now + 1_000 + 120 }, register.Accepted, 11_120},
		{"too far ahead", func(_ *partition, _ *stored, m *reservation) { m.To = now + 1_000 + 121 }, register.TooFar, 9_000},
		{"another epoch", func(_ *partition, _ *stored, m *reservation) { m.Epoch = 2 }, register.WrongEpoch, 9_000},
		{"a later epoch", func(_ *partition, _ *stored, m *reservation) { m.Epoch = 4 }, register.WrongEpoch, 9_000},
		{"sealed", func(p *partition, _ *stored, _ *reservation) { p.Sealed = true }, register.Sealed, 9_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, r, m := base()
			tt.change(&p, &r, &m)
			after, a, write := p.Reserve(r, m, now, bounds)
			if a.Verdict != tt.verdict || a.Position != tt.pos {
				t.Errorf("verdict %d at %d, want %d at %d", a.Verdict, a.Position, tt.verdict, tt.pos)
			}
			if write != (tt.verdict == register.Accepted) {
				t.Errorf("write = %v", write)
			}
			if !write && (after.H != r.H || after.Generation != r.Generation) {
				t.Errorf("a refusal has changed the register: %+v", after)
			}
			if write && (after.H != m.To || after.Generation != m.Generation) {
				t.Errorf("accepted, and the register is %+v", after)
			}
		})
	}
}

func TestARepetitionGetsTheFirstAnswer(t *testing.T) {
	p, r, m := base()
	r, first, _ := p.Reserve(r, m, now, bounds)
	m.Now = now + 5_000 // each sending stamps it anew
	after, again, write := p.Reserve(r, m, now+5_000, bounds)
	if again.Verdict != register.Accepted || again.Position != first.Position || write || after.H != r.H {
		t.Errorf("repeated: %+v, write %v, want the first answer %+v", again, write, first)
	}
	for name, change := range map[string]func(*register.Reservation){
		"writer":     func(m *register.Reservation) { m.Writer[0]++ },
		"number":     func(m *register.Reservation) { m.Seq++ },
		"beginning":  func(m *register.Reservation) { m.From++ },
		"end":        func(m *register.Reservation) { m.To-- },
		"reach":      func(m *register.Reservation) { m.Reach-- },
		"generation": func(m *register.Reservation) { m.Generation-- },
		"ledger":     func(m *register.Reservation) { m.Ledger = []byte{1} },
	} {
		other := m
		change(&other)
		if _, a, _ := p.Reserve(r, other, now+5_000, bounds); a.Verdict == register.Accepted {
			t.Errorf("another %s passes for a repetition", name)
		}
	}
}

func TestSwept(t *testing.T) {
	for _, tt := range []struct {
		r    register.Register
		want bool
	}{
		{register.Register{H: 99, Generation: 99, Expire: 99}, true},
		{register.Register{H: 100}, false},
		{register.Register{Generation: 100}, false},
		{register.Register{Expire: 100}, false},
	} {
		if got := tt.r.Swept(100); got != tt.want {
			t.Errorf("%+v at horizon 100: %v, want %v", tt.r, got, tt.want)
		}
	}
}

// Whatever is asked in whatever order, repeated, swept and floored: no two segments that one replica accepted in one
// generation overlap.
func TestAcceptedSegmentsNeverOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type segment struct{ from, to int64 }
		var (
			p        = register.Partition{Epoch: 1}
			r        register.Register
			clock    = int64(1_000)
			seq      uint64
			sent     []register.Reservation
			accepted = map[int64]map[segment]register.Writer{}
		)
		deliver := func(m register.Reservation) {
			m.Now = clock
			after, a, write := p.Reserve(r, m, clock, bounds)
			r = after
			if a.Verdict != register.Accepted || m.To == m.From {
				return
			}
			s := segment{m.From, m.To}
			for other, writer := range accepted[m.Generation] {
				if other == s && writer == m.Writer && !write {
					continue // the same one again
				}
				if s.from < other.to && other.from < s.to {
					t.Fatalf("(%d, %d] and (%d, %d] overlap in generation %d", s.from, s.to, other.from, other.to, m.Generation)
				}
			}
			if accepted[m.Generation] == nil {
				accepted[m.Generation] = map[segment]register.Writer{}
			}
			accepted[m.Generation][s] = m.Writer
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				clock += rapid.Int64Range(0, 400).Draw(t, "pass")
			case 1: // a sweep; the line before the horizon is past, and no check is that old
				horizon := clock - 500
				if r.Swept(horizon) {
					p.Horizon, r = max(p.Horizon, horizon), register.Register{}
				}
			case 2:
				if len(sent) > 0 {
					deliver(rapid.SampledFrom(sent).Draw(t, "again"))
				}
			case 3: // the generation of a reset is beyond all that can be reserved by then
				seq++
				m := register.Reservation{
					Writer: register.Writer{byte(seq % 2)}, Seq: seq, Epoch: 1, Reach: 100,
					Generation: max(clock+100+bounds.Slack(), r.H, r.Generation+1), From: clock, To: clock,
				}
				sent = append(sent, m)
				deliver(m)
			default:
				seq++
				from := clock + rapid.Int64Range(-200, 300).Draw(t, "from")
				m := register.Reservation{
					Writer: register.Writer{byte(seq % 2)}, Seq: seq, Epoch: 1, Reach: 100,
					Generation: r.Generation, From: from, To: from + rapid.Int64Range(0, 200).Draw(t, "length"),
				}
				sent = append(sent, m)
				deliver(m)
			}
		}
	})
}
