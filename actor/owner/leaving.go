package owner

// eachToTakeOut calls f with each permit of the bucket that is to be taken out.
func (o *Owner) eachToTakeOut(b *bucket, f func(*Permit)) {
	if o.Waiting() == 0 {
		return
	}
	for i := range o.overflow.waiting() {
		permits := o.overflow.waiting()[i].permits
		for j := range permits {
			if p := &permits[j]; !p.over && p.Rule.Register() == b.rule.Register() {
				f(p)
			}
		}
	}
}

// noteEnded is for a ledger that was the latest at askedAt: permits that were not inside have ended, for those who had asked before to
// extend them. Of one that has ended since nothing is known: another owner may have extended it.
func (o *Owner) noteEnded(b *bucket, askedAt int64) {
	if o.Waiting() == 0 {
		return
	}
	for i := range o.overflow.waiting() {
		w := &o.overflow.waiting()[i]
		if w.Extend != 0 && w.Rules[0].Register() == b.rule.Register() {
			l := b.ledger()
			_, inside := l.Permit(w.Extend, askedAt)
			w.ended = !inside && w.At <= askedAt && l.TellsOf(askedAt)
		}
	}
}

// readListed is for a ledger that a claim was told. If it is another one than this owner has written, what is missing in it was taken
// out by another owner.
func (o *Owner) readListed(b *bucket, own bool) {
	b.ledger().keepTaken()
	o.eachToTakeOut(b, func(p *Permit) { p.sent, p.left = false, p.left && own })
	o.eachToSettle(b, func(s *Settle) { s.sent = false })
}

// leftOut is for a ledger that a majority has accepted: what it was written without is out.
func (o *Owner) leftOut(b *bucket) {
	o.eachToTakeOut(b, func(p *Permit) { p.over, p.Out = p.sent, p.left })
	o.eachToSettle(b, func(s *Settle) { s.over = s.sent })
}

// eachToSettle calls f with each settle of the bucket of which not all is known.
func (o *Owner) eachToSettle(b *bucket, f func(*Settle)) {
	if o.Waiting() == 0 {
		return
	}
	for i := range o.overflow.waiting() {
		settles := o.overflow.waiting()[i].settles
		for j := range settles {
			if s := &settles[j]; !s.over && s.Rule.Register() == b.rule.Register() {
				f(s)
			}
		}
	}
}
