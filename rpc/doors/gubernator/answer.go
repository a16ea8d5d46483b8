package gubernator

import (
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// What the metadata of an answer has.
const (
	ownerKey = "owner"          // the address of the node that decided, if it was another one
	retryKey = "retry_after_ms" // after how long the same hits would pass, if they were denied and can
)

// answer is the answer to an item that was decided at now.
func answer(it *item, now time.Time) *gubernatorpb.RateLimitResp {
	d := it.result.Decision
	var o limit.Outcome
	if len(d.Limits) > 0 {
		o = d.Limits[0]
	}
	m := &gubernatorpb.RateLimitResp{Limit: it.limit, Remaining: o.Remaining, ResetTime: millisecond(now.Add(resetAfter(it, o, d.Allowed)))}
	if it.refs[0].Inline == nil {
		m.Limit = o.Limit // which an override may have changed
	}
	if d.Node != "" {
		m.Metadata = map[string]string{ownerKey: d.Node}
	}
	if d.Allowed {
		return m
	}
	m.Status = gubernatorpb.Status_OVER_LIMIT
	if o.RetryAfter > 0 {
		if m.Metadata == nil {
			m.Metadata = map[string]string{}
		}
		m.Metadata[retryKey] = strconv.FormatInt(millisecond(time.Unix(0, int64(o.RetryAfter))), 10)
	}
	return m
}

// resetAfter is after how long the whole limit is there, or, of a window that denies, the hits that it denies.
func resetAfter(it *item, o limit.Outcome, allowed bool) time.Duration {
	if !allowed && !it.whole && o.RetryAfter > 0 {
		return o.RetryAfter
	}
	return o.ResetAfter
}

// millisecond is t in milliseconds since the Unix epoch, rounded up: who comes then is not too early.
func millisecond(t time.Time) int64 {
	return t.Add(time.Millisecond - time.Nanosecond).UnixMilli()
}
