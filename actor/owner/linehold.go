package owner

import (
	"cmp"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// lineHolds are the holds that an owner has taken of a bucket's line, in its memory alone. A settlement below what is held makes credit
// of the end of the hold's line, as a return does; one above it spends more, beyond what checks may spend as far as the limit's debt
// goes. They die with their owner, which leaves them charged in full: so only limits have them whose buckets are full again soon.
type lineHolds struct {
	byID    map[uint64]*lineHold
	settled settledHolds // own ones that were charged what was used
	numbers limit.HoldNumbers
	spare   []*lineHold // to be used again
	foreign int         // how many of byID are
	reuses  int         // pieces that those of byID have spent again
	expire  int64       // no hold that is freed then expires earlier; math.MaxInt64 for none
	stretch uint64      // of line: goes up when nothing spent before can be given back
	pruneAt int         // how many there are when prune looks again
	pruned  int64       // when it looked last
}

// lineHold is a hold of the line.
type lineHold struct {
	spent
	id      uint64
	number  uint64 // which its id tells to its owner; 0 for that of another one
	amount  int64  // tokens
	used    int64  // so far, as settlements have said
	charged int64  // tokens that it has taken of the line
	at      int64  // when it was taken
	until   int64  // when it expires
	overAt  int64  // when it was settled for good
	stretch uint64
	free    bool // when it expires, what was not used is free
	settled bool
	foreign bool // another owner has taken it, which is gone
	expired bool // without a settlement for good, and that was told: see Out.Expired
}

const (
	// maxLineHolds is how many holds a bucket remembers at most, with those that have expired.
	maxLineHolds = 16_384
	// maxSpareHolds is how many are kept to be used again.
	maxSpareHolds = 32
	// maxForeign is how many holds of other owners it remembers at most, and maxUncharged how many holds it may remember so that a foreign one
	// is remembered too of which nothing is charged.
	maxForeign   = 4096
	maxUncharged = 1024
)

// lineHolds are those of the bucket, or nil for none.
func (b *bucket) lineHolds() *lineHolds {
	if b.extra == nil {
		return nil
	}
	return b.extra.holds
}

func (hs *lineHolds) add(h *lineHold, now int64) {
	if len(hs.byID) >= hs.pruneAt {
		hs.prune(now)
	}
	if _, there := hs.byID[h.id]; !there {
		hs.reuses += len(h.reuses)
		if h.foreign {
			hs.foreign++
		}
	}
	hs.byID[h.id] = h
	if h.free && !h.settled {
		hs.expire = min(hs.expire, h.until)
	}
}

// prune forgets what no settlement can be about any more.
func (hs *lineHolds) prune(now int64) {
	hs.pruned = now
	for _, h := range hs.byID {
		if now >= h.rememberedUntil() {
			hs.drop(h)
		}
	}
	const few = 16
	hs.pruneAt = max(2*len(hs.byID), few)
}

// drop forgets h, whose number then tells nothing of it.
func (hs *lineHolds) drop(h *lineHold) {
	hs.numbers.Forget(h.id)
	if h.foreign {
		hs.foreign--
	}
	hs.reuses -= len(h.reuses)
	delete(hs.byID, h.id)
}

// full says whether there is no room for another hold. It looks for those that can be forgotten once a second.
func (hs *lineHolds) full(now int64) bool {
	if len(hs.byID) >= maxLineHolds && now-hs.pruned >= int64(time.Second) {
		hs.prune(now)
	}
	return len(hs.byID) >= maxLineHolds
}

// fullOfForeign is full for holds of other owners.
func (hs *lineHolds) fullOfForeign(now int64) bool {
	if hs.foreign >= maxForeign && now-hs.pruned >= int64(time.Second) {
		hs.prune(now)
	}
	return hs.foreign >= maxForeign
}

func (h *lineHold) rememberedUntil() int64 {
	if h.overAt > 0 {
		return h.overAt + int64(limit.SettleLate)
	}
	return h.until + int64(limit.SettleLate)
}

// busyUntil is until when a settlement may be about one of the holds.
func (hs *lineHolds) busyUntil() (until int64) {
	if hs == nil {
		return 0
	}
	until = hs.settled.until
	for _, h := range hs.byID {
		until = max(until, h.rememberedUntil())
	}
	return until
}

// giveBack says whether a settlement at now could give back something of one of the holds.
func (hs *lineHolds) giveBack(now int64) bool {
	if hs == nil {
		return false
	}
	for _, h := range hs.byID {
		if h.charged > h.used && h.stretch == hs.stretch && now < h.rememberedUntil() {
			return true
		}
	}
	return false
}

// forgetLine is for a bucket whose line was given up, or has come back by itself: nothing of what was spent before can be given back.
func (hs *lineHolds) forgetLine() { hs.stretch++ }

// due is how many tokens the hold takes at now.
func (h *lineHold) due(now int64) int64 {
	if h.settled || h.free && now >= h.until {
		return h.used
	}
	return max(h.amount, h.used)
}

func (h *lineHold) state(now int64) limit.HoldState {
	switch {
	case h.foreign:
		return limit.HoldLost
	case h.settled:
		return limit.HoldSettled
	case now >= h.until:
		return limit.HoldExpired
	}
	return limit.HoldOpen
}

// met is the state in which a settlement meets the hold.
func (h *lineHold) met(now int64) limit.HoldState {
	switch {
	case h.overAt > 0:
		return limit.HoldSettled
	case h.foreign:
		return limit.HoldLost
	case now >= h.until:
		return limit.HoldExpired
	}
	return limit.HoldOpen
}

// see shows the holds that a settlement at now could be about.
func (hs *lineHolds) see(now int64) *limit.HoldsSeen {
	type seen struct {
		limit.SeenHold
		at, due int64
	}
	var all []seen
	if hs != nil {
		for _, h := range hs.byID {
			if now < h.rememberedUntil() {
				all = append(all, seen{limit.SeenHold{ID: h.id, State: h.state(now), Amount: h.amount, Used: h.used, Until: h.until}, h.at, h.due(now)})
			}
		}
		for i := range hs.settled.places {
			if h := &hs.settled.places[i]; h.remembered(now) {
				all = append(all, seen{limit.SeenHold{ID: h.id, State: limit.HoldSettled, Amount: h.amount, Used: h.used, Until: h.until}, h.at, h.used})
			}
		}
	}
	slices.SortFunc(all, func(a, b seen) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ID, b.ID)) })
	return limit.SeeHolds(len(all), func(i int) (limit.SeenHold, int64) { return all[i].SeenHold, all[i].due })
}

// addLine adds line that was spent for h, which byID may have, later.
func (hs *lineHolds) addLine(h *lineHold, more spent) {
	if h.stretch == hs.stretch {
		more.reuses = slices.Concat(h.reuses, []piece{h.piece}, more.reuses)
	}
	if hs.byID[h.id] == h {
		hs.reuses += len(more.reuses) - len(h.reuses)
	}
	h.spent, h.stretch = more, hs.stretch
}

// cut takes up to length off the end of what was spent.
func (s *spent) cut(rule *limit.Rule, length limit.Pos) (end spent) {
	end.piece = s.cutPiece(rule, &s.piece, &length)
	for i := len(s.reuses) - 1; i >= 0 && length.After(limit.Pos{}); i-- {
		end.reuses = append(end.reuses, s.cutPiece(rule, &s.reuses[i], &length))
	}
	return end
}

// cutPiece takes up to length off the end of p, and off length what it was.
func (s *spent) cutPiece(rule *limit.Rule, p *piece, length *limit.Pos) piece {
	size := rule.Sub(p.end, p.start)
	if !length.After(size) {
		size = *length
	}
	from := rule.Sub(p.end, size)
	cut := piece{from, p.end}
	p.end, *length = from, rule.Sub(*length, size)
	return cut
}

// take takes in what s says. What was settled for good stays so.
func (h *lineHold) take(s *Settle, now int64) {
	if h.settled {
		return
	}
	if s.For > 0 && now < h.until {
		h.until = max(h.until, now+s.For)
	}
	switch {
	case h.foreign: // nothing of it comes back
		h.used, h.settled = max(h.amount, h.used, s.Used), !s.Open
	case s.Open:
		h.used = max(h.used, s.Used)
	default:
		h.used, h.settled = s.Used, true
	}
}

// settle notes that h, which byID has, was settled at now. The caller does not use h any more. Of a hold that was charged what was used,
// the number tells as much once it is forgotten.
func (hs *lineHolds) settle(h *lineHold, now int64) {
	hs.reuses -= len(h.reuses)
	h.overAt, h.spent = now, spent{} // nothing of it comes back any more
	if h.charged == h.used && hs.numbers.Tells(h.number) {
		delete(hs.byID, h.id)
		hs.settled.add(&settledHold{id: h.id, amount: h.amount, used: h.used, at: h.at, until: h.until, overAt: now}, h.number, &hs.numbers, now)
		if len(hs.spare) < maxSpareHolds {
			hs.spare = append(hs.spare, h)
		}
	}
}

// unused is a hold of which nothing is known yet.
func (hs *lineHolds) unused() *lineHold {
	last := len(hs.spare) - 1
	if last < 0 {
		return &lineHold{}
	}
	h := hs.spare[last]
	hs.spare = hs.spare[:last]
	return h
}

// prefetch brings what the next hold or settlement needs into the processor's caches, and returns a meaningless number.
func (hs *lineHolds) prefetch() int {
	if hs == nil {
		return 0
	}
	warmth := len(hs.byID)
	if last := len(hs.spare) - 1; last >= 0 {
		warmth += int(hs.spare[last].amount)
	}
	if len(hs.settled.places) > 0 {
		warmth += int(hs.settled.place(hs.numbers.Last()).overAt)
	}
	return warmth
}
