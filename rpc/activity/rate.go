package activity

import "time"

// limitOf is the entry of a limit.
func limitOf(limits map[string]*LimitRates, name string) *LimitRates {
	if limits[name] == nil {
		limits[name] = &LimitRates{Name: name, Used: -1}
	}
	return limits[name]
}

// between is how many seconds lie between two times on a node's clock, if that clock was not set meanwhile: then it is what the
// looks lie apart.
func between(was, now time.Time, seconds float64) float64 {
	own := now.Sub(was).Seconds()
	if own < seconds/2 || own > 2*seconds {
		return seconds
	}
	return own
}

// perSecond is a rate; 0 where no time has passed.
func perSecond(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}

// quantiles are in milliseconds.
func quantiles(h Histogram) (p50, p99 float64) {
	return 1000 * h.Quantile(0.5), 1000 * h.Quantile(0.99)
}
