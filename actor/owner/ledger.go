package owner

import (
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A ledger is what an owner knows of a bucket whose limit counts entries. What is stored at the replicas is the ledger of the limit
// package, as one value. The owner replaces it as a whole, and gives to checks only what a majority has stored:
//
//	check at t, of cost c
//	  c fits in the rooms        admit: the room shrinks, no I/O
//	  the ledger has no place    deny: no I/O, if it was the latest shortly before t
//	  it may not be the latest   claim it, and decide again
//	  otherwise                  write it with room for what waits, and decide again
//
// A claim and a write are reservations like others, of line that stands for nothing else: each begins behind what a majority has
// accepted, so no two owners can write the same place, and a write begins where the owner's last reservation ended, so nothing
// lies between what it was made from and itself.
//
// Decisions go by the Ledger without the rooms: by what checks were given. A room enters it bit by bit, as checks are given it.
type ledger struct {
	*limit.Ledger // the latest that is known, without the rooms; but for what has ended, changed by what checks are given and give back alone
	rooms         []room
	latest        int64 // its version
	current       bool  // it is the latest, unless another owner has claimed it: this owner's last reservation has read or written it
	readAt        int64 // it was the latest at this time
	trusted       int64 // for how long it is taken for the latest where that only makes the limit stricter

	releaseAt int64 // when to write the ledger without the rooms, unless a check takes them or a write comes before; 0 for not
	tries     uint8 // how often that was tried since a write was accepted
	inTime    bool  // it was told in time once, so every node can read that

	written *limit.Ledger // by the write in flight, or given up, without its rooms
	spare   *limit.Ledger // memory for the next one; nil for none
	taken   []room        // by it
	version int64         // of it

	told []byte // the latest ledger that the claim in flight was told
	as   int64  // its version

	penalties *penalties // of a bucket of penalties; nil otherwise
}

// A room is part of an entry of the stored ledger that no check has been given yet. It is for checks by the numbers by which it was taken: under
// others there may be no place for it. If no check is given it for a while, it goes back.
type room struct {
	rule      *limit.Rule // by which it was taken
	by        *limit.Rule // by which it counts in the ledger: another one than rule while ledgers are in tokens, which stay as many under every rule
	at, until int64       // admissions from at to before until belong to the entry
	amount    int64
	id        uint64  // of a permit or a hold
	ends      int64   // it counts no more from then on
	since     int64   // it came back then: it is none for a check read before; noCheck for one that goes back
	leftOut   segment // of one that goes back: the first write that was made without it, of which no answer came
	maybe     bool    // the write that took it came to nothing: who has written since need not have read it
	ahead     bool    // a busy key has taken it ahead
	expires   int64   // of a hold: when it does; 0 for no hold
	extended  bool    // the permit was given before, and has been extended
}

// noCheck is the since of a room that is given to no check any more. It is one until a write without it has been accepted, or a claim is told a
// ledger of another owner that is without it, too.
const noCheck = math.MaxInt64

// stays says whether another owner, which has written the ledger of that version, cannot have read the write that left the room out: an owner that has
// read that write, or a later one, has claimed behind its end.
func (r *room) stays(version int64) bool { return !r.maybe && version < r.leftOut.to }

// isIn says whether a room that stays is in the ledger of that version, which is this owner's own or that of another one.
func (r *room) isIn(version int64, own bool) bool {
	return r.leftOut.from == 0 || version < r.leftOut.from || version > r.leftOut.from && !own
}

// maxKept is how much room of writes that came to nothing an owner remembers, each of one check, to leave it out of what it reads and writes. Of more
// than that it forgets the oldest, which may then count until it ends.
const maxKept = 4096

// keepTaken keeps the permits of a write that came to nothing and may be stored all the same, so that the next one leaves them out: no
// check was given one.
func (l *ledger) keepTaken() {
	for _, r := range l.taken {
		if r.id != 0 && !r.extended {
			r.since = noCheck
			l.rooms = append(l.rooms, r)
		}
	}
	tooMany := len(l.rooms) - maxKept
	l.rooms = slices.DeleteFunc(l.rooms, func(r room) bool {
		oldest := tooMany > 0 && goesBack(&r)
		if oldest {
			tooMany--
		}
		return oldest
	})
	l.taken = slices.DeleteFunc(l.taken, func(r room) bool { return r.id != 0 })
}

// releaseUnclaimed has the rooms go back soon that no check has been given: the one that they were written for has been denied by another
// limit, or its time was over. Until then, further checks are given them, but for permits and holds. No check may wait.
func (l *ledger) releaseUnclaimed(now int64, cfg *Config) {
	l.rooms = slices.DeleteFunc(l.rooms, func(r room) bool { return r.extended })
	for i := range l.rooms {
		if r := &l.rooms[i]; r.id != 0 {
			r.since = noCheck
		}
	}
	l.releaseSoon(now, cfg)
}

// releaseSoon has what no check is given go back: after Δ what was written for one, and after ten times that what came back, which clients who leave
// and come again are given.
func (l *ledger) releaseSoon(now int64, cfg *Config) {
	soon := int64(math.MaxInt64)
	for _, rooms := range [...][]room{l.rooms, l.taken} {
		for i := range rooms {
			switch r := &rooms[i]; {
			case r.extended:
			case r.ahead:
				soon = min(soon, now+horizon)
			case r.since != 0 && r.since != noCheck:
				soon = min(soon, now+10*cfg.Delta)
			default:
				soon = min(soon, now+cfg.Delta)
			}
		}
	}
	if soon < math.MaxInt64 && (l.releaseAt == 0 || soon < l.releaseAt && l.tries == 0) {
		l.releaseAt = soon
	}
}

// unclaimed says whether something is stored that goes back, or may be: by a write that came to nothing. None may be in flight.
func (l *ledger) unclaimed() bool {
	goes := func(r room) bool { return !r.extended }
	return slices.ContainsFunc(l.rooms, goes) || slices.ContainsFunc(l.taken, goes)
}

// usable says whether a check at t can be given it now. A permit that has ended meanwhile is worth nothing, whenever it was asked for.
func (r *room) usable(t, now int64) bool {
	return t < r.until && t >= r.since && (r.id == 0 || now < r.ends)
}

// fresh says whether the ledger was the latest shortly before t: for permits, which come and go, Δ before, and otherwise a second. What
// an older one has no place for may have been given back elsewhere since.
func (l *ledger) fresh(t int64) bool { return l.current && l.readAt >= t-l.trusted }

// knows says whether the ledger is fresh enough to deny a check.
func (l *ledger) knows(c *Check) bool {
	if c.Extend != 0 {
		return c.ended
	}
	return l.fresh(c.At)
}

// find is the room for a check by a rule, or −1. A check is given one room or part of one, so that what comes back of it belongs to one
// entry; a permit must be of just its cost, or the one that it extends.
func (l *ledger) find(rule *limit.Rule, c *Check, now int64) int {
	return slices.IndexFunc(l.rooms, func(r room) bool {
		switch {
		case !r.usable(c.At, now):
			return false
		case r.extended || c.Extend != 0:
			return r.id == c.Extend
		default:
			return r.rule.SameNumbers(rule) && r.expires == c.expires() && (r.amount == c.Cost || r.id == 0 && r.amount > c.Cost)
		}
	})
}

// has says whether there is room for a check by the rule of the bucket. What others were given meanwhile, by a larger plan, may leave it no place.
func (l *ledger) has(rule *limit.Rule, c *Check, now int64) bool {
	return l.find(rule, c, now) >= 0 && (c.Extend != 0 || l.Free(now) >= c.Cost)
}

// spend gives a check by a rule the room that find has found, or part of it, and says which.
func (l *ledger) spend(rule *limit.Rule, c *Check, now int64) (given room) {
	i := l.find(rule, c, now)
	r := &l.rooms[i]
	given = *r
	given.amount = c.Cost
	given.enter(l.Ledger)
	if l.written != nil { // which has the room, too
		given.enter(l.written)
	}
	if r.amount -= c.Cost; r.amount == 0 || r.extended {
		l.rooms = slices.Delete(l.rooms, i, i+1)
	}
	return given
}

// enter enters the room into a ledger. A permit that was extended is there.
func (r *room) enter(l *limit.Ledger) {
	switch {
	case r.extended:
	case r.expires != 0:
		l.PutHold(r.by, r.at, r.amount, r.id, r.expires, r.rule.Holds.OnExpiry == limit.Free)
	default:
		l.Put(r.by, r.at, r.amount, r.id)
	}
}

// enterAll enters rooms into a ledger, but for those that are to be left out.
func enterAll(rooms []room, into *limit.Ledger, leaveOut func(*room) bool) *limit.Ledger {
	for i := range rooms {
		if r := &rooms[i]; !leaveOut(r) {
			r.enter(into)
		}
	}
	return into
}

// A draft is a ledger that is to be written: without its rooms, and with them, as it is stored.
type draft struct {
	bare, full *limit.Ledger
	rooms      []room // new ones
	dropped    bool   // holds that are over, from full
}

// draft makes a draft of a ledger without rooms, with those that stay, in the memory of into.
func (l *ledger) draft(bare, into *limit.Ledger) draft {
	return draft{bare: bare, full: enterAll(l.rooms, bare.Clone(into), goesBack)}
}

// fullOfHolds says whether the draft can list no further hold.
func (d *draft) fullOfHolds(now int64) bool {
	if d.full.ListsMost() && d.full.MayDrop(now) {
		d.full.DropHolds(now)
		d.dropped = true
	}
	return d.full.ListsMost()
}

// take enters amount into the draft, which stands under the rule, and adds the room.
func (d *draft) take(rule *limit.Rule, now, amount int64, ahead bool) {
	if amount <= 0 {
		return
	}
	at := d.full.Enter(now, amount, 0)
	_, until := rule.Slot(at)
	d.rooms = append(d.rooms, room{rule: rule, by: rule, at: at, until: until, amount: amount, ends: rule.Ends(at), ahead: ahead})
}

// takeListed enters the permit or the hold of a check, and adds it, as take does.
func (d *draft) takeListed(rule *limit.Rule, now int64, c *Check, cfg *Config) {
	r := room{rule: rule, by: rule, amount: c.Cost, expires: c.expires()}
	if r.expires != 0 {
		r.id = d.full.NextHold(cfg.Nonce)
		r.at = d.full.Hold(now, r.amount, r.id, r.expires, rule.Holds.OnExpiry == limit.Free)
	} else {
		r.id = cfg.Nonce() | 1 // never 0
		r.at = d.full.Enter(now, r.amount, r.id)
	}
	_, r.until = rule.Slot(r.at)
	r.ends = rule.Ends(r.at)
	d.rooms = append(d.rooms, r)
}

// inTokens says whether the ledger is stored in tokens, if it is of a bucket.
func (l *ledger) inTokens(cfg *Config) bool {
	return !l.inTime && cfg.LedgersInTokens != nil && cfg.LedgersInTokens()
}

// adapt puts a ledger under another rule of the bucket, with the rooms that were entered into it.
func (l *ledger) adapt(of *limit.Ledger, rooms []room, rule *limit.Rule, cfg *Config) {
	if !l.inTokens(cfg) {
		of.Adapt(rule)
		return
	}
	of.AdaptInTokens(rule)
	countBy(rooms, rule)
}

// countBy is for rooms in a ledger of tokens, which stay as many by the rule.
func countBy(rooms []room, rule *limit.Rule) {
	for i := range rooms {
		rooms[i].by = rule
	}
}

// goBack has the rooms go back with the next write, but for those that keep says stay; have is what these hold.
func (l *ledger) goBack(keep func(*room) bool) (have int64) {
	l.rooms = slices.DeleteFunc(l.rooms, func(r room) bool { return r.extended })
	for i := range l.rooms {
		if r := &l.rooms[i]; keep(r) {
			have += r.amount
		} else {
			r.since = noCheck
		}
	}
	return have
}

// copied is a copy of what checks were given.
func (l *ledger) copied() *limit.Ledger {
	into := l.spare
	l.spare = nil
	return l.Clone(into)
}

// asGood says which rooms checks at now by the rule can be given as well as new ones: those of the entry to which admissions belong.
func (l *ledger) asGood(rule *limit.Rule, now int64) func(*room) bool {
	at, _ := rule.Slot(l.Time(now))
	return func(r *room) bool { return r.at == at && r.id == 0 && r.since == 0 && r.rule.SameNumbers(rule) }
}

// none is for rooms of which none stays.
func none(*room) bool { return false }

// goesBack says whether the room is left out of the next write.
func goesBack(r *room) bool { return r.since == noCheck }

// allOut takes the rooms out of the ledger that a claim was told. A permit that was extended stays: its client is inside.
func (l *ledger) allOut(own bool) {
	listed := map[uint64]bool{}
	for i := range l.rooms {
		switch r := &l.rooms[i]; {
		case r.extended, !r.isIn(l.as, own):
		case r.id != 0:
			listed[r.id] = true
		default:
			l.Take(r.by, r.at, r.amount)
		}
	}
	if len(listed) > 0 {
		l.RemoveAll(func(id uint64) bool { return listed[id] })
	}
}

// extend makes a permit last from now on in a ledger that is to be written, and says of which room.
func extend(next *limit.Ledger, rule *limit.Rule, id uint64, now int64) (room, bool) {
	e, inside := next.Permit(id, now)
	if !inside {
		return room{}, false
	}
	next.Remove(id)
	at := next.Enter(now, e.Amount, id)
	_, until := rule.Slot(at)
	return room{rule: rule, by: rule, at: at, until: until, amount: e.Amount, id: id, ends: rule.Ends(at), extended: true}, true
}

// readAnother is for a claim that was told another ledger than this owner knew. If that is its own, written in vain as it seemed, what was entered for
// checks goes back: they may have been given something else; and what was left out goes back once more, since a majority need not have that ledger. What
// cannot be taken out of a ledger of another owner any more, as of a queue, is no room.
func (l *ledger) readAnother(own, queue bool) {
	l.rooms = slices.DeleteFunc(l.rooms, func(r room) bool {
		return r.id == 0 && !own && (r.since == noCheck && !r.stays(l.as) || queue)
	})
	for _, r := range l.taken { // no permits, and no holds: see keepTaken
		if own {
			r.since, r.maybe = noCheck, true
			l.rooms = append(l.rooms, r)
		}
	}
	l.taken, l.version = nil, 0
}

// hears notes what a replica that has accepted a claim tells of the ledger.
func (l *ledger) hears(a *Answer) {
	if a.Version > l.as {
		l.told, l.as = a.Ledger, a.Version
	}
}

// add adds rooms that have been stored.
func (l *ledger) add(rooms []room) {
	for _, r := range rooms {
		i := slices.IndexFunc(l.rooms, func(o room) bool {
			return o.at == r.at && o.id == 0 && o.since == 0 && r.id == 0 && o.rule.SameNumbers(r.rule)
		})
		if i < 0 {
			l.rooms = append(l.rooms, r)
		} else {
			l.rooms[i].amount += r.amount
			l.rooms[i].ahead = l.rooms[i].ahead || r.ahead
		}
	}
}

// busyUntil is until when something is stored that no check was given, or may be: it would be lost with the bucket.
func (l *ledger) busyUntil() (until int64) {
	for _, rooms := range [...][]room{l.rooms, l.taken} {
		for i := range rooms {
			if r := &rooms[i]; !r.extended {
				until = max(until, r.ends)
			}
		}
	}
	return until
}

// forgetRooms is for a ledger of which nothing counts any more that was stored.
func (l *ledger) forgetRooms() {
	l.rooms = nil
	l.released()
}

// released is for a ledger that has been stored without what goes back.
func (l *ledger) released() { l.releaseAt, l.tries = 0, 0 }
