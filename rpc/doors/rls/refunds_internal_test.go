package rls

import (
	"fmt"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func key(i int) bucket { return bucket{fmt.Sprint(i), "rls-day"} }

// The oldest receipts are forgotten, and those that were taken back leave nothing behind.
func TestRefundsAreBounded(t *testing.T) {
	var r refunds
	for i := range maxRefunds + 10 {
		r.remember(key(i), limit.Receipt{Serial: uint64(i)}, 1)
		if i%3 == 0 {
			r.take(key(i), 1)
		}
	}
	for range 2 * maxRefunds {
		r.remember(key(-1), limit.Receipt{Serial: 99}, 2)
	}
	if len(r.byBucket) != 1 || len(r.queue) != maxRefunds || len(r.byBucket[key(-1)]) != maxRefunds {
		t.Errorf("%d buckets, %d in the queue, %d of one", len(r.byBucket), len(r.queue), len(r.byBucket[key(-1)]))
	}
	receipts, each := r.take(key(-1), 1<<40)
	if len(receipts) != maxReturned || len(each) != maxReturned {
		t.Errorf("%d are taken at once", len(receipts))
	}
	if receipts, _ = r.take(key(5), 1); receipts != nil {
		t.Errorf("the oldest one is known: %v", receipts)
	}
}

// Of a receipt in pieces no part comes back.
func TestRefundOfPieces(t *testing.T) {
	var r refunds
	r.remember(key(1), limit.Receipt{Span: limit.Span{Start: 1000, End: 2000}, Reuses: []limit.Span{{Start: 1, End: 2}}}, 10)
	if receipts, _ := r.take(key(1), 9); receipts != nil {
		t.Errorf("got %v", receipts)
	}
	if receipts, each := r.take(key(1), 11); len(receipts) != 1 || each[0] != 10 {
		t.Errorf("got %v, %v", receipts, each)
	}
	r.remember(key(1), limit.Receipt{Span: limit.Span{Start: 1000, End: 2000}}, 3)
	if receipts, each := r.take(key(1), 2); len(receipts) != 1 || each[0] != 2 || receipts[0].From != 2000-666 {
		t.Errorf("got %v, %v", receipts, each)
	}
}
