package bench

import (
	"os"
	"testing"
	"time"
)

func TestMemoryCurve(t *testing.T) {
	c := memoryCurve{10, 20.4, 30.6, 25, 5}
	if got := c.peak(); got != 30.6 {
		t.Errorf("the peak is %v", got)
	}
	if got := c.every(2 * time.Second); got != "10 31 5" {
		t.Errorf("every two seconds it is %q", got)
	}
}

// TestWatchMemory watches this process.
func TestWatchMemory(t *testing.T) {
	w := watchMemory(t.Context(), os.Getpid())
	for range 1000 {
		if _, err := residentMiB(os.Getpid()); err != nil {
			t.Skip(err) // not on this system
		}
	}
	if curve := w.end(); len(curve) == 0 || curve.peak() < 1 {
		t.Errorf("the memory of this process was %v", curve)
	}
}
