package storage

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// FuzzWrites reads any bytes as the payload of a record: what is read can be written again, and nothing of a partition is
// left from before it was dropped.
func FuzzWrites(f *testing.F) {
	key := registerKey(nil, 1, "user", "demo")
	f.Add(appendWrite(nil, []byte("key"), []byte("value")))
	f.Add(appendWrite(appendWrite(nil, key, nil), registerKey(nil, 2, "user", "demo"), bytes.Repeat([]byte("v"), 200)))
	f.Add(appendWrite(appendWrite(appendWrite(nil, key, []byte("v")), key[:3], nil), key, []byte("w")))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var r run
		deletePartition := func(p ring.Partition) error {
			for it := range r.items.all() {
				if it.partition() == p {
					t.Errorf("%q is left of partition %d, which was dropped", it.key, p)
				}
			}
			return nil
		}
		if err := r.replay(payload, deletePartition); err != nil {
			return
		}
		var again []byte
		for it := range r.items.all() {
			again = appendWrite(again, []byte(it.key), it.value)
		}
		var r2 run
		none := func(p ring.Partition) error { return fmt.Errorf("partition %d is dropped", p) }
		if err := r2.replay(again, none); err != nil || r2.items.len() != r.items.len() {
			t.Errorf("%q, written again as %q, is %d writes, %v", payload, again, r2.items.len(), err)
		}
	})
}
