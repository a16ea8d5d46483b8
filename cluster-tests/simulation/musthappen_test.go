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

// mustHappen is each kind of failure, and each way of the protocol. The numbers are half of those of a run of 840 hours.
var mustHappen = []must{
	{"crash", 290},
	{"crash of many", 262},
	{"flapping", 244},
	{"clean stop", 234},
	{"freeze", 250},
	{"suspension", 183},
	{"split", 249},
	{"one-way split", 231},
	{"isolation", 287},
	{"stranding", 248},
	{"hiding", 244},
	{"deafness", 230},
	{"outage of agreement", 227},
	{"clock jump", 188},
	{"clock drift", 181},
	{"lost disk", 215},
	{"copy of a disk", 318},
	{"restored disk", 152},
	{"slow disk", 207},
	{"change of members", 322},
	{"change of limits", 216},
	{"second driver", 158},
	{"messages lost", 404},
	{"messages duplicated", 258},
	{"messages delivered although sending failed", 279},
	{"unsynced writes lost", 249},
	{"proposals failed", 252},
	{"proposals failed but agreed", 237},
	{"old copies of disks detected", 126},
	{"clocks put forward", 180},
	{"clocks wrong from the start", 105},
	{"answers: accepted", 500},
	{"answers: taken", 458},
	{"answers: old generation", 427},
	{"answers: wrong epoch", 256},
	{"answers: sealed", 231},
	{"answers: skewed", 342},
	{"answers: too far", 5},
	{"answers lost", 405},
	{"reservations in the background", 133},
	{"next segments kept", 32},
	{"next segments entered", 30},
	{"reservations sent again", 385},
	{"pieces of line reused", 374},
	{"returns with effect", 410},
	{"returns without effect", 407},
	{"resets done", 430},
	{"floors set", 261},
	{"registers swept", 455},
	{"seals", 372},
	{"installs", 372},
	{"installs with a floor", 189},
	{"replicas completed after their move", 479},
	{"copies", 372},
	{"moves committed", 372},
	{"moves directed to other nodes", 5},
	{"partitions dropped", 332},
	{"epochs entered by owners", 301},
	{"owners ended with their partition", 170},
	{"admitted", 500},
	{"denied", 497},
	{"no decision: too late", 416},
	{"no decision: too few replicas answer", 389},
	{"no decision: the clock differs", 113},
	{"refused because the node's clock is wrong", 130},
	{"reservations at a node that has not proved its disk", 346},
	{"requests at nodes that do not keep the key", 315},
	{"repeated checks answered from memory", 343},
	{"repeated checks that waited for the first answer", 389},
	{"answers after the end of their calls", 415},
	{"decisions compared with a bucket that never fails", 46},
	{"admissions by wrong clocks, checked by segment only", 25},
	{"keys saturated", 396},
	{"messages delayed", 181},
	{"flood of invented keys", 73},
	{"full disk", 1},
	{"processes ended by a full disk", 1},
	{"loss of a majority", 1},
	{"forced recoveries", 1},
	{"forced recoveries interrupted", 1},
	{"partitions restarted without registers", 1},
	{"epochs of a recovery entered", 1},
	{"keys evicted to free memory", 74},
	{"floods that left no registers", 113},
	{"returns across a change of the limit, without effect", 1},
	{"line skipped without need", 72},
	{"counted admissions", 160},
	{"counted returns with effect", 155},
	{"permits extended", 85},
	{"permits that another owner took out", 85},
	{"admitted to begin later", 110},
	{"places given up", 90},
	{"waits that a limit does not allow", 10},
	{"admitted by a plan or an override", 100},
	{"plans that a limit does not have", 5},
	{"checks that define their limit", 120},
	{"checks that define their limit otherwise than the last one", 20},
	{"answers: full", 10},
	{"no decision: no room for another limit that a request defines", 10},
	{"leases given", 120},
	{"leases denied", 125},
	{"leases refused: other numbers", 7},
	{"leases refused: other clocks", 100},
	{"leases of owners whose clocks differ", 8},
	{"leases that came too late for their edge", 20},
	{"checks that edges admitted", 110},
	{"checks of edges that were suspended", 130},
	{"checks that edges denied", 125},
	{"edges killed", 100},
	{"clocks of edges that jumped", 110},
	{"pieces that edges took back", 100},
	{"ends of leases given back", 35},
	{"ends of leases taken back", 35},
	{"holds taken", 160},
	{"holds taken of a line", 70},
	{"holds of what was left", 130},
	{"holds settled below what they held", 155},
	{"holds settled at what they held", 155},
	{"holds settled above what they held", 150},
	{"holds settled by another owner", 95},
	{"holds settled late", 145},
	{"holds lost with their owner", 60},
	{"holds extended", 150},
	{"holds freed when they expired", 85},
	{"holds reset", 55},
	{"settlements that leave the hold open", 155},
	{"settlements of expired holds", 100},
	{"settlements of unknown holds", 80},
	{"settlements repeated", 115},
	{"settlements into debt", 105},
	{"ledgers of buckets compared with what they have to refill", 20},
	{"settlements without a hold", 170},
	{"ledgers of holds that a majority has forgotten", 3},
	{"worlds that held nothing in the end", 170},
	{"worlds in which lines of holds were full again", 70},
	{"counted admissions by a plan or an override", 25},
	{"limits judged by smaller numbers", 70},
	{"buckets compared with what was admitted", 55},
	{"buckets of which something was taken in vain", 8},
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
