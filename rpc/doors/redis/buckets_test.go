package redis

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Buckets are seen and filled whether their owner knows them or has just started, and knows not even by which numbers they are.
func TestBucketsOfAnOwnerThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := newRegisters()
		for _, restarts := range []bool{false, true} {
			for _, number := range []string{"3600", "1"} { // of hours, of seconds
				key := "k" + number
				s := newSystemOn(t, kept)
				dial, stop := inBubble(t, Config{Limiter: s, Token: isSecret})
				c := newTalk(t, dial())
				c.want("AUTH "+secret, "OK")
				c.want("DEL "+key+" nobody", "0")
				throttle := "CL.THROTTLE " + key + " 9 1 " + number + " 10"
				if got := c.ask(throttle); !strings.HasPrefix(got, "*[0 10 0 -1 ") {
					t.Error(got)
				}
				c.ask("EVALSHA " + shaRateAllow + " 1 " + key + " 10 1 " + number + " 10")
				if restarts {
					c.close()
					stop()
					s.Close()
					s = newSystemOn(t, kept)
					dial, stop = inBubble(t, Config{Limiter: s, Token: isSecret})
					c = newTalk(t, dial())
					c.want("AUTH "+secret, "OK")
				}
				c.want("EXISTS "+key, "1")
				c.want("TTL "+key, number+"0")
				c.want("DEL "+key, "1")
				c.want("DEL "+key, "0")
				c.want("TTL "+key, "-2")
				for _, want := range []string{"*[0 10 0 -1 ", "*[1 10 0 "} { // full again, once
					if got := c.ask(throttle); !strings.HasPrefix(got, want) {
						t.Errorf("restarted %v: %s, want %s…", restarts, got, want)
					}
				}
				if got := c.ask("EVALSHA " + shaRateAllow + " 1 " + key + " 10 1 " + number + " 10"); !strings.HasPrefix(got, "*[10 0 ") {
					t.Errorf("restarted %v: %s", restarts, got)
				}
				c.want("DEL "+key, "1")
				time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
				c.close()
				stop()
				s.Close()
			}
		}
	})
}
