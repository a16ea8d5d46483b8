package edge_test

import (
	"context"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// registers are a replica in memory.
type registers struct {
	now func() int64

	mu       sync.Mutex
	byBucket map[[2]string]register.Register
}

func (r *registers) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	r.mu.Lock()
	answers := make([]register.Answer, len(rs))
	for i, m := range rs {
		if m.Now == 0 {
			m.Now = r.now()
		}
		at := [2]string{m.Key, m.Limit}
		after, a, write := register.Partition{Epoch: ring.FirstEpoch}.Reserve(r.byBucket[at], m, r.now(), register.DefaultBounds())
		if answers[i] = a; write {
			r.byBucket[at] = after
		}
	}
	r.mu.Unlock()
	done(answers, nil)
}

func (r *registers) Look(_ context.Context, _ ring.Partition, key, name string) (storage.Looked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg, ok := r.byBucket[[2]string{key, name}]
	return storage.Looked{Register: reg, Exists: ok, Partition: register.Partition{Epoch: ring.FirstEpoch}}, nil
}
