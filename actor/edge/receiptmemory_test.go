package edge_test

import (
	"fmt"
	"runtime"
	"testing"
)

// What an edge remembers of receipts is bounded for all buckets together: a gateway asks for one with nearly every check.
func TestReceiptsTakeBoundedMemory(t *testing.T) {
	for _, consistency := range []string{"local", "leased"} {
		t.Run(consistency, func(t *testing.T) {
			b := newBed(t, 1)
			defer b.close()
			b.delay = 0
			b.doc.Store(document(t, "limits: {l: {capacity: 100000000, refill: 1000/s, consistency: "+consistency+"}}"))
			const keys = 100
			heap := func() int64 { // it may shrink, by what tests before have left
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before := heap()
			for k := range keys {
				r := of(fmt.Sprint(k), 1, "l")
				r.Receipt = true
				for range 5000 {
					b.check(0, r)
				}
			}
			if each := (heap() - before) / keys; each > 64<<10 {
				t.Errorf("a bucket takes %d kB, and an edge keeps 65,536 of them: %d GB", each>>10, each<<16>>30)
			}
			runtime.KeepAlive(b)
		})
	}
}
