package ring_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"pgregory.net/rapid"
)

// id is a node's id; the numbers come out scattered, as random ids are.
func id(n int) (id ring.NodeID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// nodes are members 1 to n, in zones in turn; without zones if none are named.
func nodes(n int, zones ...string) []ring.Member {
	members := []ring.Member{}
	for i := range n {
		m := ring.Member{ID: id(i + 1)}
		if len(zones) > 0 {
			m.Zone = zones[i%len(zones)]
		}
		members = append(members, m)
	}
	return members
}

// moved counts the replicas that have to be copied.
func moved(from, to [][]ring.NodeID) (count int) {
	for p := range to {
		for _, id := range to[p] {
			if p >= len(from) || !slices.Contains(from[p], id) {
				count++
			}
		}
	}
	return count
}

// holds counts what each node has: all replicas, and first places.
func holds(sets [][]ring.NodeID) (replicas, owners map[ring.NodeID]int) {
	replicas, owners = map[ring.NodeID]int{}, map[ring.NodeID]int{}
	for _, set := range sets {
		owners[set[0]]++
		for _, id := range set {
			replicas[id]++
		}
	}
	return replicas, owners
}

// zoneOf is a member's zone; one of its own if it names none.
func zoneOf(m ring.Member) string {
	if m.Zone == "" {
		return m.ID.String()
	}
	return "zone " + m.Zone
}

// sizes are the numbers of nodes by zone.
func sizes(members []ring.Member) map[string]int {
	sizes := map[string]int{}
	for _, m := range members {
		sizes[zoneOf(m)]++
	}
	return sizes
}

// fair is the slow model of fair shares: a water level that rises until all replicas are placed; a zone is full when
// it has one replica of each partition.
func fair(members []ring.Member, partitions, replicas int) map[ring.NodeID]float64 {
	sizes := sizes(members)
	share := func(zone string, level float64) float64 {
		if len(sizes) < replicas {
			return level
		}
		return min(level, float64(partitions)/float64(sizes[zone]))
	}
	low, high := 0.0, float64(partitions*replicas)
	for range 200 {
		level, sum := (low+high)/2, 0.0
		for zone, n := range sizes {
			sum += float64(n) * share(zone, level)
		}
		if sum < float64(partitions*replicas) {
			low = level
		} else {
			high = level
		}
	}
	fair := map[ring.NodeID]float64{}
	for _, m := range members {
		fair[m.ID] = share(zoneOf(m), high)
	}
	return fair
}

// checkSets holds an assignment against what every assignment promises.
func checkSets(t rapid.TB, sets [][]ring.NodeID, members []ring.Member, replicas int, founding bool) {
	t.Helper()
	zones := map[ring.NodeID]string{}
	for _, m := range members {
		zones[m.ID] = zoneOf(m)
	}
	sizes := sizes(members)
	limit, largest := replicas, 0
	for _, n := range sizes {
		largest = max(largest, n)
	}
	if len(sizes) >= replicas {
		limit = 1
	} else if founding {
		limit = int(math.Ceil(float64(largest*replicas) / float64(len(members))))
	}
	for p, set := range sets {
		ids, inZone := map[ring.NodeID]bool{}, map[string]int{}
		for _, id := range set {
			zone, member := zones[id]
			if !member || ids[id] {
				t.Fatalf("partition %d: %v has strangers or repeats", p, set)
			}
			ids[id] = true
			if inZone[zone]++; inZone[zone] > limit {
				t.Fatalf("partition %d has more than %d replicas in %s", p, limit, zone)
			}
		}
		if len(set) != replicas {
			t.Fatalf("partition %d has %d replicas, want %d", p, len(set), replicas)
		}
	}
	held, owned := holds(sets)
	shares := fair(members, len(sets), replicas)
	for _, m := range members {
		within(t, "replicas", held[m.ID], shares[m.ID])
		within(t, "owners", owned[m.ID], float64(len(sets))/float64(len(members)))
	}
}

func within(t rapid.TB, what string, has int, fair float64) {
	if off := math.Abs(float64(has) - fair); off > max(fair/4, 1)+1e-6 {
		t.Fatalf("%s: a node has %d of a fair share of %.2f", what, has, fair)
	}
}

// A cluster is one whose nodes come and go.
type cluster struct {
	partitions, wanted int
	zones              []string // to choose from
	next               int      // number of the next node
	members            []ring.Member
	sets               [][]ring.NodeID
}

func (c *cluster) newcomer(t *rapid.T) ring.Member {
	c.next++
	return ring.Member{ID: id(c.next), Zone: rapid.SampledFrom(c.zones).Draw(t, "zone")}
}

func (c *cluster) replicas() int { return min(c.wanted, ring.Replication(len(c.members), c.wanted)) }

// enough says whether there are as many zones as replicas.
func (c *cluster) enough() bool { return len(sizes(c.members)) >= c.replicas() }

// become asks for the assignment with those members, checks it, and counts what moves.
func (c *cluster) become(t *rapid.T, members []ring.Member) (moves int) {
	t.Helper()
	c.members = members
	sets, err := ring.Assign(c.sets, members, c.partitions, c.replicas())
	if err != nil {
		t.Fatal(err)
	}
	checkSets(t, sets, members, c.replicas(), c.sets == nil)

	other := slices.Clone(members)
	slices.Reverse(other)
	turn := rapid.IntRange(0, len(other)-1).Draw(t, "turn")
	other = slices.Concat(other[turn:], other[:turn])
	for what, current := range map[string][][]ring.NodeID{"in another order": c.sets, "once more": sets} {
		again, err := ring.Assign(current, other, c.partitions, c.replicas())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(again, sets, slices.Equal) {
			t.Fatalf("%s the answer is another:\n%v\n%v", what, sets, again)
		}
	}
	moves = moved(c.sets, sets)
	c.sets = sets
	return moves
}

// join adds a node. It may cost little more than the node's fair share.
func (c *cluster) join(t *rapid.T) {
	before := *c
	m := c.newcomer(t)
	moves := c.become(t, append(slices.Clone(c.members), m))
	share := fair(c.members, c.partitions, c.replicas())[m.ID]
	if c.replicas() != before.replicas() {
		if want := c.partitions * (c.replicas() - before.replicas()); moves < want || float64(moves) > float64(want)+share {
			t.Fatalf("growing from %d to %d replicas moves %d", before.replicas(), c.replicas(), moves)
		}
		return
	}
	had, _ := holds(before.sets)
	over, _ := c.outside(had)
	if c.enough() == before.enough() && float64(moves) > max(1.3*share, share+3, over+2) {
		t.Fatalf("a node more of %d moves %d, fair is %.2f, needed are %v", len(c.members), moves, share, over)
	}
}

// outside is how many replicas the members had beyond what they may have now, and below it. Shares of a few partitions round badly: a node that
// was within ± 1 may have two too many when one joins, and every node of a large zone one too few when one of it leaves.
func (c *cluster) outside(had map[ring.NodeID]int) (over, under float64) {
	for id, share := range fair(c.members, c.partitions, c.replicas()) {
		by := max(share/4, 1)
		over += max(0, float64(had[id])-math.Floor(share+by))
		under += max(0, math.Ceil(share-by)-float64(had[id]))
	}
	return over, under
}

// leave takes a node away. It may cost little more than what the node had; twice that with one zone more than there are
// replicas: then those who can take a place are so few that they may get too much, and hand on as much as they got.
func (c *cluster) leave(t *rapid.T, at int) {
	before, gone := *c, c.members[at].ID
	had, _ := holds(c.sets)
	moves := c.become(t, slices.Delete(slices.Clone(c.members), at, at+1))
	most := float64(had[gone])
	if len(sizes(c.members)) == c.replicas()+1 {
		most *= 2
	}
	if c.replicas() != before.replicas() {
		most = 0
	}
	_, under := c.outside(had)
	if c.enough() == before.enough() && float64(moves) > max(most+max(4, 0.02*float64(c.partitions)), under+2) {
		t.Fatalf("a node less of %d moves %d, it had %d, needed are %v", len(before.members), moves, had[gone], under)
	}
}

// swap puts a new node in the place of an old one. All others keep what they have.
func (c *cluster) swap(t *rapid.T, at int) {
	before, gone, m := *c, c.members[at], c.newcomer(t)
	m.Zone = gone.Zone
	had, _ := holds(c.sets)
	members := slices.Clone(c.members)
	members[at] = m
	moves := c.become(t, members)
	most := had[gone.ID] + 2
	if !c.enough() { // places in a zone that has too many are not inherited
		most = had[gone.ID]*3/2 + 2
	}
	if moves > most {
		t.Fatalf("%d moves, and the one that is gone had %d", moves, had[gone.ID])
	}
	if !c.enough() || len(had) < len(members) { // a node that is idle is as good a stand-in as one that is new
		return
	}
	for p, set := range before.sets {
		for i, was := range set {
			if is := c.sets[p][i]; is != was && (was != gone.ID || is != m.ID) {
				t.Fatalf("partition %d was %v and is %v", p, set, c.sets[p])
			}
		}
	}
}

func TestAssignKeepsItsPromisesWhileNodesComeAndGo(t *testing.T) {
	for _, zones := range [][]string{{""}, {"a", "b", "c"}, {"a", "b", "c", "d", "e", "f"}, {"a", "b"}, {"", "a", "b"}} {
		t.Run("zones "+strings.Join(zones, ","), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := &cluster{
					partitions: rapid.SampledFrom([]int{1, 2, 13, 64, 271, 271, 500}).Draw(t, "partitions"),
					wanted:     rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "replicas"),
					zones:      zones,
				}
				founders := []ring.Member{}
				for range rapid.IntRange(1, 40).Draw(t, "nodes") {
					founders = append(founders, c.newcomer(t))
				}
				c.become(t, founders)
				for range rapid.IntRange(0, 8).Draw(t, "changes") {
					at := rapid.IntRange(0, len(c.members)-1).Draw(t, "who")
					switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
					case kind == 0 && len(c.members) < 40:
						c.join(t)
					case kind == 1 && len(c.members) > 1:
						c.leave(t, at)
					default:
						c.swap(t, at)
					}
				}
			})
		})
	}
}
