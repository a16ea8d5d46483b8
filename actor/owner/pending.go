package owner

// A pending reservation waits for a majority. A bucket has at most one.
type pending struct {
	Send
	reset    bool
	waits    int64                // when the check begins that needs it, if that waits
	stalled  bool                 // as it was sent last, it cannot come about
	askedAt  int64                // when it was sent first
	sentAt   int64                // when it was sent last
	resendAt int64                // when it is to be sent again, unless its answers come
	heardAt  int64                // when the last answer came
	replies  [MaxReplicas]Verdict // 0: nothing yet
	floored  uint8                // a bit for each replica that has replied behind a floor
}

// record notes the first answer of each replica and says whether this was one. A replica that was lost may come back,
// and one that was elsewhere may enter the epoch.
func (p *pending) record(a Answer) bool {
	v := &p.replies[a.Replica]
	if v.hasPosition() {
		return false
	}
	*v = a.Verdict
	if p.floored &^= 1 << a.Replica; a.Floored {
		p.floored |= 1 << a.Replica
	}
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

// far is by how much it lies ahead of the time at which it was asked for.
func (p *pending) far() stretch { return stretchOf(p.To - p.askedAt) }

// renew is for a reservation that is sent again: who did not serve it may do so now.
func (p *pending) renew(now int64, cfg *Config) {
	p.stalled, p.sentAt, p.resendAt = false, now, cfg.resendAt(now)
	for i := range p.replies {
		if v := &p.replies[i]; !v.hasPosition() || *v == Skewed {
			*v = 0
		}
	}
}

// stuck says whether p waits for silent replicas although a majority has told from where on it would accept.
func (p *pending) stuck(cfg *Config) bool {
	c := p.count()
	return c.said() > c.accepted && c.said() >= cfg.majority()
}

// silent says whether so many have said nothing that there is no majority without them.
func (p *pending) silent(cfg *Config) bool {
	c := p.count()
	return c.said()+c.elsewhere < cfg.majority()
}

const (
	silence    = int64(5e6) // after a refusal, how long a silent replica is waited for that costs little to leave out
	firstPause = int64(1e6) // the most that the first retry waits; it doubles with each further one …
	maxDouble  = 3          // … this many times, up to 8 ms
)

// A refusal is a reservation that was given up, and what the replicas said to it. Answers that come late still count.
type refusal struct {
	pending
	until  int64 // for checks from then on it does not tell which replicas are lost or silent
	waited bool  // for the silent ones
}

// missing says whether a replica has not told its position.
func (r *refusal) missing(cfg *Config) bool { return r.count().said() < cfg.Replicas }
