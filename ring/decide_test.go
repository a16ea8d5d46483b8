package ring_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"pgregory.net/rapid"
)

// letters are nodes named by letters.
func letters(names string) (ids []ring.NodeID) {
	for _, c := range names {
		ids = append(ids, id(int(c-'a')+1))
	}
	return ids
}

// hearing is who hears whom, from words such as "a:bc b:ac"; of itself a node hears unless it stands as "a:-".
func hearing(words string) func(by, id ring.NodeID) bool {
	heard, deaf := map[ring.NodeID][]ring.NodeID{}, map[ring.NodeID]bool{}
	for word := range strings.FieldsSeq(words) {
		by, others, _ := strings.Cut(word, ":")
		deaf[letters(by)[0]] = others == "-"
		if others != "-" {
			heard[letters(by)[0]] = letters(others)
		}
	}
	return func(by, id ring.NodeID) bool {
		return by == id && !deaf[by] || slices.Contains(heard[by], id)
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		places string // replica sets, one for each partition; a set that moves is written abc>abd
		hears  string // who hears whom; it is a that judges
		want   ring.Verdict
		stuck  []ring.Partition
		silent string
	}{
		"a cluster of one":                                 {"a", "", ring.DecidesAll, nil, ""},
		"a cluster of one that has not joined":             {"a", "a:-", ring.DecidesNone, []ring.Partition{0}, "a"},
		"no table":                                         {"", "", ring.DecidesNone, nil, ""},
		"all are up":                                       {"abc cab", "a:bc b:ac c:ab", ring.DecidesAll, nil, ""},
		"one of three is lost":                             {"abc cab", "a:b b:a", ring.DecidesAll, nil, ""},
		"two of three are lost":                            {"abc cab", "a:", ring.DecidesNone, []ring.Partition{0, 1}, "bc"},
		"this one decides nothing, and the others do":      {"abc", "a:bc b:c c:b", ring.DecidesAll, nil, ""},
		"two of five are lost, three replicas":             {"abc bde cde", "a:bc b:ac c:ab", ring.DecidesSome, []ring.Partition{1, 2}, "de"},
		"two of five are lost, five replicas":              {"abcde", "a:bc b:ac c:ab", ring.DecidesAll, nil, ""},
		"no replica of a partition is heard":               {"abc bcd", "a: b:cd c:bd d:bc", ring.DecidesNone, []ring.Partition{0, 1}, "bcd"},
		"a replica is heard, and hears those that are not": {"bcd", "a:b b:acd c:bd d:bc", ring.DecidesAll, nil, ""},
		"the replicas do not hear one another":             {"bcd", "a:bcd b:a c:a d:a", ring.DecidesNone, []ring.Partition{0}, ""},
		"this node keeps nothing and hears two of three":   {"bcd", "a:bc b:ac c:ab", ring.DecidesAll, nil, ""},
		"one replica each, and its node is lost":           {"a b", "a:", ring.DecidesSome, []ring.Partition{1}, "b"},
		"a move whose next replicas are up":                {"abc>abd", "a:bcd b:acd c:abd d:abc", ring.DecidesAll, nil, ""},
		"a move that has lost one of each":                 {"abc>abd", "a:bc b:ac c:ab", ring.DecidesAll, nil, ""},
		"a move that has lost the next replicas":           {"abc>ade", "a:bc b:ac c:ab", ring.DecidesNone, []ring.Partition{0}, "de"},
		"a move that has lost the old replicas":            {"abc>ade", "a:de d:ae e:ad", ring.DecidesNone, []ring.Partition{0}, "bc"},
		"the first move from one replica to three":         {"a>abc", "a:b b:a", ring.DecidesAll, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			table := &ring.Table{}
			for set := range strings.FieldsSeq(c.places) {
				now, next, _ := strings.Cut(set, ">")
				table.Places = append(table.Places, ring.Place{Epoch: 1, Replicas: letters(now), Next: letters(next)})
			}
			got := ring.Judge(table, letters("a")[0], hearing(c.hears))
			silent := letters(c.silent)
			slices.SortFunc(silent, ring.NodeID.Compare)
			if got.Verdict() != c.want || !slices.Equal(got.Stuck, c.stuck) || !slices.Equal(got.Silent, silent) {
				t.Errorf("%s: stuck %v, silent %v; want %s, %v, %v", got.Verdict(), got.Stuck, got.Silent, c.want, c.stuck, silent)
			}
		})
	}
	if got := ring.Judge(nil, letters("a")[0], hearing("")).Verdict(); got != ring.DecidesNone {
		t.Errorf("without a table: %s", got)
	}
}

// TestJudgeKnowsMore: hearing one more node never makes a partition stuck.
func TestJudgeKnowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := letters("abcde")
		heard := map[[2]ring.NodeID]bool{}
		for _, by := range all {
			for _, id := range all {
				heard[[2]ring.NodeID{by, id}] = rapid.Bool().Draw(t, "heard")
			}
		}
		table := &ring.Table{}
		for range rapid.IntRange(1, 5).Draw(t, "partitions") {
			table.Places = append(table.Places, ring.Place{Replicas: rapid.Permutation(all).Draw(t, "set")[:3]})
		}
		hears := func(by, id ring.NodeID) bool { return heard[[2]ring.NodeID{by, id}] }
		before := ring.Judge(table, all[0], hears)
		heard[[2]ring.NodeID{rapid.SampledFrom(all).Draw(t, "by"), rapid.SampledFrom(all).Draw(t, "of")}] = true
		for _, p := range ring.Judge(table, all[0], hears).Stuck {
			if !slices.Contains(before.Stuck, p) {
				t.Fatalf("partition %d is stuck since more is heard", p)
			}
		}
	})
}

// TestJudgeEndangered counts the partitions that one more loss would stop.
func TestJudgeEndangered(t *testing.T) {
	for name, c := range map[string]struct {
		places, hears string
		want          int
	}{
		"all are up":                        {"abc cab", "a:bc b:ac c:ab", 0},
		"one of three is lost":              {"abc cab", "a:b b:a", 2},
		"one of three is lost, of some":     {"abc abd", "a:bd b:ad d:ab", 1},
		"two of three are lost":             {"abc", "a:", 0},
		"one of five is lost":               {"abcde", "a:bcd b:acd c:abd d:abc", 0},
		"two of five are lost":              {"abcde", "a:bc b:ac c:ab", 1},
		"a cluster of one":                  {"a", "", 0},
		"two replicas, and both are needed": {"ab", "a:b b:a", 0},
		"another node sees them all":        {"abc", "a:b b:ac c:ab", 0},
	} {
		table := &ring.Table{}
		for set := range strings.FieldsSeq(c.places) {
			table.Places = append(table.Places, ring.Place{Epoch: 1, Replicas: letters(set)})
		}
		if got := ring.Judge(table, letters("a")[0], hearing(c.hears)).Endangered; got != c.want {
			t.Errorf("%s: %d are endangered, want %d", name, got, c.want)
		}
	}
}
