package owner_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// A crowd is several owners of one key, between which and the replicas everything goes wrong that can: messages and
// answers are lost, late and repeated, owners die and others appear, clocks differ, a disk is lost, buckets are reset
// and registers swept.
type crowd struct {
	*troupe
	t       *rapid.T
	rule    *limit.Rule
	busy    int
	owners  []*stage
	letters []letter
	flying  []flying
	asked   map[int]entered // by tag; only its time and cost are set
	ledger  ledger
	lives   byte
	lost    bool // a disk
}

// A letter is a message under way, and a flying answer one to it.
type letter struct {
	from *stage
	register.Reservation
}

type flying struct {
	to *stage
	owner.Answer
}

func newCrowd(t *rapid.T) *crowd {
	c := &crowd{
		troupe: newTroupe(t, rapid.SampledFrom([]int{1, 3, 3, 3, 5}).Draw(t, "replicas")),
		t:      t,
		busy:   rapid.SampledFrom([]int{0, 2, math.MaxInt32}).Draw(t, "busy"),
		asked:  map[int]entered{},
	}
	rule := rapid.SampledFrom([]struct {
		capacity, tokens int64
		per              time.Duration
	}{{10, 1, time.Second}, {20, 300, time.Second}, {5, 3, time.Minute}, {7, 7, 100 * time.Millisecond}}).Draw(t, "rule")
	c.rule = mustRule(t, "login", rule.capacity, rule.tokens, rule.per)
	c.ledger.rule = c.rule
	for range rapid.IntRange(1, 3).Draw(t, "owners") {
		c.owners = append(c.owners, c.birth())
	}
	return c
}

// birth brings a new owner, whose clock may be wrong by as much as is tolerated.
func (c *crowd) birth() *stage {
	c.lives++
	s := c.enter(c.lives)
	s.cfg.Busy = c.busy
	s.cfg.Resend = 20 * ms
	s.ahead = rapid.Int64Range(-c.bounds.EpsMax/2, c.bounds.EpsMax/2).Draw(c.t, "ahead")
	s.draw = rapid.Int64Range(0, 8*ms).Draw(c.t, "pause")
	return s
}

func (c *crowd) some(n int, what string) int { return rapid.IntRange(0, n-1).Draw(c.t, what) }

func (c *crowd) one() *stage { return c.owners[c.some(len(c.owners), "owner")] }

// collect takes up what the owners have sent and answered.
func (c *crowd) collect() {
	for _, s := range c.owners {
		for _, m := range s.post {
			c.letters = append(c.letters, letter{s, m})
		}
		s.post = nil
		for _, r := range s.answers {
			if r.Err != nil || !r.Decision.Allowed || len(r.Decision.Receipts) == 0 {
				continue
			}
			q := c.asked[r.Tag.(int)]
			c.ledger.admit(r.Decision.Receipts[0], q.at, q.cost)
		}
		s.answers = nil
	}
	if n := len(c.letters); n > 40 {
		c.letters = slices.Delete(c.letters, 0, n-40)
	}
}

func (c *crowd) ask() {
	s, cost := c.one(), int64(1+c.some(3, "cost"))
	patience := rapid.SampledFrom([]int64{10 * ms, second, hour}).Draw(c.t, "patience")
	tag := s.checkBy(patience, cost, c.rule)
	c.asked[tag] = entered{at: c.now, cost: cost}
}

// deliver brings a letter to a replica, whose answer arrives at once, later or never.
func (c *crowd) deliver(l letter, replica int) {
	a := understood(c.replicas[replica].reserve(l.Reservation, c.now, c.bounds), replica, l.Reservation)
	switch rapid.IntRange(0, 5).Draw(c.t, "answer") {
	case 0:
	case 1:
		c.flying = append(c.flying, flying{l.from, a})
	default:
		c.answer(flying{l.from, a})
	}
}

func (c *crowd) answer(f flying) {
	if slices.Contains(c.owners, f.to) {
		f.to.hear(f.Answer)
	}
}

// step lets one thing happen.
func (c *crowd) step() {
	switch rapid.IntRange(0, 19).Draw(c.t, "step") {
	case 0, 1, 2, 3, 4:
		c.ask()
	case 5, 6, 7, 8, 9, 10:
		if len(c.letters) > 0 {
			l := c.letters[len(c.letters)-1-c.some(min(len(c.letters), 6), "letter")]
			for i := range c.replicas {
				if rapid.IntRange(0, 3).Draw(c.t, "arrives") > 0 {
					c.deliver(l, i)
				}
			}
		}
	case 11:
		if len(c.flying) > 0 {
			c.answer(c.flying[c.some(len(c.flying), "flying")])
		}
	case 12, 13, 14:
		c.sleep(rapid.Int64Range(0, 30*ms).Draw(c.t, "pass"))
	case 15:
		c.sleep(rapid.Int64Range(0, min(c.rule.Reach(), 3*second)).Draw(c.t, "pass"))
	case 16:
		c.bringBack()
	default:
		c.fault()
	}
	c.collect()
}

// sleep lets time pass, in which every owner wakes whenever it wants to.
func (c *crowd) sleep(d int64) {
	end := c.now + d
	for {
		next := slices.MinFunc(c.owners, func(a, b *stage) int { return cmp.Compare(a.due(), b.due()) })
		if next.due() > end {
			break
		}
		c.now = max(c.now, next.due())
		next.wake()
	}
	c.now = end
}

// bringBack returns a receipt to some owner, its own or not.
func (c *crowd) bringBack() {
	if len(c.ledger.lines) == 0 {
		return
	}
	e := c.ledger.lines[len(c.ledger.lines)-1-c.some(min(len(c.ledger.lines), 5), "receipt")]
	if s := c.one(); s.giveBack(e.receipt) {
		c.ledger.giveBack(e, c.now)
	}
}

func (c *crowd) fault() {
	switch rapid.IntRange(0, 9).Draw(c.t, "fault") {
	case 0, 1, 2, 3:
		c.owners[c.some(len(c.owners), "dies")] = c.birth()
	case 4, 5:
		s := c.one()
		s.owner.Reset(c.tag(), c.rule, s.clock(), s.clock()+second, &s.out)
		s.after()
	case 6:
		if !c.lost {
			c.lost = true
			c.replicas[c.some(len(c.replicas), "disk")].amnesia(c.now, c.bounds)
		}
	default:
		r := c.replicas[c.some(len(c.replicas), "sweep")]
		r.partition.Horizon = max(r.partition.Horizon, c.now-second)
		if r.registers["login"].Swept(r.partition.Horizon) {
			delete(r.registers, "login")
		}
	}
}

// settle stops all faults and waits until every check is decided.
func (c *crowd) settle() {
	for _, s := range c.owners {
		for i := range c.replicas {
			s.quick = append(s.quick, i)
		}
		s.draw = 8 * ms
	}
	for range 100 {
		waiting := 0
		for _, s := range c.owners {
			waiting += s.owner.Waiting()
		}
		if waiting == 0 {
			return
		}
		c.sleep(50 * ms)
		c.collect()
	}
	c.t.Fatalf("checks are still waiting: %+v", c.owners)
}

func TestCrowd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCrowd(t)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			c.step()
		}
		c.settle()
		c.ledger.audit(t, c.bounds.EpsMax/2)
	})
}
