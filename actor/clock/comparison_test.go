package clock

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestComparison(t *testing.T) {
	for _, c := range []struct {
		name           string
		members        int
		ahead          []int64
		behind, offset int64
	}{
		{"alone", 1, nil, 0, 0},
		{"no other member is heard", 3, nil, 0, 0},
		{"of two, neither is known to be right", 2, []int64{10}, 0, 0},
		{"of two, neither is known to be right, behind", 2, []int64{-10}, 0, 0},
		{"one of two others is heard", 3, []int64{10}, 0, 0},
		{"of three, both are ahead: to the nearer one", 3, []int64{12, 10}, 10, 10},
		{"of three, one is ahead", 3, []int64{12, 0}, 0, 0},
		{"of three, both are behind", 3, []int64{-12, -10}, 0, -10},
		{"of four, two are ahead: half is no majority", 4, []int64{0, 32, 32}, 0, 0},
		{"of four, three are ahead", 4, []int64{40, 32, 33}, 32, 32},
		{"of four, two are ahead and one is silent: it decides nothing, and is not moved", 4, []int64{32, 33}, 0, 32},
		{"of four, two are behind", 4, []int64{0, -32, -32}, 0, 0},
		{"of four, three are behind", 4, []int64{-40, -32, -33}, 0, -32},
		{"of five, two of those heard are ahead", 5, []int64{32, 33}, 0, 32},
		{"of five, three are ahead", 5, []int64{32, 33, 34}, 32, 32},
		{"of five, two are ahead", 5, []int64{0, 0, 33, 34}, 0, 0},
		{"a member that is not known yet", 3, []int64{8, 9, 10}, 8, 8},
		{"members are not known", 0, []int64{10, 10}, 0, 10},
	} {
		k := Comparison{Members: c.members, Ahead: c.ahead}
		if behind, offset := k.Behind(), k.Offset(); behind != c.behind || offset != c.offset {
			t.Errorf("%s: it is %d behind and off by %d, want %d and %d", c.name, behind, offset, c.behind, c.offset)
		}
	}
}

// As long as fewer than a majority of all members are wrong, whichever members are heard: no clock is put ahead of the
// farthest right one, and one that a majority of all members is ahead of is put forward, if all are heard.
func TestNoMinorityMovesAClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(1, 9).Draw(t, "members")
		wrong := rapid.IntRange(0, members/2).Draw(t, "wrong")
		near := rapid.Int64Range(-250, 250)
		var ahead []int64
		farthest := int64(0)
		for i := range members - 1 {
			switch {
			case i < wrong: // in whatever way, and the same way at once
				ahead = append(ahead, rapid.SampledFrom([]int64{-32_000, 32_000, 1100}).Draw(t, "wrong clock"))
			default:
				right := near.Draw(t, "right clock")
				farthest = max(farthest, right)
				ahead = append(ahead, right)
			}
		}
		heard := slices.DeleteFunc(slices.Clone(ahead), func(int64) bool { return rapid.IntRange(0, 3).Draw(t, "silent") == 0 })
		k := Comparison{Members: members, Ahead: heard}
		if behind := k.Behind(); behind > farthest {
			t.Fatalf("%d of %d are wrong, and a right clock is put %d forward, by %v", wrong, members, behind, heard)
		}
		for i := range heard {
			heard[i] += 100_000 // a machine that was suspended
		}
		majority := members/2 + 1
		if behind := k.Behind(); (behind > 0) != (len(heard) >= majority) {
			t.Fatalf("it is far behind %d of %d, and is put %d forward", len(heard), members, behind)
		}
	})
}
