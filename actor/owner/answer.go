package owner

// A Verdict is what a replica said to a reservation.
type Verdict uint8

// The verdicts that an owner tells apart.
const (
	Accepted  Verdict = iota + 1
	Refused           // the line is not free
	Skewed            // this owner's clock differs too much from the replica's
	Reset             // the bucket has entered a newer generation
	Lost              // the replica will not answer: it has ended, or cannot be reached
	Elsewhere         // the replica does not serve this epoch; of the line it says nothing
	Gone              // the replica is lost, and has been for longer than anybody would wait for it
	Full              // the replica has no room for a bucket of a limit that a request defines
)

// An Answer is what one replica says to a Send.
type Answer struct {
	Replica    int // its index, below Config.Replicas
	Limit      string
	Seq        uint64
	Epoch      uint64 // of the Send
	Verdict    Verdict
	Position   int64 // To when accepted; otherwise from where on the replica's line is free
	Generation int64 // what Position is for
}

// Answer takes in what a replica says to a Send, and decides the checks that can now be decided. Late answers, to
// reservations that were given up, teach where the line is free and nothing else. Those to a Send of another epoch teach
// nothing: the replica of that index was another one.
func (o *Owner) Answer(a Answer, now int64, out *Out) {
	b := o.find(a.Limit)
	if b == nil || a.Epoch != o.epoch || a.Replica < 0 || a.Replica >= o.cfg.Replicas {
		return
	}
	if o.Waiting() == 0 && b.confirms(a) {
		return
	}
	if a.Verdict == Reset && a.Generation > b.gen {
		if p := b.pending(); p != nil && p.reset {
			b.talk().backOff(now, o.cfg) // two that reset at once would overtake each other for ever
		}
		b.adopt(a.Generation, out)
	}
	if a.Verdict.tells() {
		b.hear(a, out)
	}
	if p := b.pending(); p != nil && p.Seq == a.Seq && p.record(a) {
		p.heardAt = now
		o.settle(b, p, now, out)
	}
	if r := b.refused(); r != nil && r.Seq == a.Seq && r.record(a) && r.count().full > o.cfg.spare() {
		o.noRoom(b, out)
	}
	o.run(now, out)
}

// tells says whether the answer says where the replica's line is free.
func (v Verdict) tells() bool { return v != 0 && v != Lost && v != Gone && v != Elsewhere }

// confirms says whether an answer tells a bucket at rest no more than that one more replica has accepted what it holds, and
// notes it: of each reservation's answers, those that come after the majority.
func (b *bucket) confirms(a Answer) bool {
	if b.talk() != nil || a.Verdict != Accepted || a.Generation != b.gen || a.Position != b.held.to {
		return false
	}
	b.agree |= 1 << a.Replica
	return true
}

// record notes the first answer of each replica and says whether this was one. A replica that was lost may come back,
// and one that was elsewhere may enter the epoch.
func (p *pending) record(a Answer) bool {
	v := &p.replies[a.Replica]
	if v.tells() {
		return false
	}
	*v = a.Verdict
	return true
}

// A count says how many replicas answered what. Those that are gone are lost too.
type count struct{ accepted, refused, skewed, full, lost, gone, elsewhere int }

// said is how many told where their line is free.
func (c count) said() int { return c.accepted + c.refused + c.skewed + c.full }

func (c count) answered() int { return c.said() + c.lost + c.elsewhere }

func (p *pending) count() (c count) {
	for _, v := range p.replies {
		switch v {
		case Accepted:
			c.accepted++
		case Refused, Reset:
			c.refused++
		case Skewed:
			c.skewed++
		case Full:
			c.full++
		case Lost:
			c.lost++
		case Gone:
			c.lost++
			c.gone++
		case Elsewhere:
			c.elsewhere++
		}
	}
	return c
}

// settle ends a reservation if its answers permit: a majority has accepted it, or would only if it began further on. One
// that cannot come about for another reason is sent again: a replica whose clock differs, or that is lost, is asked anew, and
// what others have accepted is not asked of them once more further on. Once a replica has refused because of the clock the
// answers that are missing are awaited: the one on the owner's own node, which has the same clock, must not end every try
// before a majority has said so.
func (o *Owner) settle(b *bucket, p *pending, now int64, out *Out) {
	c, spare := p.count(), o.cfg.spare()
	decided := c.skewed == 0 || c.answered() == o.cfg.Replicas
	switch {
	case c.accepted >= o.cfg.majority():
		o.take(b, p, out)
	case c.full > spare:
		o.giveUp(b, now, false, out)
		o.noRoom(b, out)
	case c.skewed > spare:
		o.giveUp(b, now, false, out)
	case decided && b.beyond(p, o.cfg):
		o.giveUp(b, now, false, out)
	case c.answered()-c.accepted <= spare || !decided && c.lost+c.elsewhere == 0:
	case c.skewed+c.full > 0 && c.refused > 0 && b.free(p.Generation, talking, p, o.cfg)-p.From <= b.skips(o.cfg):
		o.giveUp(b, now, true, out)
	case c.skewed+c.lost+c.elsewhere > 0:
		o.inVain(b, p, c, now, out)
	default:
		o.giveUp(b, now, false, out)
		if c.full > 0 {
			o.noRoom(b, out)
		}
	}
}

// take enters the segment that a majority has accepted.
func (o *Owner) take(b *bucket, p *pending, out *Out) {
	t := b.talk()
	t.pending, t.refused, t.tries, t.skewed = nil, nil, 0, false
	s := segment{p.From, p.To}
	switch {
	case p.reset:
		if o.crowd != nil {
			o.crowd.didSeq = p.Seq
		}
		b.adopt(p.Generation, out)
		b.extend(s, p.far())
	case p.far().over(b.rule, p.Reach, o.cfg) > 0: // the rule was made shorter meanwhile
	case p.Background && s.from > b.held.to:
		t.next, t.nextFar = s, p.far()
	default:
		b.extend(s, p.far())
	}
}
