package clustertests

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// How long callers wait in the second after the owner of a third of their keys was killed, and in the second before. It is
// a figure and no promise: a busy machine makes every caller slow.
func TestEventLatencyOfAKill(t *testing.T) {
	d := newDrill(t)
	rounds := 1
	if *long {
		rounds = 12
	}
	var before, after []time.Time
	for i := range rounds {
		m := d.cluster.Members[i%3]
		before = append(before, time.Now())
		d.pass(time.Second)
		after = append(after, time.Now())
		m.Kill()
		d.pass(time.Second)
		m.Launch()
		d.serves(m)
		d.pass(lasting(time.Second/2, 3*time.Second))
	}
	d.end(false)
	t.Logf("in the second before a kill: %s", percentiles(within(d.load.Calls(), before)))
	t.Logf("in the second after it:      %s", percentiles(within(d.load.Calls(), after)))
}

// within are how long those calls took that began in the second after any of these times.
func within(calls []history.Call, from []time.Time) (took []time.Duration) {
	for _, c := range calls {
		if slices.ContainsFunc(from, func(at time.Time) bool {
			return c.Start >= at.UnixNano() && c.Start < at.Add(time.Second).UnixNano()
		}) {
			took = append(took, time.Duration(c.End-c.Start))
		}
	}
	slices.Sort(took)
	return took
}

// percentiles is a line for people to read, of sorted durations.
func percentiles(took []time.Duration) string {
	if len(took) == 0 {
		return "no checks"
	}
	at := func(q float64) time.Duration {
		return took[min(int(q*float64(len(took))), len(took)-1)].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%d checks, p50 %v, p99 %v, p99.9 %v, longest %v", len(took), at(0.5), at(0.99), at(0.999), at(1))
}
