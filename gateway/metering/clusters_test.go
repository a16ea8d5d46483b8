package metering

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm"
)

// hangs answers nothing.
func hangs(ctx context.Context, _ limit.Settlement) (limit.Settled, error) {
	<-ctx.Done()
	return limit.Settled{}, limit.ErrUnavailable
}

// What is held at one cluster is extended while another one does not answer.
func TestExtendBesideAClusterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r, _ := newMeter(t, fake{settle: func(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
			if ctx.Err() != nil {
				return limit.Settled{}, ctx.Err()
			}
			if s.Open {
				n++
			}
			return settled(s), nil
		}})
		defer r.Close()
		dead := r.Cluster(fake{settle: hangs})
		x := r.Begin(r.Route("r"), "m", llm.Usage{Input: 10, Output: 90})
		x.AddHold(Holding{Hold: limit.Hold{Granted: 100}, At: dead, Rates: llm.EqualRates(), For: time.Minute})
		x.AddHold(Holding{Hold: limit.Hold{Granted: 100}, At: r.at, Rates: llm.EqualRates(), For: time.Minute})
		x.Start(t.Context(), denial.Record{Exchange: &denial.ModelRequest{}}, false)
		pass(5 * time.Minute)
		if n == 0 {
			t.Errorf("the hold at the healthy cluster, which lasts a minute, was extended %d times in five minutes", n)
		}
		x.Unanswered(200, false)
	})
}

// What is held at one cluster is settled while many settlements wait for another one.
func TestSettleBesideAClusterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at time.Time
		r, _ := newMeter(t, fake{settle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
			at = time.Now()
			return settled(s), nil
		}})
		defer r.Close()
		dead := r.Cluster(fake{settle: hangs})
		for range 2000 {
			x := r.Begin(r.Route("r"), "m", llm.Usage{Input: 10, Output: 90})
			x.AddHold(Holding{Hold: limit.Hold{Granted: 100}, At: dead, Rates: llm.EqualRates(), For: time.Minute})
			x.Start(t.Context(), denial.Record{Exchange: &denial.ModelRequest{}}, false)
			x.Unanswered(200, false)
		}
		synctest.Wait()
		x := r.Begin(r.Route("r"), "m", llm.Usage{Input: 10, Output: 90})
		x.AddHold(Holding{Hold: limit.Hold{Granted: 100}, At: r.at, Rates: llm.EqualRates(), For: time.Minute})
		x.Start(t.Context(), denial.Record{Exchange: &denial.ModelRequest{}}, false)
		start := time.Now()
		x.Unanswered(200, false)
		pass(10 * time.Minute)
		if took := at.Sub(start); at.IsZero() || took > time.Second {
			t.Errorf("the settlement at the healthy cluster came after %v", took)
		}
	})
}
