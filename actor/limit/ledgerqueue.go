package limit

import "math"

// What a hold has taken stands in the queue like all else, and comes back by the following rule. Had the hold taken u less, the bucket would
// have had to refill less ever since: by u at first, and by no more than it had to refill at any moment since, because a full bucket takes no
// more. So the difference now is the lesser of u and the least that it had to refill since: [HoldEntry].Low.
//
//	to refill
//	   │╲    ╱╲                with the hold
//	 u │ ╲  ╱  ╲╱╲
//	   │   ╲    ╱ │ Low      without: lower by Low now
//	───┴────╲──╱──┴──────▶ t

// farthest is how far ahead of now a queue can reach: no limit, nor what its debt lets be charged, goes beyond.
const farthest = 2 * int64(MaxFill)

// queueUp adds amount to the queue, as tokens of that price that were taken at at.
func (l *Ledger) queueUp(at, amount int64, each price) {
	l.lowered(min(at, l.now))
	l.countIn(each)
	from := Later(l.line.tat, At(at))
	l.line.tat, l.line.mine = add(from, each.length(amount), each.n), true
	if most := min(l.now+farthest, lastTAT); l.line.tat.NS > most {
		l.line.tat = At(most)
	}
}

// queueMore adds amount to the queue, of a hold that takes so much more from now on. So the bucket has to refill more than without the hold by as
// much more.
func (l *Ledger) queueMore(h *HoldEntry, amount int64) {
	l.queueUp(l.now, amount, h.each)
	h.Low = add(h.Low, h.each.length(amount), max(h.each.n, 1))
	if rest := l.toRefill(l.now); h.Low.After(rest) {
		h.Low = rest
	}
}

// countIn has positions count in other parts of a nanosecond. Those between two of them are rounded, so that nothing is given.
func (l *Ledger) countIn(each price) {
	if l.line.each.n != each.n {
		l.line.tat = At(l.line.tat.Ceil())
		for i := range l.holds {
			l.holds[i].Low = At(l.holds[i].Low.NS)
		}
	}
	l.line.each = each
}

// pruneQueue forgets a queue that has come back once the clock of every owner shows so, for what refilled until then is given: what another
// one admits comes back behind it. Otherwise owners whose clocks differ give the same again in turn.
func (l *Ledger) pruneQueue() {
	if l.now >= l.line.tat.Ceil()+l.late {
		l.line = queue{each: l.line.each}
	}
}

// toRefill is the line that the bucket has to refill at t.
func (l *Ledger) toRefill(t int64) Pos {
	if !l.line.tat.After(At(t)) {
		return Pos{}
	}
	return sub(l.line.tat, At(t), max(l.line.each.n, 1))
}

// queued is how many tokens of the ledger's own limit the bucket has to refill at t.
func (l *Ledger) queued(t int64) int64 {
	rest := l.toRefill(t)
	if l.line.each.n != l.queue.n {
		rest = At(rest.Ceil())
	}
	return l.queue.tokensFor(rest)
}

// queuedUntil is when no more than rest tokens of the ledger's own limit have still to come back.
func (l *Ledger) queuedUntil(rest int64) int64 {
	tat := l.line.tat
	if l.line.each.n != l.queue.n {
		tat = At(tat.Ceil())
	}
	return sub(tat, l.queue.length(rest), l.queue.n).Ceil()
}

// lowered notes how much the bucket has to refill at t, before that grows.
func (l *Ledger) lowered(t int64) {
	rest := l.toRefill(t)
	for i := range l.holds {
		if h := &l.holds[i]; h.Low.After(rest) {
			h.Low = rest
		}
	}
}

// takeQueued takes up to amount tokens of a price out of the queue, which have just been added.
func (l *Ledger) takeQueued(each price, amount int64) {
	if l.line.mine {
		l.shorten(each, amount, l.toRefill(l.now))
	}
}

// shorten takes amount tokens of a price out of the queue, and no more than most, and says how much line that is.
func (l *Ledger) shorten(each price, amount int64, most Pos) (back Pos) {
	if back = each.length(amount); l.line.each.n != each.n {
		back.Frac = 0
	}
	if back.After(most) {
		back = most
	}
	l.line.tat = sub(l.line.tat, back, max(l.line.each.n, 1))
	return back
}

// giveBackQueued takes up to amount out of the queue, of what the i-th hold has taken. To those that were taken after it the bucket had
// to refill less by so much ever since; to those before, since then.
func (l *Ledger) giveBackQueued(i int, amount int64) {
	l.lowered(l.now)
	low := l.holds[i].Low
	back := l.shorten(l.holds[i].each, amount, low)
	if back == (Pos{}) {
		return
	}
	n := max(l.line.each.n, 1)
	left := sub(low, back, n)
	for j := range l.holds {
		h := &l.holds[j]
		switch {
		case j < i && h.Low.After(left):
			h.Low = left
		case j >= i && h.Low.After(back):
			h.Low = sub(h.Low, back, n)
		case j >= i:
			h.Low = Pos{}
		}
	}
}

// chargeable is how many tokens of what a hold was taken in may be charged, where so many of the ledger's own limit may.
func (l *Ledger) chargeable(h *HoldEntry, room int64) int64 {
	if l.queue == nil || h.each == l.queue.price || room <= 0 {
		return room
	}
	return min(h.each.tokensIn(At(l.queue.length(room).NS)), math.MaxInt64/4)
}
