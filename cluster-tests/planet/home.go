package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

const (
	// patience is how long an edge waits for an answer.
	patience = second
	// mostOff is by how much clocks of an edge and an owner may differ, as packages edge and actor say.
	mostOff = int64(250e6)
)

// A home is the owner of a world's key, and the three replicas of its bucket, in zones of one region. The first replica is the owner's own node.
type home struct {
	*timeline

	plan     *plan
	region   int
	rule     *limit.Rule
	judge    *judge // of what is admitted
	random   *rand.Rand
	cfg      owner.Config
	id       limit.OwnerID
	owner    *owner.Owner
	replicas [3]replica
	off      int64 // of the owner's clock
	seq      uint64
	out      owner.Out
	due      int64   // when it is to be woken: true time
	reserved float64 // reservations that count in figures
	known    judge   // of what the owner was told of, by checks and reports
	forgot   int64   // tokens that were reported, and exceeded the debt
}

// A replica is the production's steps of one, with the register of the bucket.
type replica struct {
	partition register.Partition
	register  register.Register
	off       int64 // of its clock
}

// A call is a check that the owner is asked about, or an ask for a lease.
type call struct {
	came     int64 // when it came to the owner
	cost     int64
	least    int64 // of a lease
	lease    *limit.LeaseAsk
	report   *limit.Report // it was admitted already; nil for others
	part     int64         // of a batch that was denied, how much is asked for then; 0: all of it
	admitted int64         // of a batch
	wrongly  bool          // what is denied of it, a central bucket would have admitted
	answer   func(*owner.Reply)
}

// asked is the cost that is asked for.
func (c *call) asked() int64 {
	if c.part > 0 {
		return c.part
	}
	return c.cost
}

func newHome(t *timeline, p *plan, region int, rule *limit.Rule, j *judge, random *rand.Rand) *home {
	h := &home{timeline: t, plan: p, region: region, rule: rule, judge: j, random: random, id: limit.OwnerID{byte(region + 1)}, due: math.MaxInt64}
	h.cfg = owner.Config{
		Replicas: len(h.replicas), Delta: owner.DefaultDelta, ReturnFor: owner.DefaultReturnFor, Busy: owner.DefaultBusy,
		Slack: register.DefaultBounds().Slack(), Late: 2 * register.DefaultBounds().EpsMax, Resend: owner.DefaultResend, Patience: owner.DefaultPatience,
		NextSeq: func() uint64 { h.seq++; return h.seq },
		Nonce:   h.random.Uint64,
		Rand:    h.random.Int64N,
	}
	h.known = *j
	h.known.forgets = true
	h.owner = owner.New(&h.cfg, h.id, 0)
	for i := range h.replicas {
		h.replicas[i].off = h.plan.clockOf(uint64(edges + region*len(h.replicas) + i))
	}
	h.off = h.replicas[0].off
	return h
}

func (h *home) clock() int64 { return h.now + h.off }

// check asks the owner.
func (h *home) check(c *call) {
	c.came = h.now
	at := h.clock()
	r := owner.Check{Tag: c, At: at, Deadline: at + patience, Rules: []*limit.Rule{h.rule}, Cost: c.asked(), Charges: c.report != nil, Report: c.report}
	if l := c.lease; l != nil {
		if off := l.Now - at; max(off, -off) > mostOff {
			c.answer(&owner.Reply{Err: limit.ErrUnavailable})
			return
		}
		r.Lease, r.Least, r.EdgeHas, r.Edge = int64(l.Life), c.least, l.Held, l.Edge
	}
	h.owner.Check(r, &h.out)
	h.after()
}

// decided notes a decision. Of a batch that is too large, the owner is asked again for what it has left: again says so.
func (h *home) decided(c *call, d *limit.Decision) (again bool) {
	switch left := d.Limits[0].Remaining; {
	case d.Allowed:
		h.judge.admit(c.came, c.asked())
		h.known.admit(c.came, c.asked())
		c.admitted = c.asked()
	case c.part == 0 && c.cost > 1 && left > 0:
		c.part = min(left, c.cost-1)
		return true
	}
	c.wrongly = c.admitted < c.cost && h.judge.wouldAdmit(h.now, 1)
	return false
}

// forget notes what the owner did not charge of a report, because the bucket was in debt as far as debt goes. Where debt ends only after the end of the run, nobody is admitted by that.
func (h *home) forget(c *call, o *limit.Outcome) {
	h.known.admit(c.came, c.cost)
	deepest := h.rule.Fill() + time.Duration(h.rule.Debt().Ceil())
	if o.ResetAfter+10*time.Millisecond < deepest {
		return
	}
	if charged := int64(o.ResetAfter) * h.known.refill; charged < h.known.level {
		if h.now+h.rule.Debt().Ceil() < epoch+h.plan.length {
			h.forgot += (h.known.level - charged) / h.known.per
		}
		h.known.level = charged
	}
}

// giveBack takes back the tails of leases.
func (h *home) giveBack(tails []limit.Receipt) {
	for _, r := range tails {
		h.owner.Return(r, h.clock(), &h.out)
	}
	h.after()
}

// after takes up what a step has put out.
func (h *home) after() {
	var again []*call
	for i := range h.out.Sends {
		h.reserve(&h.out.Sends[i])
	}
	for i := range h.out.Replies {
		r := &h.out.Replies[i]
		c := r.Tag.(*call) //nolint:forcetypeassert // nothing else is put there
		switch {
		case r.Err != nil || c.lease != nil:
		case c.report != nil:
			h.forget(c, &r.Decision.Limits[0])
		case h.decided(c, &r.Decision):
			again = append(again, c)
			continue
		}
		reply := *r
		c.answer(&reply)
	}
	h.out.Reset()
	for _, c := range again {
		h.check(c)
	}
	if due := h.owner.Due(); due != math.MaxInt64 && due-h.off < h.due {
		h.due = max(due-h.off, h.now)
		h.push(h.due, h.wake)
	}
}

func (h *home) wake() {
	if h.now < h.due {
		return
	}
	h.due = math.MaxInt64
	h.owner.Wake(h.clock(), &h.out)
	h.after()
}

// reserve brings a reservation to the replicas, and their answers back.
func (h *home) reserve(s *owner.Send) {
	if h.plan.counted(h.now) {
		h.reserved++
	}
	m := register.Reservation{
		Writer: register.Writer(h.id), Seq: s.Seq, Epoch: s.Epoch, Now: h.clock(), Limit: s.Limit,
		Generation: s.Generation, From: s.From, To: s.To, Reach: s.Reach, Lead: s.Lead,
	}
	for i := range h.replicas {
		way := int64(zoneTrip / 2 * (1 + jitter*h.random.ExpFloat64()))
		if i == 0 {
			way = 0
		}
		h.push(h.now+way, func() {
			r := &h.replicas[i]
			after, a, write := r.partition.Reserve(r.register, m, h.now+r.off, register.DefaultBounds())
			stored := int64(0)
			if write {
				r.register, stored = after, int64(fsync*(1+h.random.ExpFloat64()/4))
			}
			h.push(h.now+stored+way, func() {
				h.owner.Answer(owner.Answer{
					Replica: i, Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch, Verdict: owner.VerdictOf(a.Verdict), Position: a.Position, Generation: a.Generation,
				}, h.clock(), &h.out)
				h.after()
			})
		})
	}
}
