package consensus

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

func TestVoterCount(t *testing.T) {
	for n, want := range []int{1, 1, 1, 3, 3, 5, 5, 5, 5} {
		if got := voterCount(n); got != want {
			t.Errorf("%d of %d nodes vote, want %d", got, n, want)
		}
	}
}

// votersCase is a registry, what raft has, and what the leader sees.
type votersCase struct {
	nodes   map[ring.NodeID]agreed.Node
	servers []Server
	dead    map[ring.NodeID]bool // true: for so long that it is missing
	self    ring.NodeID
}

// members adds nodes to the registry.
func (c *votersCase) members(ids ...int) *votersCase {
	for _, i := range ids {
		c.nodes[agreedtest.ID(i)] = agreedtest.Node(i)
	}
	return c
}

// has adds servers.
func (c *votersCase) has(voters bool, ids ...int) *votersCase {
	for _, i := range ids {
		c.servers = append(c.servers, Server{ID: agreedtest.ID(i), Address: agreedtest.Node(i).Raft, Voter: voters})
	}
	return c
}

// draining has nodes drain.
func (c *votersCase) draining(ids ...int) *votersCase {
	for _, i := range ids {
		n := c.nodes[agreedtest.ID(i)]
		n.Draining = true
		c.nodes[n.ID] = n
	}
	return c
}

// without has nodes be dead.
func (c *votersCase) without(missing bool, ids ...int) *votersCase {
	for _, i := range ids {
		c.dead[agreedtest.ID(i)] = missing
	}
	return c
}

func newVotersCase() *votersCase {
	return &votersCase{nodes: map[ring.NodeID]agreed.Node{}, dead: map[ring.NodeID]bool{}, self: agreedtest.ID(1)}
}

func (c *votersCase) sight() liveness {
	return liveness{
		self:    c.self,
		alive:   func(id ring.NodeID) bool { _, dead := c.dead[id]; return !dead },
		missing: func(id ring.NodeID) bool { return c.dead[id] },
	}
}

// settle takes steps until there is none, and returns them. The named one takes over when the leader gives up.
func (c *votersCase) settle(t rapid.TB) (steps []serverChange) {
	t.Helper()
	for range 100 {
		change, due := nextServerChange(c.servers, c.nodes, c.sight())
		if !due {
			return steps
		}
		steps = append(steps, change)
		if change.kind == transferLead {
			if change.server.ID == c.self || !c.sight().alive(change.server.ID) {
				t.Fatalf("%s gives up for %v", c.self, change.server)
			}
			c.self = change.server.ID
			continue
		}
		if change.kind == drop && change.server.ID == c.self {
			t.Fatalf("the leader drops itself: %v", steps)
		}
		c.servers = after(c.servers, change)
		if !c.sight().majority(c.servers) {
			t.Fatalf("%v leaves no majority alive: %v", change, c.servers)
		}
	}
	t.Fatalf("no end: %v", steps)
	return nil
}

// voters are who votes, in order.
func (c *votersCase) voters() (ids []ring.NodeID) {
	for _, s := range c.servers {
		if s.Voter {
			ids = append(ids, s.ID)
		}
	}
	slices.SortFunc(ids, ring.NodeID.Compare)
	return ids
}

func TestVotersFollowTheRegistry(t *testing.T) {
	for name, test := range map[string]struct {
		c     *votersCase
		want  []ring.NodeID
		steps int
	}{
		"nothing to do":                  {newVotersCase().members(1, 2, 3).has(true, 1, 2, 3), agreedtest.IDs(1, 2, 3), 0},
		"a second node does not vote":    {newVotersCase().members(1, 2).has(true, 1), agreedtest.IDs(1), 1},
		"from one to three":              {newVotersCase().members(1, 2, 3).has(true, 1), agreedtest.IDs(1, 2, 3), 4},
		"to five":                        {newVotersCase().members(1, 2, 3, 4, 5, 6).has(true, 1, 2, 3), agreedtest.IDs(1, 2, 3, 4, 5), 5},
		"the dead are not promoted":      {newVotersCase().members(1, 2, 3).has(true, 1).without(false, 3), agreedtest.IDs(1), 2},
		"a short absence changes little": {newVotersCase().members(1, 2, 3, 4).has(true, 1, 2, 3).has(false, 4).without(false, 3), agreedtest.IDs(1, 2, 3), 0},
		"a missing voter is replaced":    {newVotersCase().members(1, 2, 3, 4).has(true, 1, 2, 3).has(false, 4).without(true, 3), agreedtest.IDs(1, 2, 4), 2},
		"or stays if nobody else is":     {newVotersCase().members(1, 2, 3).has(true, 1, 2, 3).without(true, 3), agreedtest.IDs(1, 2, 3), 0},
		"a draining voter is replaced":   {newVotersCase().members(1, 2, 3, 4).draining(2).has(true, 1, 2, 3).has(false, 4), agreedtest.IDs(1, 3, 4), 2},
		"the leader too":                 {newVotersCase().members(1, 2, 3, 4).draining(1).has(true, 1, 2, 3).has(false, 4), agreedtest.IDs(2, 3, 4), 3},
		"a replaced disk":                {newVotersCase().members(1, 2, 4).has(true, 1, 2, 3).without(false, 3), agreedtest.IDs(1, 2, 4), 3},
		"a removed leader":               {newVotersCase().members(2, 3, 4).has(true, 1, 2, 3, 4), agreedtest.IDs(2, 3, 4), 2},
		"back to one":                    {newVotersCase().members(1).has(true, 1, 2, 3), agreedtest.IDs(1), 2},
		"five to four":                   {newVotersCase().members(1, 2, 3, 4).has(true, 1, 2, 3, 4, 5), agreedtest.IDs(1, 2, 3), 2},
		"alone and removed":              {newVotersCase().has(true, 1), agreedtest.IDs(1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			steps := test.c.settle(t)
			if got := test.c.voters(); !slices.Equal(got, test.want) || len(steps) != test.steps {
				t.Errorf("%v vote after %v, want %v after %d steps", got, steps, test.want, test.steps)
			}
		})
	}
}

func TestServersHaveTheAddressesOfTheRegistry(t *testing.T) {
	c := newVotersCase().members(1, 2, 3).has(true, 1, 2, 3)
	n := c.nodes[agreedtest.ID(3)]
	n.Raft = "elsewhere:7703"
	c.nodes[n.ID] = n
	steps := c.settle(t)
	if want := []serverChange{{addVoter, Server{ID: n.ID, Address: n.Raft, Voter: true}}}; !slices.Equal(steps, want) {
		t.Errorf("%v, want %v", steps, want)
	}
}

// A node whose disk was lost comes back with a new id at the old address, where raft takes no second server.
func TestReplacedDiskAtTheSameAddress(t *testing.T) {
	c := newVotersCase().members(1, 2, 4).has(true, 1, 2, 3)
	n, old := c.nodes[agreedtest.ID(4)], Server{ID: agreedtest.ID(3), Address: agreedtest.Node(3).Raft, Voter: true}
	n.Raft = old.Address
	c.nodes[n.ID] = n
	here := Server{ID: n.ID, Address: n.Raft}
	voter := here
	voter.Voter = true
	want := []serverChange{{drop, old}, {addNonvoter, here}, {addVoter, voter}}
	if steps := c.settle(t); !slices.Equal(steps, want) {
		t.Errorf("%v, want %v", steps, want)
	}
}

// From wherever a majority is alive, the steps keep it alive, end, and leave an odd number of members that vote; taken
// again they do nothing; and nobody who votes well has been exchanged.
func TestVotersSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newVotersCase()
		for i := 1; i <= 9; i++ {
			if rapid.IntRange(0, 3).Draw(t, "member") > 0 {
				c.members(i)
				if rapid.IntRange(0, 5).Draw(t, "draining") == 0 {
					c.draining(i)
				}
			}
			if what := rapid.IntRange(0, 3).Draw(t, "server"); what > 0 || i == 1 {
				c.has(what > 1 || i == 1, i)
			}
			if i > 1 && rapid.IntRange(0, 3).Draw(t, "dead") == 0 {
				c.without(rapid.Bool().Draw(t, "missing"), i)
			}
		}
		if !c.sight().majority(c.servers) {
			t.Skip("nobody could lead")
		}
		before := map[ring.NodeID]bool{}
		for _, id := range c.voters() {
			_, dead := c.dead[id]
			before[id] = !dead && !c.nodes[id].Draining && c.nodes[id].Name != ""
		}
		c.settle(t)
		voters := c.voters()
		if len(c.settle(t)) != 0 {
			t.Fatalf("not settled")
		}
		fresh, lostWell := 0, 0
		for _, id := range voters {
			if _, voted := before[id]; !voted {
				fresh++
			}
		}
		for id, well := range before {
			if well && !slices.Contains(voters, id) {
				lostWell++
			}
		}
		if fresh > 0 && lostWell > 0 {
			t.Fatalf("%d that voted well were exchanged for %d others: %v", lostWell, fresh, voters)
		}
		chosen := chooseVoters(c.servers, c.nodes, c.sight())
		if len(chosen) > 0 && len(chosen)%2 == 0 || len(chosen) > maxVoters {
			t.Fatalf("%d are to vote", len(chosen))
		}
		var wanted []Server
		for _, id := range chosen {
			wanted = append(wanted, Server{ID: id, Voter: true})
		}
		slices.SortFunc(chosen, ring.NodeID.Compare)
		// Where the dead are in the way, nothing more can be done.
		if c.sight().majority(wanted) && slices.Contains(chosen, c.self) && !slices.Equal(chosen, voters) {
			t.Fatalf("%v vote, not %v: %v, dead %v, leader %v", voters, chosen, c.servers, c.dead, c.self)
		}
		for id := range c.nodes {
			if !slices.ContainsFunc(c.servers, func(s Server) bool { return s.ID == id && s.Address == c.nodes[id].Raft }) {
				t.Fatalf("%s is no server", id)
			}
		}
	})
}

func TestPatience(t *testing.T) {
	dead := map[ring.NodeID]bool{agreedtest.ID(2): true}
	p := absences{alive: func(id ring.NodeID) bool { return !dead[id] }, since: map[ring.NodeID]time.Time{}}
	nodes := newVotersCase().members(1, 2).nodes
	start := time.Unix(1000, 0)
	for _, look := range []struct {
		after   time.Duration
		dead    bool
		missing bool
	}{
		{0, true, false},
		{voterPatience - 1, true, false},
		{voterPatience, true, true},
		{voterPatience + 1, false, false},
		{2 * voterPatience, true, false}, // it was there in between
		{3 * voterPatience, true, true},
	} {
		dead[agreedtest.ID(2)] = look.dead
		p.update(nodes, start.Add(look.after))
		if p.missing(agreedtest.ID(2)) != look.missing || p.missing(agreedtest.ID(1)) {
			t.Errorf("after %s: missing is %v, want %v", look.after, p.missing(agreedtest.ID(2)), look.missing)
		}
	}
	p.update(nil, start)
	if len(p.since) != 0 {
		t.Errorf("what is no member is remembered: %v", p.since)
	}
}
