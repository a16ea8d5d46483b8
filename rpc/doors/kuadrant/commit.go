package kuadrant

import (
	"context"
	"errors"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// commit says what was used of a reservation:
//
//	each hold of the id        is settled: less comes back, more is charged, and a repetition changes nothing
//	a limit without a hold     is charged as Report does: the amount was 0, the files have changed, or the hold is not known any more
//	an id that is not a door's is charged as Report does, each time
//
// Released says whether a hold was settled.
func (d *Door) commit(ctx context.Context, matches []limitfile.Match, id string, used int64) (released bool, err error) {
	r, known := readReservation(id)
	if !known {
		d.metrics.commits.WithLabelValues("unknown").Inc()
		if used == 0 {
			return false, nil
		}
		return false, d.charge(ctx, usesOf(matches, used), "")
	}
	settled := map[bucket]bool{}
	var uses []use
	for i := range r.holds {
		h := &r.holds[i]
		got, err := d.cfg.Limiter.Settle(ctx, limit.Settlement{Hold: *h, Used: used})
		if err != nil && !errors.Is(err, limit.ErrUnknownHold) {
			return released, err
		}
		for _, l := range got.Limits {
			if l.State == limit.HoldUnknown {
				continue
			}
			released, settled[bucket{h.Key, l.Name}] = true, true
		}
	}
	d.metrics.commits.WithLabelValues(map[bool]string{true: "settled", false: "charged"}[released]).Inc()
	if used > 0 {
		for _, u := range usesOf(matches, used) {
			if !settled[bucket{u.key, u.limit.Name}] {
				uses = append(uses, u)
			}
		}
	}
	return released, d.charge(ctx, uses, r.nonce)
}

// A bucket is one key's bucket of one limit.
type bucket struct{ key, limit string }
