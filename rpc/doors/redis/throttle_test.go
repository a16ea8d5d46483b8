package redis

import (
	"testing"
	"testing/synctest"
	"time"
)

// The vectors of redis-cell's own tests (it_rate_limits in src/cell/mod.rs), in the whole seconds of its answers.
func TestVectorsOfRedisCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := newTalk(t, dial())
		start := time.Now()
		for i, v := range []struct {
			at       time.Duration
			quantity string
			want     string
		}{
			{0, "6", "*[1 5 5 -1 0]"}, // more than the bucket ever has
			{0, "1", "*[0 5 4 -1 1]"},
			{0, "1", "*[0 5 3 -1 2]"},
			{0, "1", "*[0 5 2 -1 3]"},
			{0, "1", "*[0 5 1 -1 4]"},
			{0, "1", "*[0 5 0 -1 5]"},
			{0, "1", "*[1 5 0 1 5]"},
			{3000 * time.Millisecond, "1", "*[0 5 2 -1 3]"},
			{3100 * time.Millisecond, "1", "*[0 5 1 -1 4]"}, // 3.9 s
			{4000 * time.Millisecond, "1", "*[0 5 1 -1 4]"},
			{8000 * time.Millisecond, "1", "*[0 5 4 -1 1]"},
			{9500 * time.Millisecond, "1", "*[0 5 4 -1 1]"},
			{9500 * time.Millisecond, "0", "*[0 5 4 -1 1]"}, // a look
			{9500 * time.Millisecond, "2", "*[0 5 2 -1 3]"},
			{9500 * time.Millisecond, "5", "*[1 5 2 3 3]"},
		} {
			time.Sleep(v.at - time.Since(start)) //nolint:forbidigo // in a bubble
			if got := c.ask("CL.THROTTLE foo 4 1 1 " + v.quantity); got != v.want {
				t.Errorf("vector %d: %s, want %s", i, got, v.want)
			}
		}
		c.want("CL.THROTTLE user123 15 30 60", "*[0 16 15 -1 2]") // its README
		c.close()
		stop()
	})
}
