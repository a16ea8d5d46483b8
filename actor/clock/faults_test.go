//go:build faults

package clock_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
)

// A faulty clock is one that a file makes wrong.
type faultyClock struct {
	*testing.T
	*clock.Clock

	file  string
	start time.Time
}

// faulty runs a test with a clock that is right at first.
func faulty(t *testing.T, test func(*faultyClock)) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "clock")
	t.Setenv("JETON_FAULT_CLOCK", file)
	synctest.Test(t, func(t *testing.T) {
		test(&faultyClock{T: t, Clock: clock.New(), file: file, start: time.Now()})
	})
}

// becomes replaces the file.
func (c *faultyClock) becomes(text string) {
	c.Helper()
	if err := os.WriteFile(c.file+".new", []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(c.file+".new", c.file); err != nil {
		c.Fatal(err)
	}
}

// after lets the time pass, and says what the clock must say then, from the true time on.
func (c *faultyClock) after(passed, wrong time.Duration) {
	c.Helper()
	timer := time.NewTimer(passed)
	<-timer.C
	if got := time.Duration(c.Now() - time.Now().UnixNano()); got != wrong {
		c.Errorf("%v after the start the clock is %v ahead, want %v", time.Since(c.start), got, wrong)
	}
}

func TestFaultSteps(t *testing.T) {
	faulty(t, func(c *faultyClock) {
		c.after(0, 0)
		c.becomes(`{"offset_ns": 10000000000}`)
		c.after(9*time.Millisecond, 0) // it was looked at not long ago
		c.after(time.Millisecond, 10*time.Second)
		c.after(time.Second, 10*time.Second)
		c.becomes(`{"offset_ns": -10000000000}`)
		c.after(10*time.Millisecond, 10*time.Second-10*time.Millisecond) // it stands still
		c.after(19*time.Second, -9*time.Second-10*time.Millisecond)
		c.after(2*time.Second, -10*time.Second)
		if err := os.Remove(c.file); err != nil {
			c.Fatal(err)
		}
		c.after(10*time.Millisecond, 0)
	})
}

func TestFaultDrifts(t *testing.T) {
	faulty(t, func(c *faultyClock) {
		c.becomes(`{"offset_ns": 5000, "drift_ppm": 10000}`)
		c.after(10*time.Millisecond, 5*time.Microsecond)
		c.after(time.Second, 10*time.Millisecond+5*time.Microsecond)
		c.after(time.Second, 20*time.Millisecond+5*time.Microsecond)
		c.becomes(`{"drift_ppm": -10000}`)
		c.after(time.Second, 0) // it begins anew with the file
		c.after(time.Second, -10*time.Millisecond)
	})
}

// The wall clock is set back too, and monotonic time beside it is right.
func TestFaultOfTheWall(t *testing.T) {
	faulty(t, func(c *faultyClock) {
		var w clock.Wall
		w.Begin()
		for i, step := range []struct {
			text  string
			wrong time.Duration
		}{{`{"offset_ns": 10000000000}`, 10 * time.Second}, {`{"offset_ns": -200000000}`, -200 * time.Millisecond}, {`{}`, 0}} {
			c.becomes(step.text)
			<-time.After(10 * time.Millisecond)
			wall, passed := w.Read()
			if wrong := time.Duration(wall - time.Now().UnixNano()); wrong != step.wrong {
				t.Errorf("step %d: the wall clock is %v ahead, want %v", i, wrong, step.wrong)
			}
			if since := time.Since(c.start); time.Duration(passed) != since {
				t.Errorf("step %d: %v have passed, want %v", i, time.Duration(passed), since)
			}
		}
	})
}

// What Advance has added stays, whatever the file says.
func TestFaultIsAdvanced(t *testing.T) {
	faulty(t, func(c *faultyClock) {
		c.becomes(`{"offset_ns": -10000000000}`)
		c.after(10*time.Second, -10*time.Second)
		c.Advance(time.Now().UnixNano())
		c.after(time.Second, 0)
	})
}

func TestFaultMustBeUnderstood(t *testing.T) {
	for _, text := range []string{"", "{", `{"offset": 1}`} {
		faulty(t, func(c *faultyClock) {
			c.becomes(text)
			defer func() {
				if recover() == nil {
					c.Errorf("a file that says %q is taken for an answer", text)
				}
			}()
			c.after(time.Second, 0)
		})
	}
}
