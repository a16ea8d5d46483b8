package clustertests

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// The clock of one node is wrong, in every way that a clock can be wrong: it jumps ahead or back under load, it was wrong
// when the node was started, it is fast or slow by one part in a hundred. No check fails, and no key is over by more than
// 2·r·εmax: what the node reserves is refused, callers move on to others, and the node answers "unavailable" to what it is
// asked still, denials too. Where it is behind it is put forward by itself; where it is ahead, it serves again once the
// others have caught up with it: the clock of a node that would have to go back stands still.

// maxApart is εmax: how far the clocks of nodes may be apart before a node refuses anything.
const maxApart = int64(250 * time.Millisecond)

// wrongBy and driftOf are how wrong clocks are. A clock that gains or loses one part in a hundred is wrong after 25 s; in CI
// it is worse.
func wrongBy() time.Duration { return lasting(2*time.Second, 10*time.Second) }

func driftOf() int64 {
	if *long {
		return 10_000
	}
	return 200_000
}

func TestEventClockAhead(t *testing.T) {
	t.Parallel()
	d, clocks := newFaulty(t)
	m := d.cluster.Members[0]
	t.Log("it jumps ahead")
	clocks.becomes(m, clockFault{Offset: wrongBy()})
	d.outOfTime(m)
	found := time.Now()
	d.load.Answered(calmPerSecond)
	t.Logf("refused because of the clock: %.0f", d.metric(m, "jeton_reservation_refusals_total", "skewed"))
	clocks.becomes(m, clockFault{}) // it stands still until the others have caught up
	d.serves(m)

	t.Log("it is ahead from the start")
	m.Kill()
	clocks.becomes(m, clockFault{Offset: wrongBy()})
	m.Launch()
	d.outOfTime(m)
	d.load.Answered(calmPerSecond)
	clocks.becomes(m, clockFault{})
	d.serves(m)

	t.Log("it is fast")
	clocks.becomes(m, clockFault{Drift: driftOf()})
	d.outOfTime(m)
	d.load.Answered(calmPerSecond)
	clocks.becomes(m, clockFault{})
	d.serves(m)
	d.load.Answered(calmPerSecond)
	d.endWith(true, maxApart)
	for _, c := range d.seen.Calls {
		// What waited there as the clock jumped beyond its deadline was told that it is late.
		if c.Outcome == history.Failed && (c.Start > found.UnixNano() || !strings.Contains(c.Error, "deadline")) {
			t.Errorf("a check has failed: %s", c.Error)
		}
	}
}

func TestEventClockBehind(t *testing.T) {
	t.Parallel()
	d, clocks := newFaulty(t)
	m := d.cluster.Members[0]
	t.Log("it jumps back") // which, for a clock that never goes back, is to stand still
	clocks.becomes(m, clockFault{Offset: -wrongBy()})
	d.putForward(m, 1)
	d.pass(wrongBy())
	d.serves(m)
	t.Logf("refused because of the clock: %.0f", d.metric(m, "jeton_reservation_refusals_total", "skewed"))

	t.Log("it is behind from the start")
	m.Kill()
	m.Launch()
	d.putForward(m, 1)
	d.serves(m)

	t.Log("it is slow")
	m.Kill()
	clocks.becomes(m, clockFault{Drift: -driftOf()})
	m.Launch()
	d.putForward(m, 2)
	d.serves(m)
	d.load.Answered(calmPerSecond)
	d.endWith(false, maxApart)
}

// outOfTime returns when a node says of itself that its clock is wrong, and decides nothing: neither admits nor denies.
func (d *drill) outOfTime(m *process.Member) {
	d.Helper()
	began := time.Now()
	ask := func(key string) (decided bool) {
		res, err := http.Post("http://"+m.HTTP+"/v1/check", "application/json", strings.NewReader(`{"key":"`+key+`","limits":["api"]}`)) //nolint:noctx // on loopback
		if err != nil {
			return true // it is being started
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err != nil || res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "clock")
	}
	d.until(m.Name+" finds its clock wrong", func() bool { return !ask("key:0") })
	d.Logf("it is found out after %v", time.Since(began).Round(time.Millisecond))
	for _, key := range []string{"never asked", "key:0", "key:1", "key:2"} {
		if ask(key) {
			d.Errorf("%s decides about %q with a wrong clock", m.Name, key)
		}
	}
	if ahead := -d.metric(m, "jeton_cluster_clock_offset_seconds", ""); ahead < 0.25 {
		d.Errorf("%s says that its clock is %v s ahead of the others", m.Name, ahead)
	}
	if m.Serves(d.Context()) {
		d.Errorf("%s says that it is ready", m.Name)
	}
}

// putForward returns when a node has put its clock forward so many times in its present life.
func (d *drill) putForward(m *process.Member, times int) {
	d.Helper()
	began := time.Now()
	d.until(m.Name+" puts its clock forward", func() bool {
		return strings.Count(m.Log(), "advanced this node's clock") >= times
	})
	d.Logf("its clock is advanced after %v", time.Since(began).Round(time.Millisecond))
}
