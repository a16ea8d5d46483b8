package ring_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

func assign(t *testing.T, current [][]ring.NodeID, members []ring.Member, partitions, replicas int) [][]ring.NodeID {
	t.Helper()
	sets, err := ring.Assign(current, members, partitions, replicas)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// names writes sets with a letter for each node: "abc bca".
func names(sets [][]ring.NodeID) string {
	written := []string{}
	for _, set := range sets {
		name := ""
		for _, id := range set {
			name += string(rune('a' - 1 + id[15]))
		}
		written = append(written, name)
	}
	return strings.Join(written, " ")
}

// sets reads what names writes.
func sets(written string) (sets [][]ring.NodeID) {
	for name := range strings.FieldsSeq(written) {
		set := []ring.NodeID{}
		for _, letter := range strings.Trim(name, "-") {
			set = append(set, id(int(letter-'a'+1)))
		}
		sets = append(sets, set)
	}
	return sets
}

// TestAssignPlacesAsEver pins a small cluster through its life. A new version that places differently would move data for
// nothing; if that is meant, this is the place to say so.
func TestAssignPlacesAsEver(t *testing.T) {
	var current [][]ring.NodeID
	for _, step := range []struct {
		what     string
		members  []ring.Member
		replicas int
		want     string
	}{
		{"founded alone", nodes(1), 1, "a a a a a a a a"},
		{"two", nodes(2), 1, "b b b b a a a a"},
		{"three, with three replicas", nodes(3), 3, "cba bca bca bca cab abc abc abc"},
		{"four", nodes(4), 3, "cda dca bda bcd cab dbc abd abc"},
		{"a is replaced by e", append(nodes(5)[1:4], nodes(5)[4]), 3, "cde dce bde bcd ceb dbc ebd ebc"},
		{"f, g and h come", nodes(8)[1:], 3, "fgh hcf bde bhd ceg dfc gbd ebc"},
		{"with five replicas", nodes(8)[1:], 5, "fgheb hcfgd bdefh bhdce cegfh dfcgb gbdec ebcfg"},
		{"c goes, back to three", slices.Concat(nodes(8)[1:2], nodes(8)[3:]), 3, "fhb hgd bfh bde efh dfg gde ebg"},
	} {
		current = assign(t, current, step.members, 8, step.replicas)
		if got := names(current); got != step.want {
			t.Errorf("%s:\n%s, want\n%s", step.what, got, step.want)
		}
	}
	if got, want := names(assign(t, nil, nodes(6, "x", "y", "z"), 8, 3)), "dce cbd eaf abc bdf aec fed fba"; got != want {
		t.Errorf("founded in three zones:\n%s, want\n%s", got, want)
	}
}

func TestAssignTakesWhatItFinds(t *testing.T) {
	for _, test := range []struct {
		what     string
		current  string
		members  []ring.Member
		replicas int
		want     string // empty: only the promises count
		moves    int
	}{
		{"nothing to do", "abc bca cab", nodes(3), 3, "abc bca cab", 0},
		{"a little uneven is even enough", "abc abd bcd cda", nodes(4), 3, "abc abd bcd cda", 0},
		{"one is gone, and nobody new is there", "abc bcd cda dab", nodes(3), 3, "", 3},
		{"one has taken the name of another", "abc bca cab", append(nodes(2), nodes(9)[8]), 3, "abi bia iab", 3},
		{"two are replaced", "abc bca cab", append(nodes(1), nodes(9)[7:]...), 3, "", 6},
		{"all are replaced", "abc bca cab", nodes(9)[6:], 3, "", 9},
		{"too few replicas", "a b c", nodes(3), 3, "", 6},
		{"too many replicas", "abc bca cab", nodes(3), 1, "a b c", 0},
		{"owners are evened out before replicas go", "abc abc abc", nodes(3), 1, "", 0},
		{"some without any", "abc - cab", nodes(3), 3, "", 3},
		{"one owns all", "abc abc abc", nodes(3), 3, "", 0},
		{"zones are told later", "ade bef caf dbe efc fad", nodes(6, "x", "y", "z"), 3, "", 6},
	} {
		t.Run(test.what, func(t *testing.T) {
			current := sets(strings.ReplaceAll(test.current, " - ", " -- "))
			before := names(current)
			got := assign(t, current, test.members, len(current), test.replicas)
			if moves := moved(current, got); moves != test.moves {
				t.Errorf("%s → %s moves %d, want %d", test.current, names(got), moves, test.moves)
			}
			if test.want != "" && names(got) != test.want {
				t.Errorf("%s → %s, want %s", test.current, names(got), test.want)
			}
			checkSets(t, got, test.members, test.replicas, false)
			got[0][0] = id(99)
			if names(current) != before {
				t.Error("the answer shares memory with what was given")
			}
		})
	}
}

func TestAssignSaysWhatIsWrong(t *testing.T) {
	twice := append(nodes(3), nodes(1)...)
	for _, test := range []struct {
		current              string
		members              []ring.Member
		partitions, replicas int
		want                 string
	}{
		{"", nodes(2), 8, 3, "3 replicas of each partition need as many nodes, and there are 2"},
		{"", nil, 8, 1, "1 replicas of each partition need as many nodes, and there are 0"},
		{"", nodes(3), 0, 3, "0 partitions: a cluster has 1 to 65536"},
		{"", nodes(3), 65537, 3, "65537 partitions: a cluster has 1 to 65536"},
		{"", nodes(3), 8, 0, "0 replicas of each partition: at least 1 is needed"},
		{"", nodes(3), 8, -1, "-1 replicas of each partition: at least 1 is needed"},
		{"abc abc", nodes(3), 3, 3, "has 2 partitions, not 3"},
		{"", twice, 8, 3, fmt.Sprintf("node %s is named twice among the members", id(1))},
		{"abc aba", nodes(3), 2, 3, fmt.Sprintf("node %s is named twice in partition 1", id(1))},
	} {
		if _, err := ring.Assign(sets(test.current), test.members, test.partitions, test.replicas); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// When a node fails, all others take over a part of its work.
func TestBackupsOfAnOwnerAreSpread(t *testing.T) {
	members := nodes(10)
	founded := assign(t, nil, members, ring.DefaultPartitions, 3)
	grown := founded
	for n := 11; n <= 14; n++ {
		grown = assign(t, grown, nodes(n), ring.DefaultPartitions, 3)
	}
	for what, test := range map[string]struct {
		sets  [][]ring.NodeID
		nodes int
	}{"founded": {founded, 10}, "grown": {grown, 14}} {
		backups := map[ring.NodeID]map[ring.NodeID]int{}
		for _, set := range test.sets {
			for _, backup := range set[1:] {
				if backups[set[0]] == nil {
					backups[set[0]] = map[ring.NodeID]int{}
				}
				backups[set[0]][backup]++
			}
		}
		mean := float64(2*ring.DefaultPartitions) / float64(test.nodes*(test.nodes-1))
		for owner, count := range backups {
			for backup, n := range count {
				if float64(n) > 3*mean {
					t.Errorf("%s: %s backs %d partitions of %s, %.1f are the mean", what, backup, n, owner, mean)
				}
			}
			if len(count) < (test.nodes-1)*3/4 {
				t.Errorf("%s: only %d nodes back %s", what, len(count), owner)
			}
		}
	}
}

// A whole zone may go, and come back, while the cluster has enough of them.
func TestAZoneGoesAndComesBack(t *testing.T) {
	members := nodes(12, "w", "x", "y", "z")
	founded := assign(t, nil, members, ring.DefaultPartitions, 3)
	rest := slices.DeleteFunc(slices.Clone(members), func(m ring.Member) bool { return m.Zone == "z" })
	without := assign(t, founded, rest, ring.DefaultPartitions, 3)
	checkSets(t, without, rest, 3, false)
	had := ring.DefaultPartitions * 3 / 4
	if moves := moved(founded, without); moves > had*13/10 {
		t.Errorf("a zone that had about %d goes, and %d move", had, moves)
	}
	back := assign(t, without, members, ring.DefaultPartitions, 3)
	checkSets(t, back, members, 3, false)
	if moves := moved(without, back); moves > had*13/10 {
		t.Errorf("a zone that should have about %d comes back, and %d move", had, moves)
	}
}

// What is taken away is chosen so that nothing needs to be copied for it, even when one node owns far too much.
func TestFewerReplicasMoveNothing(t *testing.T) {
	founded := assign(t, nil, nodes(12), ring.DefaultPartitions, 3)
	for _, set := range founded {
		if at := slices.Index(set, id(1)); at > 0 {
			set[0], set[at] = set[at], set[0]
		}
	}
	single := assign(t, founded, nodes(12), ring.DefaultPartitions, 1)
	checkSets(t, single, nodes(12), 1, false)
	if moves := moved(founded, single); moves > 0 {
		t.Errorf("%d move", moves)
	}
}
