package owner

import (
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

// anyEpoch accepts in whichever epoch a reservation is.
func anyEpoch(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	m.Epoch = p.Epoch
	return p.Reserve(r, m, now, b)
}

// What is wrong with a change of the replica set must be found. Where the outcome is looked at, line is spent twice. What
// one mistake alone cannot bring about takes two, or shows in what a replica has forgotten.
func TestModelFindsWhatIsWrongWithAChange(t *testing.T) {
	another := change{from: 0b0111, to: 0b1011}
	atOnce := change{from: 0b0111, to: 0b1011, atOnce: true}
	for _, s := range []setting{
		{
			name: "no seal", checks: [owners][]int64{{2}, {2}}, change: atOnce, calendar: apart,
			variant: variant{wrongMove: wrongMove{noSeal: true, outcome: true}},
		},
		{
			name: "too few seals", checks: [owners][]int64{{}, {2}}, change: another, opening: spentByTwo, calendar: apart,
			variant: variant{wrongMove: wrongMove{fewSeals: true, outcome: true}},
		},
		{
			name: "the registers of one", checks: [owners][]int64{{2}, {2}}, change: atOnce, calendar: apart,
			variant: variant{wrongMove: wrongMove{oneJoined: true, outcome: true}},
		},
		{
			name: "an epoch that does not matter", checks: [owners][]int64{{2}, {2}}, change: atOnce, calendar: apart,
			variant: variant{replica: anyEpoch, wrongMove: wrongMove{outcome: true}},
		},
		{
			name: "answers before the install", checks: [owners][]int64{{}, {}}, change: another, opening: spentByTwo, calendar: apart,
			variant: variant{wrongMove: wrongMove{unready: true}},
		},
		{
			name: "a commit before W installs, and answers before them", checks: [owners][]int64{{}, {2}}, change: another, opening: spentByTwo, calendar: apart,
			variant: variant{wrongMove: wrongMove{soon: true, unready: true, outcome: true}},
		},
		{
			name: "a source that was dropped", checks: [owners][]int64{{}, {}}, change: another, opening: spentByTwo, calendar: apart,
			variant: variant{wrongMove: wrongMove{dropped: true}},
		},
		{
			name: "a commit before W installs, and a source that was dropped", checks: [owners][]int64{{}, {2}}, change: another, opening: spentByTwo, calendar: apart,
			variant: variant{wrongMove: wrongMove{soon: true, dropped: true, outcome: true}},
		},
	} {
		s.capacity, s.epsMax = 2, 1
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			story, broken, states := shortest(&s, 100_000)
			if broken == "" {
				t.Fatalf("nothing was found to be wrong in %d states", states)
			}
			t.Logf("found after %d states:\n%s", states, story)
		})
	}
}

// A commit before W members have installed lets no line be spent twice, but may leave a replica set that never answers.
func TestModelFindsAChangeThatNeverEnds(t *testing.T) {
	s := setting{
		capacity: 2, epsMax: 1, opening: spentByTwo, change: change{from: 0b0111, to: 0b1011},
		variant: variant{wrongMove: wrongMove{soon: true}},
	}
	var enc encoder
	end, stuck := &world{}, ""
	x := &exploration{digest: enc.digest}
	x.visit = func(w *world, way []event) {
		if stuck != "" {
			return
		}
		w.copyTo(end)
		if !end.settles(nodes, false) {
			stuck = tell(&s, way)
		}
	}
	if broken := x.from(newWorld(&s)); broken != "" {
		t.Fatal(broken)
	}
	if stuck == "" {
		t.Fatal("every check is decided in the end")
	}
	t.Logf("nothing is decided after\n%s", stuck)
}
