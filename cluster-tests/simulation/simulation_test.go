package simulation

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustHappen is what every long run has to meet: each kind of failure, and each way of the protocol.
var mustHappen = []string{
	"crash", "crash of many", "flapping", "clean stop", "freeze", "suspension", "split", "one-way split", "isolation", "stranding", "hiding",
	"deafness", "outage of agreement", "clock jump", "clock drift", "lost disk", "copy of a disk", "restored disk", "slow disk",
	"change of members", "change of limits", "second driver",

	"messages lost", "messages twice", "messages arrived though their senders were told that they failed", "unsynced writes lost",
	"proposals failed", "proposals failed but agreed", "old copies found out", "clocks put forward", "clocks wrong from the start",

	"answers: accepted", "answers: taken", "answers: old generation", "answers: wrong epoch", "answers: sealed", "answers: skewed",
	"answers: too far", "answers lost",
	"reservations in the background", "next segments kept", "next segments entered", "reservations sent again",
	"pieces of line reused", "returns with effect", "returns without effect", "resets done",
	"floors set", "registers swept", "seals", "installs", "installs with a floor", "completed late", "copies", "moves committed",
	"moves given other nodes", "partitions dropped", "epochs entered by owners", "owners that left with their partition",

	"admitted", "denied", "no decision: too late", "no decision: too few replicas answer", "no decision: the clock differs",
	"refused because of the own clock", "reservations at a node that has proved nothing", "asked where the key is not kept",
	"repeated checks answered from memory", "repeated checks that waited for the first answer", "answers that came too late",
	"decisions compared with a bucket that never fails", "admissions by wrong clocks left to the segment held", "keys saturated",
}

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is no number: %v", name, err)
	}
	return n
}

// A campaign runs seeds, one after the other on each processor, until so many hours are simulated or one fails.
type campaign struct {
	mu     sync.Mutex
	next   uint64
	left   time.Duration
	done   time.Duration
	seeds  int
	counts Counts
	failed *Report
}

func (c *campaign) seed() (seed uint64, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seed = c.next
	c.next++
	return seed, c.left > 0 && c.failed == nil
}

func (c *campaign) note(r *Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= r.Simulated
	c.done += r.Simulated
	c.seeds++
	c.counts.Add(r.Counts)
	if r.Violation != nil && (c.failed == nil || r.Seed < c.failed.Seed) {
		c.failed = r
	}
}

func (c *campaign) run() {
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed, more := c.seed(); more; seed, more = c.seed() {
				r := Run(Config{Seed: seed})
				c.note(&r)
			}
		})
	}
	workers.Wait()
}

// The protocol's own steps keep every promise, hours on end, whatever goes wrong.
//
// JETON_SIMULATE_HOURS says how many hours are simulated, JETON_SIMULATE_FIRST from which seed on, and JETON_SIMULATE_SEED
// runs that one seed alone.
func TestSimulation(t *testing.T) {
	if seed := setting(t, "JETON_SIMULATE_SEED", 0); seed > 0 {
		explain(t, seed)
		return
	}
	hours := setting(t, "JETON_SIMULATE_HOURS", defaultHours)
	if testing.Short() {
		hours = min(hours, 20)
	}
	first := setting(t, "JETON_SIMULATE_FIRST", 1)
	c := &campaign{next: first, left: time.Duration(hours) * time.Hour, counts: Counts{}}
	start := time.Now()
	c.run()
	took := time.Since(start)
	t.Logf("%v simulated in %v, seeds %d to %d, %.0f hours a minute:\n%s", c.done.Round(time.Minute), took.Round(time.Millisecond), first,
		first+uint64(c.seeds)-1, c.done.Hours()/took.Minutes(), c.counts)
	if c.failed != nil {
		explain(t, c.failed.Seed)
		return
	}
	if hours < 200 {
		return // the rare things do not happen in every few hours
	}
	for _, what := range mustHappen {
		if c.counts[what] == 0 {
			t.Errorf("in %d hours there was nothing of this: %s", hours, what)
		}
	}
}

// explain fails with the story of a seed, if it fails.
func explain(t *testing.T, seed uint64) {
	t.Helper()
	var story strings.Builder
	if v := Explain(Config{Seed: seed}, &story); v != nil {
		t.Errorf("%s\nagain: JETON_SIMULATE_SEED=%d go test ./cluster-tests/simulation -run '^TestSimulation$'", story.String(), seed)
		return
	}
	t.Logf("seed %d breaks nothing", seed)
}
