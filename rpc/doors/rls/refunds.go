package rls

import (
	"context"
	"math/bits"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
)

// What is remembered to be given back.
const (
	maxRefunds  = 65_536          // receipts of all buckets: the oldest are forgotten
	maxReturned = limit.MaxReturn // receipts of one request
)

// refunds are receipts of hits that later requests may give back. Only this process knows them.
type refunds struct {
	mu       sync.Mutex
	byBucket map[bucket][]taking // the newest last
	queue    []queued            // a ring, of all
	next     int                 // the oldest in queue, once that is full
	serial   uint64
}

type taking struct {
	receipt limit.Receipt
	hits    int64
	serial  uint64
}

type queued struct {
	bucket bucket
	serial uint64
}

// remember keeps what hits took of a bucket.
func (r *refunds) remember(b bucket, receipt limit.Receipt, hits int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byBucket == nil {
		r.byBucket = map[bucket][]taking{}
	}
	r.serial++
	r.byBucket[b] = append(r.byBucket[b], taking{receipt, hits, r.serial})
	if len(r.queue) < maxRefunds {
		r.queue = append(r.queue, queued{b, r.serial})
		return
	}
	r.forgetLocked(r.queue[r.next])
	r.queue[r.next] = queued{b, r.serial}
	r.next = (r.next + 1) % maxRefunds
}

// forgetLocked forgets a receipt, unless it was taken back.
func (r *refunds) forgetLocked(q queued) {
	all := r.byBucket[q.bucket]
	switch {
	case len(all) == 0 || all[0].serial != q.serial:
	case len(all) == 1:
		delete(r.byBucket, q.bucket)
	default:
		r.byBucket[q.bucket] = all[1:]
	}
}

// take takes out receipts that give back hits: the newest ones, of the last of them perhaps only its end.
func (r *refunds) take(b bucket, hits int64) (receipts []limit.Receipt, each []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.byBucket[b]
	for hits > 0 && len(all) > 0 && len(receipts) < maxReturned {
		t := all[len(all)-1]
		back := min(t.hits, hits)
		if back < t.hits {
			if len(t.receipt.Reuses) > 0 {
				break // it is in pieces, and comes back whole or not at all
			}
			t.receipt.From = t.receipt.End - part(t.receipt.End-t.receipt.Start, back, t.hits)
		}
		receipts, each = append(receipts, t.receipt), append(each, back)
		hits -= back
		all = all[:len(all)-1]
	}
	if len(all) == 0 {
		delete(r.byBucket, b)
	} else {
		r.byBucket[b] = all
	}
	return receipts, each
}

// part is length·n/of, rounded down, for n < of.
func part(length, n, of int64) int64 {
	hi, lo := bits.Mul64(uint64(length), uint64(n))
	quotient, _ := bits.Div64(hi, lo, uint64(of))
	return int64(quotient)
}

// giveBack gives back the hits of an ask, as far as this process knows what took them.
func (d *Door) giveBack(ctx context.Context, a *ask) {
	receipts, each := d.refunds.take(a.bucket(), a.hits)
	var took []bool
	if len(receipts) > 0 {
		var err error
		if took, err = d.cfg.Limiter.Return(ctx, a.key, receipts); err != nil {
			d.cfg.Logger.Debug("hits were not given back", "key", a.key, "error", err)
		}
	}
	back := int64(0)
	for i, ok := range took {
		if ok && i < len(each) {
			back += each[i]
		}
	}
	d.metrics.returned.Add(float64(back))
	d.metrics.lost.Add(float64(a.hits - back))
}
