package simulation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := number(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// How much each run of the tests simulates: worlds of new seeds, and the same worlds every time.
const (
	newHours   = 20
	fixedHours = 80
)

// mostHours is how many a [time.Duration] can hold, and fewer.
const mostHours = 2_000_000

// number reads what is given for hours or seeds. None at all would be a run that meets nothing, and passes.
func number(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a whole number from 1 on", text)
	}
	return n, nil
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]uint64{"1": 1, "10000": 10_000, "0": 0, "-1": 0, "abc": 0, "1.5": 0, "": 0, "1h": 0} {
		if n, err := number(text); n != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d, %v; want %d", text, n, err, want)
		}
	}
}

// regressions are seeds that have failed, in worlds as they are drawn today.
var regressions = []uint64{
	6006, 700027, 700044, 700100, 710044, 9_000_182, 150_182_818_688, 425_637_471_555, 599_313_367_405,
	1_073_153_063_518, 938_123_977_859, 482_626_107_417, 1_022_028_375_018, 603_418_364_689, 197_746_727_926,
	352_301_313_138, 463_951_021_458, 883_686_247_178, 775_567_012_414, 928_355_399_429, 130_922_885_205, 685_234_466_934, 228_660_479_818,
	179_073_821_411,
}

// drawn is a first seed that was never used before, or hardly ever.
func drawn() uint64 { return 1_000_000 + rand.Uint64N(1<<40) }

// The protocol's own steps keep every promise for hours, whatever fails, in worlds of new seeds.
//
// JETON_SIMULATE_HOURS says how many hours are simulated, JETON_SIMULATE_FIRST from which seed on, instead of one that is
// drawn, and JETON_SIMULATE_SEED runs that one seed alone.
func TestSimulation(t *testing.T) {
	if seed := setting(t, "JETON_SIMULATE_SEED", 0); seed > 0 {
		explain(t, seed)
		return
	}
	simulate(t, setting(t, "JETON_SIMULATE_FIRST", drawn()), setting(t, "JETON_SIMULATE_HOURS", newHours))
}

// The same worlds again and again: what has failed once, and what has not. A change of the simulation makes other worlds of
// these seeds; those that fail are in regressions.
func TestFixedSeeds(t *testing.T) {
	for _, seed := range regressions {
		r := Run(Config{Seed: seed})
		if r.Violation != nil {
			explain(t, seed)
		}
	}
	simulate(t, 1, fixedHours)
}

// simulate runs seeds from the first on, and fails if one breaks a promise or if what happened was too tame.
func simulate(t *testing.T, first, hours uint64) {
	t.Helper()
	if hours > mostHours {
		t.Fatalf("%d hours are too many: give up to %d", hours, mostHours)
	}
	t.Logf("%d hours from seed %d on; again: make simulate HOURS=%d FIRST=%d", hours, first, hours, first)
	c := &campaign{next: first, left: time.Duration(hours) * time.Hour, counts: Counts{}, seedsWith: Counts{}, tell: t.Logf}
	start := time.Now()
	c.run()
	took := time.Since(start)
	t.Logf("%v simulated in %v, seeds %d to %d, %.0f hours a minute:\n%s", c.done.Round(time.Minute), took.Round(time.Millisecond), first,
		first+uint64(c.seeds)-1, c.done.Hours()/took.Minutes(), c)
	if c.failed != nil {
		explain(t, c.failed.Seed)
		return
	}
	for _, m := range mustHappen {
		if n, least := c.seedsWith[m.what], least(c.seeds, m.inThousand); n < least {
			t.Errorf("of %d seeds, %d met this, and fewer than %d do by chance once in a million times: %s", c.seeds, n, least, m.what)
		}
	}
}

// explain fails with the story of a seed, if it fails.
func explain(t *testing.T, seed uint64) {
	t.Helper()
	var story strings.Builder
	if v := Explain(Config{Seed: seed}, &story); v != nil {
		t.Errorf("%s\nagain: make simulate SEED=%d", story.String(), seed)
		return
	}
	t.Logf("seed %d breaks nothing", seed)
}
