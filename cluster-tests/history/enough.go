package history

import (
	"fmt"
	"slices"
)

// LeastShare is which part of what was due must be admitted. Two owners that serve the callers of one key alike, half each,
// and lose what they reserved and did not spend, still admit more.
const LeastShare = 0.4

// fewFailures is how many checks may fail for no reason, whatever else is decided.
const fewFailures = 20

// enough finds keys of which too little was admitted: denying everything is safe, and no limiter. It looks at stretches of
// time without faults. What was due in one is what a single bucket that was empty at its beginning would have admitted of the
// checks that were made. A check that failed may have been charged, so it counts as admitted here; but outside of faults no
// more checks may fail than are decided.
func enough(v *view, r *Result) {
	r.Things = "tokens due"
	faulty := perLimit(v.faulty)
	admitted, due, decided, failed := int64(0), int64(0), 0, 0
	for _, b := range v.of(TokenBucket) {
		if b.takesHolds() || b.leased() { // what they hold is admitted, and may come back; what is leased may lie where nobody asks
			r.Unknown++
			continue
		}
		last := b.calls[0].Start
		for _, c := range b.calls {
			last = max(last, c.Start)
		}
		asked, told := 0, false
		for _, free := range faulty(b).gaps(b.calls[0].Start, last) {
			k := b.sum(free, v.epsilon)
			if k.admitted+k.maybe < int64(LeastShare*float64(k.due)) && !told {
				told = true
				v.found(r, b, nil, "only %d of %d due tokens were admitted, from %s to %s",
					k.admitted, k.due, relative(free.Start, v.start), relative(free.End, v.start))
			}
			admitted, due, decided, failed = admitted+k.admitted, due+k.due, decided+k.decided, failed+k.failed
			asked += k.decided + k.failed
		}
		if asked == 0 {
			r.Unknown++
		}
	}
	if failed > max(decided, fewFailures) {
		v.found(r, nil, nil, "%d checks failed outside of faults, and only %d were decided", failed, decided)
	}
	r.Checked = int(due)
	r.Note = "no token was due"
	if due > 0 {
		r.Note = fmt.Sprintf("%d admitted: %.4f of what was due", admitted, float64(admitted)/float64(due))
	}
	if r.Unknown > 0 {
		r.Note += fmt.Sprintf("; %d buckets were asked during faults only", r.Unknown)
	}
}

// A sum is what came of one bucket's checks in a stretch without faults.
type sum struct {
	admitted, maybe, due int64 // tokens
	decided, failed      int   // checks
}

// sum looks at the checks that began in a stretch.
func (b *bucket) sum(free Span, epsilon int64) (k sum) {
	i, _ := slices.BinarySearchFunc(b.calls, free.Start, func(c *Call, t int64) int {
		if c.Start < t {
			return -1
		}
		return 1
	})
	var t *terms
	var tat wide // of the bucket that decides when it is due, counted from the beginning of the stretch
	for _, c := range b.calls[i:] {
		if c.Start > free.End {
			break
		}
		if c.Kind != KindCheck {
			continue
		}
		if t == nil { // no limit changes within a stretch
			versions := b.inForce(c)
			t = &versions[len(versions)-1]
			tat = t.line(t.Capacity).plus(product(2*epsilon+b.wait, t.n))
		}
		now, length := product(c.Start-free.Start, t.n), t.line(c.Cost)
		if end := larger(tat, now).plus(length); !now.plus(t.line(t.Capacity)).less(end) {
			tat = end
			k.due += c.Cost
		}
		k.count(c)
	}
	return k
}

func (k *sum) count(c *Call) {
	switch c.Outcome {
	case Admitted:
		k.admitted += c.Cost
		k.decided++
	case Denied:
		k.decided++
	default:
		k.maybe += c.Cost
		k.failed++
	}
}
