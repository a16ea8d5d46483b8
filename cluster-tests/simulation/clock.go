package simulation

// A clock is a node clock: it never goes back within one life of a process, and it may be wrong.
type clock struct {
	grain  int64 // it shows multiples of this
	anchor int64 // at this true time …
	shown  int64 // … it showed this
	ppm    int64 // and goes so many millionths too fast
	still  bool  // or not at all: the machine is suspended
	last   int64 // the latest that it has shown in this life
	held   int64 // when it last began to stand still, or was put back: it shows the same for longer then
}

// at is what the clock shows at a true time, which never goes back.
func (c *clock) at(now int64) int64 {
	t := c.raw(now)
	t -= t % c.grain
	c.last = max(c.last, t)
	return c.last
}

func (c *clock) raw(now int64) int64 {
	if c.still {
		return c.shown
	}
	since := now - c.anchor
	return c.shown + since + since/1e6*c.ppm
}

// set makes the clock go on from what it shows now, ahead of the true time by that much, and so much too fast.
func (c *clock) set(now, ahead, ppm int64) {
	c.anchor, c.shown, c.ppm, c.still = now, now+ahead, ppm, false
}

// shift puts the clock forward, or back if by is negative; then it stands still until it has caught up.
func (c *clock) shift(now, by int64) {
	c.anchor, c.shown = now, c.raw(now)+by
	if by < 0 {
		c.held = now
	}
}

// drift makes it go too fast or too slow from now on.
func (c *clock) drift(now, ppm int64) { c.anchor, c.shown, c.ppm = now, c.raw(now), ppm }

// stop lets it stand still until it goes on.
func (c *clock) stop(now int64) {
	c.anchor, c.shown, c.still, c.held = now, c.raw(now), true, now
}

// resume lets it go on from where it stands.
func (c *clock) resume(now int64) { c.anchor, c.still = now, false }

// heldBetween says whether it was held between two times, the last time that it was.
func (c *clock) heldBetween(from, to int64) bool { return from <= c.held && c.held <= to }

// restart is for the beginning of a life: what it has shown before counts no more.
func (c *clock) restart() { c.last = 0 }

// ahead is by how much the clock is ahead of the true time.
func (c *clock) ahead(now int64) int64 { return c.at(now) - now }
