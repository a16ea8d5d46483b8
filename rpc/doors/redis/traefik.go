package redis

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

var traefikNames = names{"capacity": "burst", "refill": "rate", "wait": "maximum delay"}

// traefikAllow is the script of Traefik's rate limiter: tokens per microsecond, burst, the life of its register, Traefik's clock, and how long a
// request may wait, all in microseconds. A request that may wait is admitted ahead of its token, as a check with a wait is. The register and
// the clock are jeton's business.
func traefikAllow(s *session, key []byte, args [][]byte) (*check, error) {
	if len(args) != 5 {
		return nil, refuse("this script has the arguments rate, burst, ttl, time and maximum delay: there are %d", len(args))
	}
	rate, err := decimal("rate", args[0])
	if err != nil {
		return nil, err
	}
	tokens, per, err := refillOf(rate)
	if err != nil {
		return nil, err
	}
	burst, err := integerFrom(1, "burst", args[1])
	if err != nil {
		return nil, err
	}
	delay, err := integerFrom(0, "maximum delay", args[4])
	if err != nil {
		return nil, err
	}
	if delay > limit.LongestWait.Microseconds() {
		return nil, refuse("maximum delay: %d µs are too long: at most %s", delay, limit.LongestWait)
	}
	wait := time.Duration(delay) * time.Microsecond
	longest := time.Duration(milliseconds(wait)) * time.Millisecond
	return &check{
		request: limit.Request{Key: keyOf(key), Cost: 1, Wait: wait, Limits: s.defined.define(ofTraefik, burst, tokens, per, longest)},
		names:   traefikNames,
		answer:  func(r *reply, d *limit.Decision) { answerTraefik(r, d, rate, wait) },
	}, nil
}

// answerTraefik writes the time to wait in microseconds, which denies if it is longer than most, and the tokens, below 0 while requests wait.
func answerTraefik(r *reply, d *limit.Decision, rate float64, most time.Duration) {
	o := &d.Limits[0]
	delay, tokens := d.Wait, float64(o.Remaining)
	if !d.Allowed {
		// Without the wait the request would be admitted that much later. A time that Traefik takes for short enough would admit it.
		delay = max(o.RetryAfter+most, most+time.Microsecond)
	}
	us := float64(delay) / float64(time.Microsecond)
	if d.Wait > 0 {
		tokens = -us * rate
	}
	r.array(3)
	r.text("true")
	r.text(luaNumber(us))
	r.text(luaNumber(tokens))
}

// refillOf is the refill of a rate in tokens per microsecond, which Traefik has computed in floating point: the simplest fraction of whole
// tokens and nanoseconds that is as good as equal to it.
func refillOf(rate float64) (tokens int64, per time.Duration, err error) {
	const (
		equal   = 1e-15 // is the greatest relative difference
		longest = 1e18  // nanoseconds
	)
	target := float64(time.Microsecond) / rate // nanoseconds per token
	if !(target >= 1 && target <= longest) {
		return 0, 0, refuse("rate: %s tokens per microsecond are out of range: at most 1000, at least one token in 31 years", luaNumber(rate))
	}
	// The convergents of the continued fraction of target.
	p0, p, q0, q := 1.0, math.Floor(target), 0.0, 1.0
	for rest := target - p; math.Abs(target-p/q) > target*equal && rest > 0; {
		rest = 1 / rest
		whole := math.Floor(rest)
		nextP, nextQ := whole*p+p0, whole*q+q0
		if nextP > longest {
			break
		}
		p0, p, q0, q = p, nextP, q, nextQ
		rest -= whole
	}
	return int64(q), time.Duration(p), nil
}
