package nodes

import "time"

// apart is how much later than some of the callers of a message the last of them may leave, however soon they do.
const apart = 100 * time.Millisecond

// deadlines are those of what shares a message. A node decides all of it until the latest of them, also for callers that have left before, and a
// hold that it takes then is nobody's. So a deadline joins only if the latest is at most twice as far from now as the earliest, or apart later.
type deadlines struct{ earliest, latest time.Time }

// join says whether a deadline has joined the others.
func (d *deadlines) join(deadline, now time.Time) bool {
	all := deadlines{deadline, deadline}
	if *d != (deadlines{}) {
		if d.earliest.Before(all.earliest) {
			all.earliest = d.earliest
		}
		if d.latest.After(all.latest) {
			all.latest = d.latest
		}
	}
	if all.latest.Sub(all.earliest) > max(apart, all.earliest.Sub(now)) {
		return false
	}
	*d = all
	return true
}
