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
type ledger struct {
	*limit.Ledger
	rooms   []room
	current bool  // the Ledger is the latest, unless another owner has claimed it: this owner's last reservation has read or written it
	readAt  int64 // it was the latest at this time
	trusted int64 // for how long it is taken for the latest where that only makes the limit stricter

	releaseAt int64 // when to write the ledger without the permits that no check was given, if none comes before

	written *limit.Ledger // by the write in flight, or given up
	spare   *limit.Ledger // memory for the next one; nil for none
	taken   []room        // in it
	version int64         // of it

	told []byte // the latest ledger that the claim in flight was told
	as   int64  // its version

	penalties *penalties // of a bucket of penalties; nil otherwise
}

// A room is part of an entry of the stored ledger that no check has been given yet.
type room struct {
	rule      *limit.Rule // by which it was taken; nil for the bucket's own: tokens that are stored as such stay as many
	at, until int64       // admissions from at to before until belong to the entry
	amount    int64
	id        uint64 // of a permit or a hold
	ends      int64  // it counts no more from then on
	since     int64  // it came back then: it is none for a check read before; noCheck for a permit that goes back
	expires   int64  // of a hold: when it does; 0 for no hold
	extended  bool   // the permit was given before, and has been extended
}

// noCheck is the since of a permit that is given to no check any more: the next write leaves it out.
const noCheck = math.MaxInt64

// keepTaken keeps the permits of a write that came to nothing and may be stored all the same, so that the next one leaves them out: no
// check was given one.
func (l *ledger) keepTaken() {
	for _, r := range l.taken {
		if r.id != 0 && !r.extended {
			r.since = noCheck
			l.rooms = append(l.rooms, r)
		}
	}
}

// releaseUnclaimed has the permits go back that no check has been given: the one that they were written for has been denied by another
// limit, or its time was over. No check may wait.
func (l *ledger) releaseUnclaimed(now int64, cfg *Config) {
	l.rooms = slices.DeleteFunc(l.rooms, func(r room) bool { return r.extended })
	for i := range l.rooms {
		if r := &l.rooms[i]; r.id != 0 && r.since != noCheck {
			r.since, l.releaseAt = noCheck, now+cfg.Delta
		}
	}
}

// unclaimed says whether permits are stored that go back, or may be: by a write that came to nothing. None may be in flight.
func (l *ledger) unclaimed() bool {
	return slices.ContainsFunc(l.rooms, func(r room) bool { return r.since == noCheck }) ||
		slices.ContainsFunc(l.taken, func(r room) bool { return r.id != 0 && !r.extended })
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

// find is the room for a check, or −1. A check is given one room or part of one, so that what comes back of it belongs to one
// entry; a permit must be of just its cost, or the one that it extends.
func (l *ledger) find(c *Check, now int64) int {
	return slices.IndexFunc(l.rooms, func(r room) bool {
		switch {
		case r.extended || c.Extend != 0:
			return r.id == c.Extend && r.usable(c.At, now)
		default:
			return r.usable(c.At, now) && r.expires == c.expires() && (r.amount == c.Cost || r.id == 0 && r.amount > c.Cost)
		}
	})
}

// place is how much checks at now can be given: what is free, and all rooms, since a write takes back those that a check cannot
// be given as they are.
func (l *ledger) place(now int64) int64 { return l.Free(now) + l.inRooms(now) }

// inRooms is what the rooms have.
func (l *ledger) inRooms(now int64) (sum int64) {
	for i := range l.rooms {
		if r := &l.rooms[i]; !r.extended && (r.id == 0 || now < r.ends) {
			sum += l.TokensOf(r.rule, r.amount)
		}
	}
	return sum
}

// spend gives a check the room that find has found, or part of it, and says which.
func (l *ledger) spend(c *Check, now int64) (given room) {
	i := l.find(c, now)
	r := &l.rooms[i]
	given = *r
	if r.amount -= c.Cost; r.amount == 0 || r.extended {
		l.rooms = slices.Delete(l.rooms, i, i+1)
	}
	return given
}

// take enters amount into a ledger that is to be written, and adds the room.
func (l *ledger) take(next *limit.Ledger, rooms []room, rule *limit.Rule, now, amount int64, cfg *Config) []room {
	if amount == 0 {
		return rooms
	}
	at := next.Enter(now, amount, 0)
	_, until := rule.Slot(at)
	return append(rooms, room{rule: cfg.entersBy(rule), at: at, until: until, amount: amount, ends: rule.Ends(at)})
}

// takeListed enters the permit or the hold of a check, and adds it.
func (l *ledger) takeListed(next *limit.Ledger, rooms []room, rule *limit.Rule, now int64, c *Check, cfg *Config) []room {
	r := room{rule: cfg.entersBy(rule), amount: c.Cost, expires: c.expires()}
	if r.expires != 0 {
		r.id = next.NextHold(cfg.Nonce)
		r.at = next.Hold(now, r.amount, r.id, r.expires, rule.Holds.OnExpiry == limit.Free)
	} else {
		r.id = cfg.Nonce() | 1 // never 0
		r.at = next.Enter(now, r.amount, r.id)
	}
	_, r.until = rule.Slot(r.at)
	r.ends = rule.Ends(r.at)
	return append(rooms, r)
}

// giveUpRooms has what no check has been given, and what came back, go back with the next write, and what a write in flight takes: it was had under other
// numbers.
func (l *ledger) giveUpRooms() {
	for _, rooms := range [...][]room{l.rooms, l.taken} {
		for i := range rooms {
			rooms[i].since = noCheck
		}
	}
}

// givenUp takes out of what was written the rooms that were given up meanwhile.
func (l *ledger) givenUp() {
	out := func(r room) bool {
		is := r.id == 0 && r.since == noCheck
		if is {
			r.out(l.Ledger)
		}
		return is
	}
	l.rooms, l.taken = slices.DeleteFunc(l.rooms, out), slices.DeleteFunc(l.taken, out)
}

// adapt puts the ledger under another rule of the bucket.
func (l *ledger) adapt(rule *limit.Rule, cfg *Config) {
	if cfg.inTokens() {
		l.AdaptInTokens(rule)
	} else {
		l.Adapt(rule)
	}
}

// takeBack is a copy of the ledger without the rooms, which are none any more. The one of the entry to which admissions at now belong
// stays if keep says so, and have is what it holds. Permits and holds are remembered until they are stored no more.
func (l *ledger) takeBack(rule *limit.Rule, now int64, keep bool) (next *limit.Ledger, have int64) {
	next, l.spare = l.Clone(l.spare), nil
	at, _ := rule.Slot(next.Time(now))
	kept := l.rooms[:0]
	for _, r := range l.rooms {
		switch {
		case keep && r.at == at && r.id == 0 && r.since == 0:
			have += r.amount
			kept = append(kept, r)
		case r.id != 0 && !r.extended:
			r.since = noCheck
			kept = append(kept, r)
			fallthrough
		default:
			r.out(next)
		}
	}
	l.rooms = kept
	return next, have
}

// out takes the room out of a ledger of this owner. A permit that was extended stays: its client is inside.
func (r *room) out(l *limit.Ledger) {
	switch {
	case r.extended:
	case r.id != 0:
		l.Remove(r.id)
	default:
		l.Take(r.rule, r.at, r.amount)
	}
}

// extend makes a permit last from now on in a ledger that is to be written, and says of which room.
func (l *ledger) extend(next *limit.Ledger, rule *limit.Rule, id uint64, now int64) (room, bool) {
	e, inside := next.Permit(id, now)
	if !inside {
		return room{}, false
	}
	next.Remove(id)
	at := next.Enter(now, e.Amount, id)
	_, until := rule.Slot(at)
	return room{at: at, until: until, amount: e.Amount, id: id, ends: rule.Ends(at), extended: true}, true
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
		i := slices.IndexFunc(l.rooms, func(o room) bool { return o.at == r.at && o.id == 0 && o.since == 0 && r.id == 0 })
		if i < 0 {
			l.rooms = append(l.rooms, r)
		} else {
			l.rooms[i].amount += r.amount
		}
	}
}

// busyUntil is until when the bucket has room that would be lost with it, or permits that no check was given.
func (l *ledger) busyUntil() (until int64) {
	for _, r := range l.rooms {
		until = max(until, r.until)
	}
	for _, rooms := range [...][]room{l.rooms, l.taken} {
		for _, r := range rooms {
			if r.id != 0 && !r.extended || r.since == noCheck {
				until = max(until, r.ends)
			}
		}
	}
	return until
}
