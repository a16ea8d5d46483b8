package simulation

// A loader plans the calls of one key.
type loader struct {
	*planner

	key    int
	shape  int64
	of     order
	left   int
	back   int64 // how many in a hundred of what is admitted are given back
	later  int64 // when that is at the latest; 0 for 20 s
	resets int64 // an hour
}

// Shapes of a load: about as much as the limit allows, and very much for a moment.
const (
	steady = 1
	hot    = 4
)

// load plans calls to the end, or until there are enough.
func (l *loader) load() {
	d := l.die
	rule := l.limits[0].rules[0]
	token := rule.Length(1).NS
	for at := d.below(minute); at < l.duration && l.left > 0; {
		switch l.shape {
		case 0: // cold
			l.check(at)
			at += d.spread(second, 10*minute)
		case 1: // about as much as the limit allows
			l.check(at)
			at += d.between(1, 4*max(token, 50*ms))
		case 2: // saturated for a while
			l.wave(at, d.spread(second, 2*minute), max(token/d.between(2, 5), 2*ms), 400)
			at += d.spread(minute, 30*minute)
		case 3: // bursts
			l.wave(at, d.spread(ms, 2*second), d.spread(us, 50*ms), int(2*min(rule.Capacity, 100))+5)
			at += d.spread(5*second, 20*minute)
		default: // hot
			gap := d.between(us, 6*ms)
			if l.theme == contending {
				gap /= 4
			}
			l.wave(at, d.spread(200*ms, 3*second), gap, 800)
			at += d.spread(2*minute, 40*minute)
		}
	}
	if l.resets == 0 {
		return
	}
	for at := d.below(2 * hour / l.resets); at < l.duration; at += d.below(2 * hour / l.resets) {
		l.call(at, wanted{what: resets, limits: []int{int(d.below(int64(l.lines())))}})
		for range d.below(4) { // and those who hope for it
			l.check(at + d.spread(ms, 10*second))
		}
	}
}

// wave plans checks one after the other, so many at most.
func (l *loader) wave(at, last, gap int64, most int) {
	for end := at + last; at < end && at < l.duration && l.left > 0 && most > 0; most-- {
		l.check(at)
		at += l.die.between(0, 2*gap)
	}
}

// check plans a check, and perhaps that it is given back.
func (l *loader) check(at int64) {
	d := l.die
	c := wanted{cost: 1}
	switch d.below(10) {
	case 0:
		c.cost = 0
	case 1, 2:
		c.cost = d.between(1, max(1, min(l.limits[0].rules[0].Capacity, 40)))
	case 3:
		c.cost = d.between(1, l.limits[0].rules[0].Capacity+1)
	}
	if l.theme == contending { // dear ones would leave nothing to reserve ahead
		c.cost = 1
	}
	for i := range l.lines() {
		if i == 0 || d.percent(30) {
			c.limits = append(c.limits, i)
		}
	}
	l.left--
	id := l.call(at, c)
	if d.percent(l.back) {
		for range 1 + d.below(2) { // a caller that does not hear that it was taken may ask again
			l.call(at+d.spread(ms, max(l.later, 20*second)), wanted{what: gives, of: id})
		}
	}
}

func (l *loader) call(at int64, c wanted) uint64 {
	d := l.die
	c.key, c.order = l.key, l.of
	c.wait, c.silent = pick(d, 50*ms, 100*ms, 100*ms, 200*ms, 200*ms, 200*ms, 500*ms, 500*ms, 500*ms, 2*second), pick(d, 50*ms, 50*ms, 250*ms, second)
	switch {
	case l.exact:
		c.wait, c.silent = 30*second, 30*second
	case d.percent(1):
		c.wait = 30 * second
	}
	return l.plan(at, item{kind: asksFor, call: &c})
}
