package redis

import (
	"context"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// batchSizes keeps how many checks are put to it at once.
type batchSizes struct {
	limit.Limiter

	sizes []int
}

func (b *batchSizes) CheckBatch(_ context.Context, rs []limit.Request) []limit.Result {
	b.sizes = append(b.sizes, len(rs))
	results := make([]limit.Result, len(rs))
	for i, r := range rs {
		results[i].Decision = limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: r.Limits[0].Name, Allowed: true}}}
	}
	return results
}

// TestFewWaitTogether has a pipeline of as many checks as may be decided together while others wait too: it is decided in pieces, so that all
// connections together do not hold more than a door can.
func TestFewWaitTogether(t *testing.T) {
	asked := &batchSizes{}
	d, err := New(Config{Limiter: asked})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{shared: &d.shared}
	s.init()
	args := [][]byte{[]byte("CL.THROTTLE"), []byte("k"), []byte("9"), []byte("1"), []byte("1")}
	for _, others := range []int64{0, maxWaiting} {
		d.waits.Store(others)
		for range maxTogether {
			s.handle(t.Context(), args)
		}
		s.decideAll(t.Context())
		if now := d.waits.Load(); now != others {
			t.Errorf("%d checks are counted as waiting, and %d wait", now, others)
		}
	}
	if len(asked.sizes) != 1+(maxTogether+fewTogether-1)/fewTogether || asked.sizes[0] != maxTogether || asked.sizes[1] != fewTogether {
		t.Errorf("batches of %d", asked.sizes)
	}
}
