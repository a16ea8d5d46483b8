package history

// A tab is a hold and what was said of it since, in the order in which that began.
type tab struct {
	hold    *Call
	settles []*Call
}

// tabs are those of the holds of the bucket, in the order in which they began.
func (b *bucket) tabs() (all []*tab) {
	byID := map[string]*tab{}
	for _, c := range b.only(KindHold, Admitted) {
		t := &tab{hold: c}
		byID[c.Hold.ID] = t
		all = append(all, t)
	}
	for _, c := range b.only(KindSettle, Done, Failed) {
		if t := byID[c.Hold.ID]; t != nil {
			t.settles = append(t.settles, c)
		}
	}
	return all
}

// final is the first answer that says that the hold is settled for good, or nil.
func (t *tab) final() *Call {
	for _, s := range t.settles {
		if s.Outcome == Done && s.Hold.State == Settled {
			return s
		}
	}
	return nil
}

// expires is when the hold may expire at the earliest: a process whose clock is behind may have taken it.
func (t *tab) expires(epsilon int64) int64 {
	at := t.hold.Start + t.hold.Hold.For
	for _, s := range t.settles {
		if s.Outcome == Done && s.Hold.State == Open && s.Hold.For > 0 {
			at = max(at, s.Start+s.Hold.For)
		}
	}
	return at - 2*epsilon
}

// expired is when the hold has expired at the latest, whichever process asks its clock.
func (t *tab) expired(epsilon int64) int64 {
	at := t.hold.End + t.hold.Hold.For
	for _, s := range t.settles {
		if s.Hold.For > 0 {
			at = max(at, s.End+s.Hold.For)
		}
	}
	return at + 2*epsilon
}

// A charge is what a hold certainly takes: all that it holds until it falls, in the time from falls to fallen, or never; then least; and
// from a settlement on that many more, or none.
type charge struct {
	*tab
	least         int64
	falls, fallen int64
	more          int64
	by            *Call // as long as that may have taken, with those before that may have had the effect
}

// charge reckons up what is certain of a hold. Of settlements for good that say different things, the one that charged least may have been
// the first.
func (t *tab) charge(b *bucket, epsilon int64) charge {
	k := charge{tab: t, falls: forever, fallen: forever}
	final, ends, said := t.final(), 0, int64(forever)
	for _, s := range t.settles {
		if !s.Hold.Open {
			ends, said, k.falls = ends+1, min(said, s.Cost), min(k.falls, s.Start)
		}
	}
	if final != nil {
		said = min(said, final.Hold.Charged)
	}
	k.least = min(t.hold.Cost, said)
	expires := t.expires(epsilon)
	freed := b.versions[0].Holds == Free && (final == nil || final.End > expires)
	if freed {
		k.least, k.falls = 0, min(k.falls, expires)
	}
	switch {
	case final != nil:
		have := k.least
		if final.Start <= t.expired(epsilon) { // it may have been settled in time: then what it held is where it was taken
			have = min(t.hold.Cost, said)
		}
		k.exceeds(final, said-have)
		if k.by != nil && freed && t.settles[0].Hold.Open { // what was said before the hold expired stays where the hold was taken
			k.by.Start = min(k.by.Start, t.hold.Start)
		}
		if ends == 1 && !freed {
			k.fallen = final.End
		}
	case ends == 0:
		for _, s := range t.settles {
			if s.Outcome == Done {
				k.exceeds(s, s.Hold.Charged-t.hold.Cost)
			}
		}
	}
	return k
}

// exceeds notes that a settlement has charged so much more.
func (k *charge) exceeds(s *Call, more int64) {
	if more > k.more {
		c := *s
		c.Start, c.Cost = k.settles[0].Start, more
		k.more, k.by = more, &c
	}
}
