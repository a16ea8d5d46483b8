package redis

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// A slow is the model of a bucket: the time up to which it is spent, as all of the scripts keep it, counted in nanoseconds.
type slow struct {
	tat      time.Time
	interval time.Duration
	burst    int64
}

// take is how many tokens are left after n of them, or before if there are fewer, when that many will be there, and when all are.
func (s *slow) take(now time.Time, n int64) (ok bool, remaining int64, retry, reset time.Duration) {
	if s.tat.Before(now) {
		s.tat = now
	}
	whole := time.Duration(s.burst) * s.interval
	after := s.tat.Add(time.Duration(n) * s.interval)
	if ok = after.Sub(now) <= whole; ok {
		s.tat = after
	} else {
		retry = after.Sub(now) - whole
	}
	reset = s.tat.Sub(now)
	return ok, int64((whole - reset) / s.interval), retry, reset
}

// cell is what redis-cell answers.
func (s *slow) cell(now time.Time, n int64) string {
	ok, remaining, retry, reset := s.take(now, n)
	limited, again := 1, int64(-1)
	up := func(d time.Duration) int64 {
		seconds := int64(d / time.Second)
		if d%time.Second >= time.Millisecond {
			seconds++
		}
		return seconds
	}
	switch {
	case ok:
		limited = 0
	case n <= s.burst:
		again = up(retry)
	}
	return fmt.Sprintf("*[%d %d %d %d %d]", limited, s.burst, remaining, again, up(reset))
}

// seconds is d as Lua writes it.
func seconds(d time.Duration) string { return strconv.Quote(luaNumber(d.Seconds())) }

// rate is what the scripts of redis_rate answer.
func (s *slow) rate(now time.Time, n int64, most bool) string {
	_, there, _, _ := s.take(now, 0)
	if most && there > 0 {
		n = min(n, there)
	}
	ok, remaining, retry, reset := s.take(now, n)
	if most && there == 0 {
		ok, retry = false, reset-time.Duration(s.burst-1)*s.interval
	}
	if !ok {
		return fmt.Sprintf("*[0 0 %s %s]", seconds(retry), seconds(reset))
	}
	return fmt.Sprintf(`*[%d %d "-1" %s]`, n, remaining, seconds(reset))
}

// traefik is whether Traefik admits, and after what time.
func (s *slow) traefik(now time.Time, most time.Duration) (ok bool, wait time.Duration) {
	if s.tat.Before(now) {
		s.tat = now
	}
	after := s.tat.Add(s.interval)
	wait = max(after.Sub(now)-time.Duration(s.burst)*s.interval, 0)
	if wait > most {
		return false, wait
	}
	s.tat = after
	return true, wait
}

// Random calls are answered as the models answer them.
func TestModels(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed ", seed)
	compared := 0
	for round := range 60 {
		synctest.Test(t, func(t *testing.T) { compared += compareModels(t, rand.New(rand.NewPCG(seed, uint64(round)))) })
	}
	if compared < 1000 {
		t.Errorf("%d steps were compared", compared)
	}
}

// compareModels makes up to a hundred random steps, and says how many. An owner that pauses decides some milliseconds later, at a time that a
// model does not know: there it ends.
func compareModels(t *testing.T, rng *rand.Rand) (steps int) {
	t.Helper()
	dial, stop := inBubble(t, Config{})
	defer stop()
	c := newTalk(t, dial())
	defer c.close()
	count := 1 + rng.Int64N(20)
	interval := time.Duration(1+rng.IntN(3000)) * time.Millisecond
	cell := &slow{interval: time.Duration(1+rng.Int64N(9)) * time.Second, burst: 1 + rng.Int64N(20)}
	rate := &slow{interval: interval, burst: 1 + rng.Int64N(20)}
	traefik := &slow{interval: interval, burst: 1 + rng.Int64N(20)}
	period := strconv.FormatFloat((time.Duration(count) * interval).Seconds(), 'f', -1, 64)
	perMicrosecond := strconv.FormatFloat(1/float64(interval.Microseconds()), 'f', -1, 64)
	most := time.Duration(rng.Int64N(int64(2 * interval))).Truncate(time.Microsecond)
	for ; steps < 100; steps++ {
		time.Sleep(time.Duration(rng.Int64N(int64(interval))).Truncate(time.Microsecond)) //nolint:forbidigo // the bubble's clock
		now, n, sha, atMost := time.Now(), rng.Int64N(23), shaRateAllow, rng.IntN(2) == 0
		if atMost {
			sha = shaRateAllowAtMost
		}
		asked := []string{
			fmt.Sprintf("CL.THROTTLE k %d %d %d %d", cell.burst-1, count, int64(cell.interval/time.Second)*count, n),
			fmt.Sprintf("EVALSHA %s 1 k %d %d %s %d", sha, rate.burst, count, period, n),
			fmt.Sprintf("EVALSHA %s 1 k %s %d 1 %d %d", shaTraefik, perMicrosecond, traefik.burst, now.UnixMicro(), most.Microseconds()),
		}
		var got []string
		for _, line := range asked {
			got = append(got, c.ask(line))
		}
		if time.Now().After(now) {
			return steps
		}
		if want := cell.cell(now, n); got[0] != want {
			t.Errorf("%s: %s, want %s", asked[0], got[0], want)
		}
		if want := rate.rate(now, n, atMost); got[1] != want {
			t.Errorf("%s: %s, want %s", asked[1], got[1], want)
		}
		ok, wait := traefik.traefik(now, most)
		var us, tokens float64
		if _, err := fmt.Sscanf(got[2], `*["true" "%g" "%g"]`, &us, &tokens); err != nil {
			t.Fatalf("%s: %s: %v", asked[2], got[2], err)
		}
		if said := time.Duration(us * float64(time.Microsecond)); ok != (said <= most) || (said-wait).Abs() > time.Microsecond {
			t.Errorf("%s: %s, want %v, %v of %v", asked[2], got[2], ok, wait, most)
		}
	}
	return steps
}
