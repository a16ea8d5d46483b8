package owner

import (
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

// blindMaximum takes the larger of the two positions, and accepts every reservation.
func blindMaximum(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	after, a, write := p.Reserve(r, m, now, b)
	if a.Verdict == register.Taken {
		after = r
		after.H, after.Writer, after.Seq, after.From = max(r.H, m.To), m.Writer, m.Seq, m.From
		a.Verdict, a.Position, write = register.Accepted, m.To, true
	}
	return after, a, write
}

// alreadyThere accepts line that is reserved already, for any owner.
func alreadyThere(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	after, a, write := p.Reserve(r, m, now, b)
	if a.Verdict == register.Taken && r.Generation == m.Generation && r.H >= m.To {
		a.Verdict, a.Position = register.Accepted, m.To
	}
	return after, a, write
}

// resetFirst is a calendar: A is asked for a reset at the beginning, and checks come two ticks later. By then the reset
// has been done or given up, and the line that it forgives has passed.
func resetFirst(_ *world, e event, elapsed int64) bool {
	switch e.kind {
	case asks:
		return elapsed >= 2
	case resets:
		return elapsed == 0 && e.a == 0
	default:
		return true
	}
}

// The model must find what is wrong with each wrong version of the protocol. A checker that has never caught anything
// is decoration.
func TestModelFindsWhatIsWrong(t *testing.T) {
	wrong := []setting{
		{
			name: "blind maximum", capacity: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1,
			variant: variant{replica: blindMaximum},
		},
		{
			name: "already there, so yes", capacity: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1,
			variant: variant{replica: alreadyThere},
		},
		{
			name: "numbers used again after a restart", capacity: 2, checks: [owners][]int64{{2, 2}, {}}, epsMax: 1, restarts: 1,
			variant: variant{sameName: true},
		},
		{
			name: "generations that are plain counts", capacity: 2, ticks: 2, checks: [owners][]int64{{2}, {2}}, resets: 1, patience: 1,
			calendar: resetFirst, variant: variant{counters: true},
		},
		{
			name: "no floor after a lost disk", capacity: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1, losses: 1,
			variant: variant{noFloor: true},
		},
		{
			name: "an answer before any replica's", capacity: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1,
			variant: variant{early: true},
		},
		{
			name: "a majority of one", capacity: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1,
			variant: variant{one: true},
		},
		{
			name: "a receipt that is good for ever", capacity: 4, checks: [owners][]int64{{2, 2, 2}, {}}, epsMax: 1, returns: 2,
			variant: variant{again: true},
		},
		{
			name: "a dormant owner that forgets what is spent", capacity: 3, dormant: true,
			checks: [owners][]int64{{1, 1, 1}, {}}, epsMax: 1, busy: true,
			variant: variant{unspent: true},
		},
	}
	for _, s := range wrong {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			story, broken, states := shortest(&s, 1_000_000)
			if broken == "" {
				t.Fatalf("nothing was found to be wrong in %d states", states)
			}
			t.Logf("found after %d states:\n%s", states, story)
		})
	}
}
