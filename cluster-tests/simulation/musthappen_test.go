package simulation

import (
	"math"
	"testing"
)

// A must is something that worlds have to meet, and of how many of a thousand seeds at least. It is counted by seeds, since
// what happens within one comes in crowds.
type must struct {
	what       string
	inThousand float64
}

// mustHappen is each kind of failure, and each way of the protocol.
var mustHappen = []must{
	{"crash", 1},
	{"crash of many", 1},
	{"flapping", 1},
	{"clean stop", 1},
	{"freeze", 1},
	{"suspension", 1},
	{"split", 1},
	{"one-way split", 1},
	{"isolation", 1},
	{"stranding", 1},
	{"hiding", 1},
	{"deafness", 1},
	{"outage of agreement", 1},
	{"clock jump", 1},
	{"clock drift", 1},
	{"lost disk", 1},
	{"copy of a disk", 1},
	{"restored disk", 1},
	{"slow disk", 1},
	{"change of members", 1},
	{"change of limits", 1},
	{"second driver", 1},
	{"messages lost", 1},
	{"messages twice", 1},
	{"messages arrived though their senders were told that they failed", 1},
	{"unsynced writes lost", 1},
	{"proposals failed", 1},
	{"proposals failed but agreed", 1},
	{"old copies found out", 1},
	{"clocks put forward", 1},
	{"clocks wrong from the start", 1},
	{"answers: accepted", 1},
	{"answers: taken", 1},
	{"answers: old generation", 1},
	{"answers: wrong epoch", 1},
	{"answers: sealed", 1},
	{"answers: skewed", 1},
	{"answers: too far", 1},
	{"answers lost", 1},
	{"reservations in the background", 1},
	{"next segments kept", 1},
	{"next segments entered", 1},
	{"reservations sent again", 1},
	{"pieces of line reused", 1},
	{"returns with effect", 1},
	{"returns without effect", 1},
	{"resets done", 1},
	{"floors set", 1},
	{"registers swept", 1},
	{"seals", 1},
	{"installs", 1},
	{"installs with a floor", 1},
	{"completed late", 1},
	{"copies", 1},
	{"moves committed", 1},
	{"moves given other nodes", 1},
	{"partitions dropped", 1},
	{"epochs entered by owners", 1},
	{"owners that left with their partition", 1},
	{"admitted", 1},
	{"denied", 1},
	{"no decision: too late", 1},
	{"no decision: too few replicas answer", 1},
	{"no decision: the clock differs", 1},
	{"refused because of the own clock", 1},
	{"reservations at a node that has proved nothing", 1},
	{"asked where the key is not kept", 1},
	{"repeated checks answered from memory", 1},
	{"repeated checks that waited for the first answer", 1},
	{"answers that came too late", 1},
	{"decisions compared with a bucket that never fails", 1},
	{"admissions by wrong clocks left to the segment held", 1},
	{"keys saturated", 1},
	{"messages late", 1},
	{"flood of invented keys", 1},
	{"full disk", 1},
	{"processes ended by a full disk", 1},
	{"loss of a majority", 1},
	{"clusters recovered by force", 1},
	{"recoveries cut off", 1},
	{"partitions begun anew", 1},
	{"epochs of a recovery entered", 1},
	{"keys forgotten to make room", 1},
	{"floods of which nothing is left", 1},
	{"returns across a change of the limit, without effect", 1},
	{"line passed over without need", 1},
}

// least is how many of so many seeds must have met something: if each does by a chance of inThousand in a thousand, fewer
// do once in a million times, or more rarely. A short run must meet only what is as good as certain.
func least(seeds int, inThousand float64) int {
	p := inThousand / 1000
	below, exactly := 0.0, float64(seeds)*math.Log1p(-p) // so many or fewer; the logarithm for so many
	for n := 0; ; n++ {
		if below += math.Exp(exactly); below > 1e-6 || n == seeds {
			return n
		}
		exactly += math.Log(float64(seeds-n) / float64(n+1) * p / (1 - p))
	}
}

func TestLeast(t *testing.T) {
	for _, tt := range []struct {
		seeds      int
		inThousand float64
		want       int
	}{
		{0, 500, 0},
		{15, 10, 0},  // 0.99^15 is 0.86
		{20, 500, 1}, // 2^-20 is below a millionth, and that and 20 times as much are not
		{19, 500, 0},
		{1375, 10, 1}, // 0.99^1375 is 0.000000995
		{1374, 10, 0},
		{8000, 100, 675},
	} {
		if got := least(tt.seeds, tt.inThousand); got != tt.want {
			t.Errorf("of %d seeds at %v in a thousand: %d, want %d", tt.seeds, tt.inThousand, got, tt.want)
		}
	}
}
