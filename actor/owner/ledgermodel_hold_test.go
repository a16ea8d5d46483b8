package owner_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// walkedHold is a hold that was taken in a walk, and what has been said of it since.
type walkedHold struct {
	held    limit.Held
	granted int64
	expires int64 // in true time, at the earliest
	late    int64 // by how much later some owner may see that
	free    bool

	said []saying
	// The answer to the first settlement for good that had one, and when it came.
	charged, chargedAt int64
	final              bool
	extended           bool
}

// saying is a settlement, from when it was asked on.
type saying struct {
	at, used int64
	open     bool
}

// settling is one that waits for its answer.
type settling struct {
	hold    *counted
	asked   int64
	settles []owner.Settle
}

// hold asks an owner for a hold.
func (w *ledgerWalk) hold(p *walker) {
	w.left.checks--
	tag := w.tag()
	rule := w.goesBy()
	c := owner.Check{
		Tag: tag, At: p.clock(), Deadline: p.clock() + 30*second, Rules: []*limit.Rule{rule}, Cost: 1 + w.Int64N(w.costs), Hold: []int64{second, 3 * second}[w.IntN(2)],
	}
	if w.IntN(3) == 0 {
		c.Cost = rule.Capacity + w.Int64N(2)
		c.Least = 1
	}
	p.asked[tag] = question{at: c.At, asked: w.now, cost: c.Cost, rule: rule, hold: c.Hold}
	w.say("owner %d is asked to hold %d of %s, at least %d, at %v: check %d", p.name[0], c.Cost, rule.Refill, c.Least, time.Duration(p.clock()-start), tag)
	p.owner.Check(c, &p.out)
}

// took notes the hold that an owner has taken.
func (w *ledgerWalk) took(p *walker, tag int, q question, h *limit.Hold) error {
	w.say("check %d: holds %d", tag, h.Granted)
	if h.Granted > q.cost || h.Granted < 1 {
		return fmt.Errorf("check %d asked for %d and holds %d", tag, q.cost, h.Granted)
	}
	entry, listed := w.listed(h.Limits[0].ID, -1)
	switch {
	case !listed && w.floors > 0: // the disks are lost
		return nil
	case !listed:
		return fmt.Errorf("check %d holds %d, and no replica knows of it", tag, h.Granted)
	}
	at := max(q.at, entry.At)
	c := counted{from: at - p.ahead, cost: h.Granted, rule: q.rule, asked: q.asked}
	if c.until = c.from + w.rule.Fill().Nanoseconds(); w.rule.Algorithm == limit.FixedWindow {
		c.until = w.rule.Ends(entry.At) - p.ahead
	}
	c.hold = &walkedHold{
		held: h.Limits[0], granted: h.Granted, expires: q.at + q.hold - p.ahead - w.ahead, late: 2*w.bounds.EpsMax + 2*w.ahead,
		free: w.rule.Holds.OnExpiry == limit.Free,
	}
	w.admitted = append(w.admitted, c)
	return errors.Join(w.stored(&w.admitted[len(w.admitted)-1]), w.judgeNewest())
}

// forgotten is when an owner may forget the hold at the earliest: long after somebody has settled it for good, or after its end.
func (h *walkedHold) forgotten() int64 {
	end := h.expires
	for _, s := range h.said {
		if !s.open {
			end = min(end, s.at)
		}
	}
	return end + int64(limit.SettleLate)
}

// settle tells an owner what was used of a hold, whichever owner has taken it.
func (w *ledgerWalk) settle(p *walker) {
	var holds []*counted
	for i := range w.admitted {
		if w.admitted[i].hold != nil {
			holds = append(holds, &w.admitted[i])
		}
	}
	if len(holds) == 0 {
		return
	}
	c := holds[w.IntN(len(holds))]
	s := owner.Settle{Rule: w.goesBy(), Held: c.hold.held, Granted: c.hold.granted, Used: w.Int64N(c.hold.granted + 3), Open: w.IntN(3) == 0}
	if s.Open && w.IntN(2) == 0 {
		s.For = 2 * second
		c.hold.extended = true
	}
	c.hold.said = append(c.hold.said, saying{w.now, s.Used, s.Open})
	tag := w.tag()
	l := settling{hold: c, asked: w.now, settles: []owner.Settle{s}}
	p.settles[tag] = l
	w.say("owner %d is told at %v that %d of a hold of %d were used, open: %v: settlement %d", p.name[0], time.Duration(p.clock()-start), s.Used, s.Granted, s.Open, tag)
	p.owner.Settle(tag, l.settles, p.clock(), p.clock()+30*second, &p.out)
}

// settled looks whether the answer to a settlement can be true.
func (w *ledgerWalk) settled(tag int, l settling, err error) error {
	got, h := l.settles[0].Settled, l.hold.hold
	w.say("settlement %d: %+v, or error %v", tag, got, err)
	if err != nil {
		return nil //nolint:nilerr // a settlement may come to nothing
	}
	switch got.State {
	case limit.HoldUnknown:
		if w.floors == 0 && !h.extended && w.now < h.expires+int64(limit.SettleLate) {
			return fmt.Errorf("settlement %d: the hold is not known, %v before it may be forgotten", tag, time.Duration(h.expires+int64(limit.SettleLate)-w.now))
		}
		return nil
	case limit.HoldLost:
		return fmt.Errorf("settlement %d: the hold is lost", tag)
	case limit.HoldSettled:
		possible := false
		for _, s := range h.said {
			possible = possible || !s.open && s.used == got.Charged
		}
		switch {
		case !possible:
			return fmt.Errorf("settlement %d: %d were charged, and nobody has said so", tag, got.Charged)
		case h.final && h.charged != got.Charged && w.floors == 0 && w.now < min(h.chargedAt, h.expires)+int64(limit.SettleLate): // later it is told what it says
			return fmt.Errorf("settlement %d: %d were charged, and before that %d", tag, got.Charged, h.charged)
		case !h.final && w.now < h.forgotten(): // later it is told what it says, whatever was charged
			h.final, h.charged, h.chargedAt = true, got.Charged, w.now
		}
	case limit.HoldOpen, limit.HoldExpired:
	}
	return w.stored(l.hold)
}

// stored looks whether every majority knows of a hold what was answered.
func (w *ledgerWalk) stored(c *counted) error {
	h := c.hold
	if w.floors > 0 || w.now >= h.expires+int64(limit.SettleLate) {
		return nil
	}
	for skip := range w.replicas {
		e, listed := w.listed(h.held.ID, skip)
		switch {
		case !listed:
			return fmt.Errorf("a hold of %d is not listed without replica %d", h.granted, skip)
		case h.final && (!e.Settled || e.Used != h.charged):
			return fmt.Errorf("a hold was charged %d, and without replica %d it is %+v", h.charged, skip, e)
		case e.Amount != h.granted:
			return fmt.Errorf("a hold of %d is %+v without replica %d", h.granted, e, skip)
		}
	}
	return nil
}

// judgeNewest looks whether more counts than the limit is at any moment at which the last admission counts. Holds count with what is
// the least that its owner can have known.
func (w *ledgerWalk) judgeNewest() error {
	last := &w.admitted[len(w.admitted)-1]
	if w.rule.Algorithm == limit.TokenBucket {
		return w.judgeBucket(last)
	}
	for i := range w.admitted {
		at := w.admitted[i].from
		if at < last.from || at >= last.until {
			continue
		}
		sum := last.cost
		for j := range len(w.admitted) - 1 {
			switch a := &w.admitted[j]; {
			case at < a.from || at >= a.until:
			case a.hold != nil:
				sum += a.hold.charge(last.asked, w.now)
			default:
				sum += a.cost
			}
		}
		if sum > w.rule.Capacity {
			return fmt.Errorf("%d of %d in one window", sum, w.rule.Capacity)
		}
	}
	return nil
}

// judgeBucket looks whether more was admitted in any time that ends or begins with the last admission than a full bucket has, and that time brings
// back. It counts in line, since each plan has a refill of its own: that of all that was admitted fits into the time, and what the plan of the last
// one lets lie ahead. Clocks of two owners may be apart.
func (w *ledgerWalk) judgeBucket(last *counted) error {
	charge := func(a *counted) int64 {
		if a.hold != nil && a != last {
			return a.rule.Length(a.hold.charge(last.asked, w.now)).NS
		}
		return a.rule.Length(a.cost).NS
	}
	for i := range w.admitted {
		from, to := min(w.admitted[i].from, last.from), max(w.admitted[i].from, last.from)
		var sum, ahead int64
		for j := range w.admitted {
			a := &w.admitted[j]
			if from <= a.from && a.from <= to {
				sum += charge(a)
			}
			if a.from == to {
				ahead = max(ahead, a.rule.Fill().Nanoseconds())
			}
		}
		if most := to - from + ahead + 2*w.ahead; sum > most {
			return fmt.Errorf("%v of line in %v, with %v ahead", time.Duration(sum), time.Duration(to-from), time.Duration(ahead))
		}
	}
	return nil
}

// listed is a hold as all replicas but one have it; as all have it if skip is below 0.
func (w *ledgerWalk) listed(id uint64, skip int) (limit.HoldEntry, bool) {
	var latest register.Register
	for i, r := range w.replicas {
		if known := r.registers[w.rule.Register()]; i != skip && known.Version > latest.Version {
			latest = known
		}
	}
	stored := w.rule.NewLedger(0)
	if err := stored.Read(latest.Ledger, limit.OwnerID{}); err != nil {
		w.Fatal(err)
	}
	return stored.HoldOf(id)
}

// charge is the least that the hold can have counted with for an admission that was asked for at asked and is answered at now.
func (h *walkedHold) charge(asked, now int64) int64 {
	if h.final && h.chargedAt < asked {
		return h.charged
	}
	least, used := h.granted, int64(0)
	for _, s := range h.said {
		switch {
		case s.at > now:
		case s.open:
			used = max(used, 0)
		default:
			least = min(least, s.used)
		}
	}
	if h.free && now >= h.expires {
		least = 0
	}
	return least
}
