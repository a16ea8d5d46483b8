package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Rest is what an owner that is dormant keeps: the line that one bucket holds and has not spent, in few bytes. An owner that is
// made from it decides from that line as the one from which it was taken would. What is lost changes only what is shown, or how much line is
// reserved ahead:
//
//   - the last decisions, which people look at;
//   - where the segment began, which matters to a key that gets busy before the segment is spent;
//   - which replicas have confirmed the segment: those that have not been heard of count no further than it reaches;
//   - how much was spent lately, beyond two digits.
//
// A Rest is line: whoever makes an owner from it must not have it any more.
type Rest struct {
	rule *limit.Rule
	gen  int64
	tat  limit.Pos
	to   int64   // the segment ends here
	far  stretch // by how much it lay ahead when it was reserved, at most
	load faint
}

// A faint is a load with two digits, from the highest bit on:
//
//	1 bit    the line behind tat is of an older segment, up to where the last one began
//	15 bits  load.lately, as the upper half of a float32
//	16 bits  load.at, in units of 2²⁸ ns. After five hours, line that was spent long ago may pass for spent lately
type faint uint32

const (
	faintOlder = faint(1) << 31
	faintUnit  = 28
)

func faintOf(l *load, older bool) faint {
	f := faint(math.Float32bits(l.lately)&^0xffff) | faint(uint16(l.at>>faintUnit))
	f &^= faintOlder // no line is negative
	if older {
		f |= faintOlder
	}
	return f
}

func (f faint) load(now int64) load {
	unit := now >> faintUnit
	unit -= int64(uint16(unit) - uint16(f))
	return load{lately: math.Float32frombits(uint32(f&^faintOlder) &^ 0xffff), at: unit << faintUnit}
}

// Dormant is from when on the owner can be dormant, if nothing happens to it before: it holds line of one bucket that is not busy, and
// would remember nothing else. It is math.MaxInt64 for an owner that cannot tell when, and for one that can be forgotten.
func (o *Owner) Dormant(now int64) int64 {
	b := o.onlyBusy(now)
	if b == nil || !b.onlyHoldsLine() {
		return math.MaxInt64
	}
	at := max(b.load.at+o.cfg.Delta, b.lineHolds().busyUntil(), b.reporters().until(0))
	if x := b.extra; x != nil && x.rivalAt > 0 {
		at = max(at, x.rivalAt+rivalFor)
	}
	return at
}

// onlyBusy is the only bucket that is lost with the owner, or nil if that is not one, or if a check waits.
func (o *Owner) onlyBusy(now int64) (only *bucket) {
	if o.Waiting() > 0 {
		return nil
	}
	for i := range o.size() {
		switch b := o.at(i); {
		case b.busyUntil(now, o.cfg) <= now:
		case only != nil:
			return nil
		default:
			only = b
		}
	}
	return only
}

// onlyHoldsLine says whether nothing of the bucket is lost but what a Rest keeps, apart from what fades, and from holds.
func (b *bucket) onlyHoldsLine() bool {
	if b.tat.Ceil() >= b.held.to {
		return false
	}
	x := b.extra
	return x == nil || x.returns == nil && x.replication == nil && x.ledger == nil
}

// Rest is what is left of the owner, which must not be used any more if ok. It is not ok if the owner would lose something else. Before
// the time that [Owner.Dormant] tells, it is lost that a key is busy, or that a rival is there.
func (o *Owner) Rest(now int64) (r Rest, ok bool) {
	b := o.onlyBusy(now)
	if b == nil || !b.onlyHoldsLine() || max(b.lineHolds().busyUntil(), b.reporters().until(0)) > now {
		return Rest{}, false
	}
	return Rest{
		rule: b.rule, gen: b.gen, tat: b.tat, to: b.held.to, far: b.far, load: faintOf(&b.load, limit.At(b.held.from).After(b.tat)),
	}, true
}

// Restore gives the line of a Rest to an owner that knows nothing yet.
func (o *Owner) Restore(r Rest, now int64) {
	from := r.tat.NS
	if r.load&faintOlder != 0 {
		from++ // behind tat, as it was
	}
	o.bucket = bucket{rule: r.rule, gen: r.gen, tat: r.tat, held: segment{from, r.to}, far: r.far, load: r.load.load(now)}
}

// Passed says whether time has passed the line: it is worth nothing any more.
func (r *Rest) Passed(now int64) bool { return r.to <= r.rule.Begin(now) }

// Bytes is what the Rest keeps in memory besides itself.
func (r *Rest) Bytes() int64 { return r.rule.Bytes() }

// Share is which part of a full bucket is lost with the Rest.
func (r *Rest) Share(now int64) float64 {
	left := max(0, r.to-max(r.tat.NS, r.rule.Begin(now)))
	return float64(left) / float64(max(1, r.rule.Length(r.rule.Capacity).NS))
}
