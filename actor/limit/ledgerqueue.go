package limit

// The ledger of a bucket has one entry, the queue of all that was admitted, of which tokens come back one after the other. What a hold
// has taken stands in it like all else, and comes back by the following rule. Had the hold taken u less, the bucket would have had to
// refill less ever since: by u at first, and by no more than it had to refill at any moment since, because a full bucket takes no more.
// So the difference now is the lesser of u and the least that it had to refill since: [HoldEntry].Low.
//
//	to refill
//	   │╲    ╱╲                with the hold
//	 u │ ╲  ╱  ╲╱╲
//	   │   ╲    ╱ │ Low      without: lower by Low now
//	───┴────╲──╱──┴──────▶ t

// queueUp adds amount to the queue.
func (l *Ledger) queueUp(amount int64) {
	l.lowered()
	l.pruneQueue()
	e := Entry{At: l.now, Mine: true}
	if len(l.entries) > 0 {
		e = l.entries[0]
		e.Mine = true
		if e.Amount == 0 {
			e.At = max(e.At, l.now)
		}
	}
	e.Amount += amount
	l.entries = append(l.entries[:0], e)
}

// pruneQueue moves the queue on to now. When it had come back is kept as long as the clock of another owner may show an earlier time, for what
// refilled until then is given: what the other admits comes back behind it. Otherwise owners whose clocks differ give the same again in turn.
func (l *Ledger) pruneQueue() {
	if len(l.entries) == 0 {
		return
	}
	e := &l.entries[0]
	if until := l.Until(e); l.now >= until {
		e.At, e.Amount = until, 0
	}
	switch {
	case e.Amount > 0:
		e.At, e.Amount = l.queue.moveOn(e.At, e.Amount, l.now)
	case l.now >= e.At+l.late:
		l.entries = l.entries[:0]
	}
}

// lowered notes how much the bucket has to refill now, before that grows.
func (l *Ledger) lowered() {
	low := l.low()
	for i := range l.holds {
		l.holds[i].Low = min(l.holds[i].Low, low)
	}
}

// low is how much the bucket has to refill now, in whole tokens.
func (l *Ledger) low() int64 {
	if len(l.entries) == 0 {
		return 0
	}
	return l.queue.whole(l.entries[0].At, l.entries[0].Amount, l.now)
}

// giveBackQueued takes up to amount out of the queue, of what the i-th hold has taken. To those that were taken after it the bucket had
// to refill less by so much ever since; to those before, since then. As Low is in whole tokens, a part of one may be lost. Nothing is lost where the bucket never
// had less to refill since the hold than it has now, and amount is more than that: without the hold it is full.
func (l *Ledger) giveBackQueued(i int, amount int64) {
	if rest := l.low(); len(l.entries) > 0 && l.now < l.Until(&l.entries[0]) && amount > rest && l.holds[i].Low > rest {
		l.entries[0].At, l.entries[0].Amount = max(l.entries[0].At, l.now), 0
	}
	l.lowered()
	low := l.holds[i].Low
	amount = min(amount, low)
	if amount <= 0 {
		return
	}
	l.entries[0].Amount -= amount
	for j := range l.holds {
		h := &l.holds[j]
		if j < i {
			h.Low = min(h.Low, low-amount)
		} else {
			h.Low = max(0, h.Low-amount)
		}
	}
}
