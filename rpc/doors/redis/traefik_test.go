package redis

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// The rates that Traefik computes from an average and a period become the refills that were meant, to within what floating point tells apart.
func TestRefillOfTraefik(t *testing.T) {
	for _, period := range []time.Duration{time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		for average := int64(1); average <= 5000; average++ {
			perSecond := float64(average*int64(time.Second)) / float64(period)
			text := strconv.FormatFloat(perSecond/1000000, 'f', -1, 64)
			rate, err := decimal("rate", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			tokens, per, err := refillOf(rate)
			if err != nil {
				t.Fatal(err)
			}
			if off := float64(tokens)*float64(period)/(float64(average)*float64(per)) - 1; math.Abs(off) > 4e-15 {
				t.Fatalf("%d in %v, sent as %s, is %d in %v", average, period, text, tokens, per)
			}
		}
	}
}

func FuzzRefillOfTraefik(f *testing.F) {
	for _, rate := range []float64{1e-4, 1e-15, 1000, 1e300, 5e-324, 1.0 / 3, 999.9999999} {
		f.Add(rate)
	}
	f.Fuzz(func(t *testing.T, rate float64) {
		checked, err := decimal("rate", []byte(strconv.FormatFloat(rate, 'g', -1, 64)))
		if err != nil {
			return
		}
		tokens, per, err := refillOf(checked)
		if err != nil {
			return
		}
		got := float64(tokens) / (float64(per) / float64(time.Microsecond))
		if tokens < 1 || per < 1 || int64(per) < tokens || got < rate*(1-2e-9) || got > rate*(1+2e-9) {
			t.Errorf("%g becomes %d in %d ns, which is %g", rate, tokens, per, got)
		}
	})
}

// A denial must not look like a time that Traefik would have the request wait, however short it is.
func TestTraefikHearsDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := newTalk(t, dial())
		ask := func(burst, delay int) float64 {
			got := c.ask(fmt.Sprintf("EVALSHA %s 1 k 0.001 %d 2 0 %d", shaTraefik, burst, delay)) // a token each millisecond
			var us, tokens float64
			if _, err := fmt.Sscanf(got, `*["true" "%g" "%g"]`, &us, &tokens); err != nil {
				t.Fatalf("%s: %v", got, err)
			}
			return us
		}
		for range 2 {
			if us := ask(2, 0); us != 0 {
				t.Errorf("a full bucket lets wait %v µs", us)
			}
		}
		if us := ask(2, 500); us != 1000 {
			t.Errorf("a denial says %v µs, want 1000", us)
		}
		time.Sleep(500*time.Microsecond - 1) //nolint:forbidigo // the bubble's clock
		if us := ask(2, 500); us < 501 {
			t.Errorf("a nanosecond too early, Traefik hears %v µs, and would admit", us)
		}
		time.Sleep(time.Nanosecond) //nolint:forbidigo // likewise
		if us := ask(2, 500); us != 500 {
			t.Errorf("admitted ahead of its token, a request waits %v µs, want 500", us)
		}
		c.close()
		stop()
	})
}

func TestTraefikArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := newTalk(t, dial())
		call := "EVALSHA " + shaTraefik + " 1 k "
		c.want(call+"1 1 1 1", "-ERR this script has the arguments rate, burst, ttl, time and maximum delay: there are 4")
		c.want(call+"0 1 1 1 1", `-ERR rate: "0" is not a number above 0`)
		c.want(call+"1e9 1 1 1 1", "-ERR rate: 1000000000 tokens per microsecond are out of range: at most 1000, at least one token in 31 years")
		c.want(call+"1 0 1 1 1", "-ERR burst: 0 is too small: at least 1")
		c.want(call+"1 1 1 1 -1", "-ERR maximum delay: -1 is too small: at least 0")
		c.want(call+"1 1 1 1 30000001", "-ERR maximum delay: 30000001 µs are too long: at most 30s")
		c.want(call+"1 1 1 1 30000000", `*["true" "0" "0"]`)
		c.close()
		stop()
	})
}
