package clustertests

import (
	"testing"
	"time"
)

// The owner of a third of all keys is frozen for ten seconds, as a machine is that swaps or is moved, and then goes on as
// if nothing had happened: with segments in its memory that it may still spend, and positions that others have left
// behind. Its callers ask the next replica meanwhile, and nothing fails. Once it goes on, its reservations are refused; it
// learns from that where the line is free, and serves on.
func TestEventOwnerFrozen(t *testing.T) {
	d := newDrill(t)
	m := d.cluster.Members[1]
	refused := d.metric(m, "jeton_reservation_refusals_total", "taken")
	m.Freeze()
	d.pass(lasting(3*time.Second, 10*time.Second))
	m.Thaw()
	thawed := time.Now()
	d.serves(m)
	t.Logf("it decides again %v after it was thawed", time.Since(thawed).Round(time.Millisecond))
	d.until("a reservation of the thawed owner was refused", func() bool {
		return d.metric(m, "jeton_reservation_refusals_total", "taken") > refused
	})
	d.load.Answered(2 * perSecond)
	t.Logf("%.0f reservations of the thawed owner were refused, %.0f checks were tried a second time",
		d.metric(m, "jeton_reservation_refusals_total", "taken")-refused, d.hedges())
	d.end(false)
}
